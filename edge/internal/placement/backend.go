package placement

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// site is one of the configured addresses.
type site struct {
	base      *url.URL // scheme and host only
	transport http.RoundTripper
}

func newSite(text string, o Options) (site, error) {
	base, err := url.Parse(text)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Hostname() == "" || base.User != nil ||
		strings.Trim(base.Path, "/") != "" || base.RawQuery != "" || base.Fragment != "" {
		return site{}, errors.New("parse backend address: must be http(s)://host[:port]")
	}
	config := o.TLS
	if base.Scheme == "https" { // a backend is called by its IP address, but its certificate has the name
		if config == nil {
			config = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		config = config.Clone()
		config.ServerName = base.Hostname()
	}
	return site{base: &url.URL{Scheme: base.Scheme, Host: base.Host}, transport: o.NewTransport(config)}, nil
}

// backend is one process.
type backend struct {
	site site
	host string // host:port, which identifies it

	down             atomic.Bool
	since            atomic.Pointer[time.Time] // when it came back or was added; nil if it was there from the start
	calls, fallbacks atomic.Int64
}

// aim returns the request for this backend, with a new body if it is repeated.
func (b *backend) aim(r *http.Request, again bool) (*http.Request, error) {
	out := r.WithContext(r.Context()) // a shallow copy: a RoundTripper must not change the request
	address := *r.URL
	address.Scheme, address.Host = b.site.base.Scheme, b.host
	out.URL = &address
	if again && r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, fmt.Errorf("repeat request: %w", err)
		}
		out.Body = body
	}
	return out, nil
}

// leaveOut marks the backend as down: other backends serve its members until it is healthy.
func (b *backend) leaveOut(logger *slog.Logger, cause error) {
	if !b.down.Swap(true) {
		logger.Warn("backend left out", "backend", b.host, "error", cause)
	}
}

// takeBack marks the backend as up: its members return to it over returnOver.
func (b *backend) takeBack(logger *slog.Logger, now time.Time) {
	if b.down.Load() {
		b.since.Store(&now)
		b.down.Store(false)
		logger.Info("backend is back", "backend", b.host)
	}
}
