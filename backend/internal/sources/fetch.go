package sources

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/calendar"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/outbound"
)

// The limits of a request.
const (
	// timeout bounds a whole request: name lookup, connection, TLS, redirects and body.
	timeout = 30 * time.Second
	// maxRedirects is how many redirects are followed. Each may only lead to an address that could be chosen.
	maxRedirects = 5
	// maxAddress is the length of an address.
	maxAddress = 2000
	// atOnce limits the concurrent requests of a process.
	atOnce = 4
)

// Fetcher reads sources at addresses that members choose. It is safe for concurrent use.
type Fetcher struct {
	client *http.Client
	// direct follows no redirects.
	direct *http.Client
	slots  chan struct{}
	// private allows private addresses, and http.
	private bool
	timeout time.Duration
}

// NewFetcher returns a fetcher. Unless private is set, it makes https requests to public addresses only.
func NewFetcher(o outbound.Options, private bool) *Fetcher {
	if private && o.Allowed == nil {
		o.Allowed = func(netip.Addr) bool { return true }
	}
	f := &Fetcher{slots: make(chan struct{}, atOnce), private: private, timeout: timeout}
	f.client = &http.Client{Transport: outbound.NewTransport(o), CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return errors.New("too many redirects")
		}
		return f.Check(r.URL)
	}}
	f.direct = &http.Client{Transport: f.client.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return f
}

// Parse checks the address of a calendar, and returns it as it is requested: webcal is https.
func (f *Fetcher) Parse(address string) (*url.URL, error) {
	address = strings.TrimSpace(address)
	u, err := url.Parse(address)
	if err != nil || len(address) > maxAddress {
		return nil, fault.New(fault.Invalid, "this is no address: it begins with https://, and ends in .ics most of the time")
	}
	if strings.EqualFold(u.Scheme, "webcal") || strings.EqualFold(u.Scheme, "webcals") {
		u.Scheme = "https"
	}
	return u, f.Check(u)
}

// Check fails with fault.Invalid unless an address may be requested.
func (f *Fetcher) Check(u *url.URL) error {
	switch {
	case u.Hostname() == "":
		return fault.New(fault.Invalid, "this is no address: it begins with https://, and ends in .ics most of the time")
	case u.Scheme == "https", u.Scheme == "http" && f.private:
		return nil
	case u.Scheme == "http":
		return fault.New(fault.Invalid, "the address must begin with https://")
	}
	return fault.New(fault.Invalid, "the address must begin with https:// or webcal://")
}

// Fetch returns the body at an address. It fails with fault.Invalid if there is none. The messages contain no address.
func (f *Fetcher) Fetch(ctx context.Context, address string) ([]byte, error) {
	u, err := f.Parse(address)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the address can't be requested")
	}
	r.Header.Set("Accept", "text/calendar, */*;q=0.1")
	r.Header.Set("User-Agent", "Kith (calendar)")
	a, err := f.do(f.client, r, calendar.MaxBytes)
	if err != nil {
		return nil, err
	}
	switch status := a.Status; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return nil, fault.New(fault.Invalid, "the calendar asks for a sign-in; use its secret address (iCal)")
	case status == http.StatusNotFound || status == http.StatusGone:
		return nil, fault.New(fault.Invalid, "there is no calendar at this address any more")
	case status != http.StatusOK:
		return nil, fault.New(fault.Invalid, "the calendar's server answers with status %d", status)
	}
	return a.Body, nil
}

// Answer is the answer to a request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do makes a request to an address that was checked by Parse or Check, and follows no redirect. Of a body that is longer than most, one byte
// more is read. It fails with fault.Invalid if there is no answer. The messages contain no address.
func (f *Fetcher) Do(r *http.Request, most int64) (*Answer, error) { return f.do(f.direct, r, most) }

func (f *Fetcher) do(client *http.Client, r *http.Request, most int64) (*Answer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), f.timeout)
	defer cancel()
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return nil, fault.New(fault.Unavailable, "too many sources are being read")
	}
	response, err := client.Do(r.WithContext(ctx))
	if err != nil {
		return nil, f.unreachable(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err == nil {
		err = ctx.Err() // the server may end its answer because the timeout closes the connection
	}
	if err != nil {
		return nil, f.unreachable(err)
	}
	return &Answer{response.StatusCode, response.Header, body}, nil
}

// unreachable keeps the cause without the URL, which has a secret.
func (f *Fetcher) unreachable(cause error) error {
	if failed, ok := errors.AsType[*url.Error](cause); ok {
		cause = failed.Err
	}
	switch coded := (*fault.Error)(nil); {
	case errors.As(cause, &coded):
		return coded // of a redirect
	case errors.Is(cause, outbound.ErrNotAllowed):
		return fault.Wrap(cause, fault.Invalid, "the address leads to a private network, which this Kith does not read from; its owner can allow that with KITH_PRIVATE_SOURCES")
	case errors.Is(cause, context.DeadlineExceeded):
		return fault.Wrap(cause, fault.Invalid, "the server did not answer within %d seconds", f.timeout/time.Second)
	}
	return fault.Wrap(cause, fault.Invalid, "the server can't be reached")
}
