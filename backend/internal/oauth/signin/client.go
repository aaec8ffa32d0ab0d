package signin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// maxAnswer limits a response of the provider, in bytes. A key set is the longest.
const maxAnswer = 1 << 20

// newClient returns the client for requests to the provider. It follows no redirects:
// discovery fixes where a request goes, and a redirect could send a code or a secret
// elsewhere.
func newClient(base *http.Client) *http.Client {
	if base == nil {
		base = http.DefaultClient
	}
	client := *base
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = &transport{client.Transport}
	client.Timeout = timeout
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

type outageKey struct{}

// watch returns a context in which the transport records outages. The errors of the
// libraries in between distinguish an outage from a refusal only by their text.
func watch(ctx context.Context) (context.Context, *atomic.Pointer[error]) {
	outage := &atomic.Pointer[error]{}
	return context.WithValue(ctx, outageKey{}, outage), outage
}

// transport limits the size of responses and records when the provider cannot be
// reached or reports an error of its own.
type transport struct{ next http.RoundTripper }

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(r)
	outage, watched := r.Context().Value(outageKey{}).(*atomic.Pointer[error])
	if err != nil {
		if watched {
			outage.Store(&err)
		}
		return nil, err
	}
	if watched && (res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusTooManyRequests) {
		outage.Store(new(fmt.Errorf("%s answers %s", r.URL.Host, res.Status)))
	}
	res.Body = &boundedBody{Closer: res.Body, Reader: io.LimitReader(res.Body, maxAnswer), outage: outage}
	return res, nil
}

// boundedBody is the first part of a response. An error while reading it is an outage.
type boundedBody struct {
	io.Reader
	io.Closer

	outage *atomic.Pointer[error]
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && b.outage != nil {
		b.outage.Store(&err)
	}
	return n, err
}

// classify returns an error with its code: an outage if the transport recorded one,
// otherwise a refusal.
func classify(err error, outage *atomic.Pointer[error]) error {
	if noted := outage.Load(); noted != nil {
		return unavailable(errors.Join(*noted, err))
	}
	return refused(err)
}

func unavailable(cause error) error {
	return fault.Wrap(cause, fault.Unavailable, "the identity provider cannot be reached")
}

func refused(cause error) error {
	return fault.Wrap(cause, fault.Unauthenticated, "the identity provider did not say who this is")
}
