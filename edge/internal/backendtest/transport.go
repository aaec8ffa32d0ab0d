package backendtest

import (
	"errors"
	"net/http"
	"net/http/httptest"

	"connectrpc.com/connect"
)

// transport calls the backend's handler in memory.
type transport struct {
	backend *Backend
}

// Transport returns a transport that calls the backend's handler, whatever the address.
func (b *Backend) Transport() http.RoundTripper {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.handler == nil {
		b.handler = b.routes()
	}
	return transport{b}
}

// RoundTrip serves the request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	b := t.backend
	b.mu.Lock()
	fault := b.fault
	b.requests = append(b.requests, r.Header.Clone())
	b.mu.Unlock()
	if _, ok := errors.AsType[*connect.Error](fault); fault != nil && !ok {
		return nil, fault
	}
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	rec := httptest.NewRecorder()
	b.handler.ServeHTTP(rec, in)
	_ = r.Body.Close()
	return rec.Result(), nil
}
