// Package outbound has HTTP transports for addresses that members or unknown clients choose. They connect to public addresses only: each
// IP address is checked after its name was resolved, right before the connection is opened, so that no request reaches this machine or its
// private network (SSRF).
package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
)

// Options are for tests, which answer on a loopback address, and for operators who allow private addresses. The zero value is what a
// service uses.
type Options struct {
	// Roots verify the servers' certificates; nil means the system's roots.
	Roots *x509.CertPool
	// Resolver looks up host names; nil means the system's.
	Resolver *net.Resolver
	// Allowed reports whether a connection to an address may be made; nil means Public.
	Allowed func(netip.Addr) bool
}

// ErrNotAllowed is the error of a connection to an address that Options do not allow.
var ErrNotAllowed = errors.New("the address is not public")

// maxHeader bounds the header of a response, in bytes.
const maxHeader = 16 << 10

// NewTransport returns a transport without a proxy, compression and connections that are kept.
func NewTransport(o Options) *http.Transport {
	allowed := o.Allowed
	if allowed == nil {
		allowed = Public
	}
	dialer := &net.Dialer{Resolver: o.Resolver, ControlContext: control(allowed)}
	return &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
	}
}

// control returns a check of the address of each connection, right before it is opened.
// The name has been resolved by then, so changing the address of a name between the
// check and the connection (DNS rebinding) has no effect.
func control(allowed func(netip.Addr) bool) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, network, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !strings.HasPrefix(network, "tcp") || !allowed(to.Addr().Unmap()) {
			return ErrNotAllowed
		}
		return nil
	}
}
