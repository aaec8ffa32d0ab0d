package upstream

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

// NewTransport returns a transport for a backend in another process: HTTP/1.1
// with enough idle connections that none is made under load. config is for
// https; nil is Go's default.
func NewTransport(config *tls.Config) *http.Transport {
	dialer := &net.Dialer{Timeout: 2 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:         dialer.DialContext,
		TLSClientConfig:     config,
		TLSHandshakeTimeout: 5 * time.Second,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // Connect asks for it by itself
	}
}

// doer is a transport as Connect wants it. An http.Client would add redirects,
// cookies and a Referer, none of which belong in a call.
type doer struct {
	transport http.RoundTripper
}

// Do makes the call.
func (d doer) Do(r *http.Request) (*http.Response, error) { return d.transport.RoundTrip(r) }
