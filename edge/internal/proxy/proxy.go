// Package proxy forwards requests for the authorization server's endpoints and the pages for
// people to the backend, which serves them. Cookies, redirects and the issuer use the edge's
// public origin.
//
// The proxy adds the edge's credential, the request's id and the caller's address. It drops
// headers with these names, and X-Forwarded-*, from the caller's request.
package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/kith-crm/kith/observability/logging"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/proto/connectheader"
)

// The maximum sizes of forwarded bodies in bytes: for the authorization server, for pages,
// for uploads and for address books. The backend's own limits are not higher.
const (
	maxOAuth  = 64 << 10
	maxPage   = 256 << 10
	maxUpload = 11 << 20
	maxDAV    = 1 << 20
)

// uploadTimeout is how long the upload of a file may take.
const uploadTimeout = 2 * time.Minute

// Options configure the proxy. All but ServiceToken, Logger and Inject are required.
type Options struct {
	// BackendURL is the backend's address, without a path.
	BackendURL string
	// Transport carries the requests.
	Transport http.RoundTripper
	// ServiceToken is the edge's credential.
	ServiceToken string
	// ErrorWriters answer if the backend cannot, in the format of the protocol.
	ErrorWriters map[route.Protocol]httpapi.ErrorWriter
	Logger       *slog.Logger
	// Inject adds the trace context of a request to the forwarded headers; nil adds none.
	Inject func(ctx context.Context, h http.Header)
	// ClientAddress returns the key under which limits by address count a request.
	ClientAddress func(r *http.Request) string
}

// Proxy forwards requests. It is safe for concurrent use.
type Proxy struct {
	Options

	proxy *httputil.ReverseProxy
}

// New builds a proxy. It fails if BackendURL is not an absolute address.
func New(o Options) (*Proxy, error) {
	target, err := url.Parse(o.BackendURL)
	if err != nil || target.Host == "" {
		return nil, errors.New("proxy: the backend's address is not a URL with a scheme and a host")
	}
	p := &Proxy{Options: o}
	p.proxy = &httputil.ReverseProxy{
		Transport: o.Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.URL.RawPath = "" // the router only accepts plain paths
			r.Out.Host = r.In.Host
			p.identify(r)
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	return p, nil
}

// identify replaces the headers that only the edge may send: its credential, the request id, the
// client address and the trace.
func (p *Proxy) identify(r *httputil.ProxyRequest) {
	for name := range r.Out.Header {
		if strings.HasPrefix(name, connectheader.Prefix) {
			delete(r.Out.Header, name)
		}
	}
	for _, name := range []string{"Traceparent", "Tracestate", "Baggage"} { // a caller's trace is not continued
		delete(r.Out.Header, name)
	}
	if p.Inject != nil {
		p.Inject(r.In.Context(), r.Out.Header)
	}
	if p.ServiceToken != "" {
		r.Out.Header.Set(connectheader.ServiceToken, p.ServiceToken)
	}
	r.Out.Header.Set(connectheader.RequestID, requestlog.RequestID(r.In.Context()))
	r.Out.Header.Set(connectheader.ClientAddress, p.ClientAddress(r.In))
}

// hideInternals removes the internal headers between edge and backend from the answer.
func hideInternals(res *http.Response) error {
	for name := range res.Header {
		if strings.HasPrefix(name, connectheader.Prefix) {
			delete(res.Header, name)
		}
	}
	return nil
}

// joinLimits merges the RateLimit headers of the edge with those of the backend, which counts
// password attempts. The list headers have both policies. The headers with one figure have the
// backend's, whose policy is stricter.
func joinLimits(own, answer http.Header) {
	if answer.Get(ratelimit.HeaderLimits) == "" {
		return
	}
	for _, name := range []string{ratelimit.HeaderLimits, ratelimit.HeaderPolicies} {
		if counted := own[name]; len(counted) > 0 {
			answer.Set(name, counted[0]+", "+answer.Get(name))
		}
	}
	for _, name := range ratelimit.Headers() {
		delete(own, name) // Del would not find this spelling
	}
}

// check returns why a body is refused, or nil. Size and timeout are already checked.
type check func(r *http.Request, body []byte) *httpapi.Error

// checkRegistration checks the registration of a client, because the backend's decoder ignores
// unknown members.
func checkRegistration(r *http.Request, body []byte) *httpapi.Error {
	if !httpapi.IsJSON(r) {
		return nil // the backend refuses it
	}
	return httpapi.CheckJSON(body, "client_name", "client_uri", "redirect_uris", "grant_types", "response_types", "token_endpoint_auth_method", "scope")
}

// serveUpload streams a file to the backend.
func (p *Proxy) serveUpload(w http.ResponseWriter, r *http.Request, _ string) {
	requestlog.FromContext(r.Context()).Proxied = true
	if r.Method == http.MethodPost {
		if httpapi.Encoded(r.Header) {
			p.ErrorWriters[route.Page].WriteError(w, r, httpapi.Error{Code: httpapi.UnsupportedMediaType, Detail: "Send the file without a content encoding."})
			return
		}
		// If it cannot be set, the server's own timeout applies.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadTimeout))
		r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
	}
	p.forward(w, r, route.Page)
}

// serve returns a handler that reads the body of a POST, and of all requests of WebDAV, of at most limit bytes, and then forwards the
// request, so that a slow or large body is refused before the backend is called. A nil check accepts
// every body.
func (p *Proxy) serve(protocol route.Protocol, limit int64, c check) route.Handler {
	return func(w http.ResponseWriter, r *http.Request, _ string) {
		requestlog.FromContext(r.Context()).Proxied = true
		if r.Method == http.MethodPost || protocol == route.DAV {
			body, fault := httpapi.ReadBody(w, r, limit)
			if fault == nil && c != nil {
				fault = c(r, body)
			}
			if fault != nil {
				p.ErrorWriters[protocol].WriteError(w, r, *fault)
				return
			}
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
			r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
			if len(body) == 0 {
				r.Body, r.GetBody = http.NoBody, nil
			}
		}
		p.forward(w, r, protocol)
	}
}

func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, protocol route.Protocol) {
	proxy := *p.proxy
	proxy.ErrorHandler = func(w http.ResponseWriter, r *http.Request, err error) {
		p.writeError(w, r, p.ErrorWriters[protocol], err)
	}
	proxy.ModifyResponse = func(res *http.Response) error {
		joinLimits(w.Header(), res.Header)
		if protocol == route.HTTP && res.StatusCode >= http.StatusBadRequest {
			return &refusedError{res.StatusCode}
		}
		return hideInternals(res)
	}
	proxy.ServeHTTP(w, r)
}

// refusedError is an error that the backend answered, for which the edge writes a problem.
type refusedError struct{ status int }

func (e *refusedError) Error() string { return "the backend answers " + http.StatusText(e.status) }

// writeError answers a request that the backend did not answer, or refused.
func (p *Proxy) writeError(w http.ResponseWriter, r *http.Request, errorWriter httpapi.ErrorWriter, err error) {
	if refused, ok := errors.AsType[*refusedError](err); ok && refused.status == http.StatusNotFound {
		errorWriter.WriteError(w, r, httpapi.Error{Code: httpapi.NotFound, Detail: "There is nothing at this address. It may have been removed."})
		return
	}
	if r.Context().Err() != nil {
		return // the caller has disconnected
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large || errors.Is(err, os.ErrDeadlineExceeded) {
		errorWriter.WriteError(w, r, *httpapi.BodyError(w, err, maxUpload))
		return
	}
	logging.Fail(r.Context(), p.Logger, slog.LevelWarn, "backend unreachable", err.Error())
	w.Header().Set("Retry-After", httpapi.RetryAfter)
	errorWriter.WriteError(w, r, httpapi.Error{Code: httpapi.Unavailable, Detail: "Kith cannot answer right now. Try again in a moment."})
}
