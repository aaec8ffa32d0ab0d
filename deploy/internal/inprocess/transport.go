// Package inprocess carries HTTP requests to a handler of the same process
// without a socket, so that the all-in-one program runs the same code paths as
// two processes.
package inprocess

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// Transport returns a RoundTripper that calls the handler in the caller's
// goroutine and holds the answer in memory. A panic of the handler goes on in
// the caller.
func Transport(handler http.Handler) http.RoundTripper { return transport{handler} }

type transport struct{ handler http.Handler }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	inbound := *req
	if inbound.Body == nil {
		inbound.Body = http.NoBody
	}
	defer func() { _ = inbound.Body.Close() }()
	inbound.RequestURI = req.URL.RequestURI()
	inbound.RemoteAddr = "in-process"
	if inbound.Host == "" {
		inbound.Host = req.URL.Host
	}
	inbound.Proto, inbound.ProtoMajor, inbound.ProtoMinor = "HTTP/1.1", 1, 1
	w := &writer{header: make(http.Header, 8)}
	t.handler.ServeHTTP(w, &inbound)
	if err := req.Context().Err(); err != nil && w.status == 0 {
		return nil, err
	}
	return w.response(req), nil
}

type writer struct {
	header http.Header
	sent   http.Header
	status int
	body   bytes.Buffer
}

func (w *writer) Header() http.Header { return w.header }

func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
		w.sent = w.header.Clone()
	}
}

func (w *writer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush does nothing: it exists for handlers that require http.Flusher.
func (w *writer) Flush() { w.WriteHeader(http.StatusOK) }

func (w *writer) response(req *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Trailer: w.trailer(), Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: req,
	}
}

// trailer returns what the handler set after the body, in net/http's way.
func (w *writer) trailer() http.Header {
	var trailer http.Header
	for key, values := range w.header {
		if name, ok := bytes.CutPrefix([]byte(key), []byte(http.TrailerPrefix)); ok {
			if trailer == nil {
				trailer = http.Header{}
			}
			trailer[string(name)] = values
		}
	}
	return trailer
}
