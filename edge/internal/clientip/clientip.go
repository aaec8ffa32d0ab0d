// Package clientip finds the client address of a request, for the log and for rate limits.
//
// The peer of the connection is the client, unless the operator has configured it as a
// trusted proxy. Then the proxies' header is read from its right end, where each proxy
// appended the address of its own peer:
//
//	X-Forwarded-For: forged, forged, client, proxy 1        peer: proxy 2
//	                                 ▲       ◀──trusted────────trusted
//
// The first address from the right that is not a trusted proxy is the client. Everything to
// the left of it can be forged and is never read.
package clientip

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

const (
	// DefaultHeader is the header that most proxies set.
	DefaultHeader = "X-Forwarded-For"
	// MaxHops is how many elements of the header are read at most.
	MaxHops = 32
	// unknown is the shared bucket of all callers without an IP address.
	unknown = "unknown"
)

// Config lists the trusted proxies. With the zero value no proxy is trusted: the peer is the
// client.
type Config struct {
	// TrustedProxies are CIDRs ("10.0.0.0/8", "2001:db8::/32") or single addresses of proxies
	// that append to Header. Clients must not have any of these addresses themselves, so
	// "0.0.0.0/0" is refused.
	TrustedProxies []string
	// Header is the header that the trusted proxies set: a list like X-Forwarded-For, or one
	// address like X-Real-IP. All other headers are ignored. Defaults to DefaultHeader.
	Header string
}

// Client is the sender of a request.
type Client struct {
	// Addr is for logs. It has no zone, and an IPv4 address is never in its IPv6-mapped form. It
	// is invalid if the peer has no IP address, as on a Unix socket.
	Addr netip.Addr
	// Bucket is the key of limits by address: the IPv4 address, or the /64 of an IPv6 address,
	// because a client can use any address of its /64.
	Bucket string
}

// Resolver finds the client of a request. It is safe for concurrent use.
type Resolver struct {
	trusted []netip.Prefix
	header  string // canonical
}

// New returns a resolver. The error names the invalid proxy or header.
func New(c Config) (*Resolver, error) {
	r := &Resolver{header: http.CanonicalHeaderKey(cmp.Or(c.Header, DefaultHeader))}
	if err := checkHeader(r.header); err != nil {
		return nil, err
	}
	for _, s := range c.TrustedProxies {
		prefix, err := parsePrefix(s)
		if err != nil {
			return nil, err
		}
		r.trusted = append(r.trusted, prefix)
	}
	return r, nil
}

// Resolve returns the client of a request that a server received. If the header is missing,
// or the element next to a trusted hop is not an address, the client is that hop.
func (r *Resolver) Resolve(request *http.Request) Client {
	addr, ok := parseAddr(request.RemoteAddr)
	if !ok {
		return Client{Bucket: unknown}
	}
	if r.trusts(addr) {
		addr = r.walk(addr, request.Header[r.header])
	}
	return Client{Addr: addr, Bucket: Bucket(addr)}
}

// walk follows the hops while they are trusted.
func (r *Resolver) walk(addr netip.Addr, lines []string) netip.Addr {
	rest := strings.Join(lines, ",") // lines of a list header are parts of one list (RFC 9110, section 5.3)
	for range MaxHops {
		if rest == "" {
			break
		}
		comma := strings.LastIndexByte(rest, ',')
		element := strings.Trim(rest[comma+1:], " \t")
		rest = rest[:max(0, comma)]
		if element == "" {
			continue // an empty list element means nothing (RFC 9110, section 5.6.1.2)
		}
		next, ok := parseAddr(element)
		if !ok {
			break
		}
		addr = next
		if !r.trusts(addr) {
			break
		}
	}
	return addr
}

// Trusts reports whether the address is a trusted proxy's.
func (r *Resolver) Trusts(addr netip.Addr) bool { return r.trusts(addr.Unmap().WithZone("")) }

func (r *Resolver) trusts(addr netip.Addr) bool {
	for _, prefix := range r.trusted {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// Bucket returns the key of addr in limits by address; see Client.
func Bucket(addr netip.Addr) string {
	addr = addr.Unmap().WithZone("")
	switch {
	case !addr.IsValid():
		return unknown
	case addr.Is4():
		return addr.String()
	}
	prefix, err := addr.Prefix(64)
	if err != nil {
		return unknown // cannot happen: an IPv6 address has 128 bits
	}
	return prefix.String()
}

// checkHeader returns an error for a name that is not a header name, and for Forwarded, which has
// another format.
func checkHeader(name string) error {
	if strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("client address: %q is not the name of a header", name)
	}
	if name == "Forwarded" {
		return fmt.Errorf("client address: the header Forwarded is not supported; have the proxy set %s", DefaultHeader)
	}
	return nil
}

// parsePrefix reads a CIDR or a single address.
func parsePrefix(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		addr, ok := parseAddr(s)
		if !ok {
			return netip.Prefix{}, fmt.Errorf("trusted proxy %q is not a CIDR, such as 10.0.0.0/8, nor an address", s)
		}
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	addr, bits := prefix.Addr(), prefix.Bits()
	if addr.Is4In6() && bits >= 96 {
		addr, bits = addr.Unmap(), bits-96
	}
	if bits == 0 {
		return netip.Prefix{}, fmt.Errorf("trusted proxy %q contains every address, so any client could forge its own", s)
	}
	return netip.PrefixFrom(addr, bits).Masked(), nil
}

// parseAddr reads an address as peers and proxies write it: alone, in brackets,
// or with a port.
func parseAddr(s string) (netip.Addr, bool) {
	var addr netip.Addr
	var err error
	switch inner, bracket := strings.CutPrefix(s, "["); {
	case bracket && strings.HasSuffix(inner, "]"):
		addr, err = netip.ParseAddr(strings.TrimSuffix(inner, "]"))
	case bracket || strings.Count(s, ":") == 1:
		var withPort netip.AddrPort
		withPort, err = netip.ParseAddrPort(s)
		addr = withPort.Addr()
	default:
		addr, err = netip.ParseAddr(s)
	}
	return addr.Unmap().WithZone(""), err == nil
}
