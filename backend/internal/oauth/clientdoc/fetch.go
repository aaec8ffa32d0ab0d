// Package clientdoc fetches client ID metadata documents
// (draft-ietf-oauth-client-id-metadata-document) from hosts that untrusted clients
// choose. It enforces the limits of such a request: https only, public addresses only,
// no redirects, no proxy, 5 seconds, 10 KB, and a few requests at once. Package oauth
// checks the content of the documents.
package clientdoc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// The limits of a request.
const (
	// Timeout bounds a whole request: name lookup, connection, TLS and body.
	Timeout = 5 * time.Second
	// MaxBytes bounds the body.
	MaxBytes = 10 << 10
	// maxHeader bounds the header of the response, in bytes.
	maxHeader = 16 << 10
	// atOnce limits the concurrent requests.
	atOnce = 8
)

// How long a document may be reused. Cache-Control applies within these bounds.
const (
	MinAge     = 5 * time.Minute
	MaxAge     = 24 * time.Hour
	defaultAge = time.Hour
)

// Options are for tests, which serve documents on a loopback address. The zero value
// is what a service uses.
type Options struct {
	// Roots verify the servers' certificates; nil means the system's roots.
	Roots *x509.CertPool
	// Resolver looks up host names; nil means the system's.
	Resolver *net.Resolver
	// Allowed reports whether a connection to an address may be made; nil means Public.
	Allowed func(netip.Addr) bool
	// Timeout replaces the constant; 0 keeps it.
	Timeout time.Duration
}

// Fetcher fetches documents. It is safe for concurrent use.
type Fetcher struct {
	client  *http.Client
	timeout time.Duration
	slots   chan struct{}
}

// New returns a Fetcher.
func New(o Options) *Fetcher {
	allowed, timeout := o.Allowed, o.Timeout
	if allowed == nil {
		allowed = Public
	}
	if timeout == 0 {
		timeout = Timeout
	}
	dialer := &net.Dialer{Resolver: o.Resolver, ControlContext: control(allowed)}
	transport := &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
	}
	refuseRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Fetcher{client: &http.Client{Transport: transport, CheckRedirect: refuseRedirect}, timeout: timeout, slots: make(chan struct{}, atOnce)}
}

// errNotPublic is the cause of a connection that was refused before it was opened.
var errNotPublic = errors.New("the address is not public")

// control returns a check of the address of each connection, right before it is opened.
// The name has been resolved by then, so changing the address of a name between the
// check and the connection (DNS rebinding) has no effect.
func control(allowed func(netip.Addr) bool) func(context.Context, string, string, syscall.RawConn) error {
	return func(_ context.Context, network, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !strings.HasPrefix(network, "tcp") || !allowed(to.Addr().Unmap()) {
			return errNotPublic
		}
		return nil
	}
}

// Fetch returns the body of the document at an https address, and how long it may be
// reused. It fails with fault.Invalid if there is no response or the response is not a
// document, and with fault.Unavailable if too many requests are running. The messages
// contain no addresses: they must not reveal what the service can reach.
func (f *Fetcher) Fetch(ctx context.Context, address string) (body []byte, age time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return nil, 0, fault.New(fault.Unavailable, "too many applications are being looked up")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, 0, noAnswer(err)
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "Kith (OAuth client ID metadata document)")
	response, err := f.client.Do(r)
	if err != nil {
		return nil, 0, noAnswer(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := checkHeader(response); err != nil {
		return nil, 0, err
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, MaxBytes+1))
	if err == nil {
		err = ctx.Err() // the host may end its answer because the timeout closes the connection
	}
	if err != nil {
		return nil, 0, noAnswer(err)
	}
	if len(body) > MaxBytes {
		return nil, 0, tooLarge()
	}
	return body, ageOf(response.Header), nil
}

// noAnswer keeps the cause without the URL, which logs do not need.
func noAnswer(cause error) error {
	if failed, ok := errors.AsType[*url.Error](cause); ok {
		cause = failed.Err
	}
	return fault.Wrap(cause, fault.Invalid, "it could not be reached within %d seconds", Timeout/time.Second)
}

func tooLarge() error {
	return fault.New(fault.Invalid, "the document is larger than %d KB", MaxBytes>>10)
}

// checkHeader rejects a response before its body is read.
func checkHeader(r *http.Response) error {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	isJSON := err == nil && (media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"))
	switch {
	case r.StatusCode >= 300 && r.StatusCode < 400:
		return fault.New(fault.Invalid, "the document has moved, and a redirect is not followed")
	case r.StatusCode != http.StatusOK:
		return fault.New(fault.Invalid, "the answer has status %d instead of 200", r.StatusCode)
	case !isJSON:
		return fault.New(fault.Invalid, "the answer is not JSON")
	case r.ContentLength > MaxBytes:
		return tooLarge()
	}
	return nil
}

// ageOf returns how long a response may be reused (RFC 9111 §5.2.2), within the bounds.
func ageOf(h http.Header) time.Duration {
	age := defaultAge
	for directive := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		switch name {
		case "no-store", "no-cache":
			return MinAge
		case "max-age":
			seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
			if err != nil {
				return MinAge
			}
			age = time.Duration(seconds) * time.Second
		}
	}
	return min(max(age, MinAge), MaxAge)
}
