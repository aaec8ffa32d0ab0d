package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/kith-crm/kith/observability/metrics"

	"github.com/kith-crm/kith/edge/internal/requestlog"
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

// Observe returns a transport that has the exchange of each request know how long
// it waited, and tells of its outcome, as metrics.Backend counts them; observe may
// be nil.
func Observe(transport http.RoundTripper, observe func(outcome string)) http.RoundTripper {
	return observed{transport, observe}
}

type observed struct {
	transport http.RoundTripper
	observe   func(outcome string)
}

// RoundTrip implements http.RoundTripper.
func (o observed) RoundTrip(r *http.Request) (*http.Response, error) {
	start := time.Now()
	response, err := o.transport.RoundTrip(r)
	requestlog.FromContext(r.Context()).Await(time.Since(start))
	switch {
	case o.observe == nil:
	case err == nil:
		o.observe(metrics.BackendAnswered)
	case errors.Is(r.Context().Err(), context.Canceled):
		o.observe(metrics.BackendAbandoned)
	default:
		o.observe(metrics.BackendUnreachable)
	}
	return response, err
}

// doer is a transport as Connect wants it. An http.Client would add redirects,
// cookies and a Referer, none of which belong in a call.
type doer struct {
	transport http.RoundTripper
}

// Do makes the call.
func (d doer) Do(r *http.Request) (*http.Response, error) { return d.transport.RoundTrip(r) }
