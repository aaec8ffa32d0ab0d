package oauth

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Destination is where a redirect URI leads, in a form that people can check.
type Destination struct {
	// Scheme is shown before the host; empty for https.
	Scheme string
	// Subdomain is the host before the registrable domain, with its last dot.
	Subdomain string
	// Domain is the registrable domain, in lower-case ASCII: the part of the host that
	// identifies its owner. It is the whole host if there is no such part.
	Domain string
	// Port is the port if the URI names one.
	Port string
	// Loopback is set if the response goes to a program on the member's own computer.
	Loopback bool
}

// DestinationOf returns the destination of uri. It fails with fault.Invalid for a URI
// that cannot be registered, so that a host that imitates another one is never shown;
// private-use schemes are accepted.
func DestinationOf(uri string) (Destination, error) {
	if err := CheckRedirectURI(uri, true); err != nil {
		return Destination{}, err
	}
	u, err := url.Parse(uri)
	if err != nil {
		return Destination{}, err
	}
	host := strings.TrimSuffix(strings.ToLower(u.Host), ":"+u.Port())
	d := Destination{Scheme: u.Scheme, Domain: host, Port: u.Port()}
	if web := u.Scheme == "https" || u.Scheme == "http"; !web {
		return d, nil
	}
	d.Loopback = slices.Contains(loopbackHosts(), host)
	if u.Scheme == "https" {
		d.Scheme = ""
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return d, nil
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil { // else: localhost, or a public suffix itself
		d.Subdomain, d.Domain = strings.TrimSuffix(host, domain), domain
	}
	return d, nil
}

// isPlainHost reports whether the host is an IP address or an ASCII domain name in
// its canonical form: no percent-encoding, no trailing dot, internationalised names
// as xn-- (RFC 5891), and a port without leading zeros.
func isPlainHost(u *url.URL) bool {
	host, port := u.Hostname(), u.Port()
	isIPv6 := strings.Contains(host, ":")
	spelt := host
	if isIPv6 {
		spelt = "[" + host + "]"
	}
	if port != "" {
		spelt += ":" + port
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return false
		}
	}
	if spelt != u.Host {
		return false
	}
	host = strings.ToLower(host)
	if isIPv6 || endsInNumber(host) {
		ip, err := netip.ParseAddr(host)
		return err == nil && ip.Zone() == "" && ip.String() == host
	}
	ascii, err := idna.Registration.ToASCII(host)
	return err == nil && ascii == host && !strings.HasSuffix(host, ".")
}

// endsInNumber reports whether browsers parse a host as an IPv4 address, in any
// notation (URL standard, "ends in a number checker").
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return strings.HasPrefix(last, "0x") || last != "" && strings.Trim(last, "0123456789") == ""
}
