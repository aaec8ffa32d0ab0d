// Package clientdoc fetches client ID metadata documents
// (draft-ietf-oauth-client-id-metadata-document) from hosts that untrusted clients
// choose. It enforces the limits of such a request: https only, public addresses only,
// no redirects, no proxy, 5 seconds, 10 KB, and a few requests at once. Package oauth
// checks the content of the documents.
package clientdoc

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/outbound"
)

// The limits of a request.
const (
	// Timeout bounds a whole request: name lookup, connection, TLS and body.
	Timeout = 5 * time.Second
	// MaxBytes bounds the body.
	MaxBytes = 10 << 10
	// atOnce limits the concurrent requests.
	atOnce = 8
)

// How long a document may be reused. Cache-Control applies within these bounds.
const (
	MinAge     = 5 * time.Minute
	MaxAge     = 24 * time.Hour
	defaultAge = time.Hour
)

// Options are for tests. The zero value is what a service uses.
type Options struct {
	outbound.Options

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
	timeout := o.Timeout
	if timeout == 0 {
		timeout = Timeout
	}
	refuseRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Fetcher{client: &http.Client{Transport: outbound.NewTransport(o.Options), CheckRedirect: refuseRedirect}, timeout: timeout, slots: make(chan struct{}, atOnce)}
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
