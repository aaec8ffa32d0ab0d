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

	"github.com/kith-crm/kith/edge/internal/content"
	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/route"
)

// The headers that only the edge may send to the backend.
const (
	headerPrefix        = "Kith-"
	headerServiceToken  = "Kith-Service-Token"
	headerRequestID     = "Kith-Request-Id"
	headerClientAddress = "Kith-Client-Address"
)

// Bounds of what is handed on, in bytes: to the authorization server, to the pages,
// and where files are uploaded. The backend's own bounds are not higher.
const (
	maxOAuth  = 64 << 10
	maxPage   = 256 << 10
	maxUpload = 11 << 20
)

// uploadTimeout is how long a slow line may take for a file.
const uploadTimeout = 2 * time.Minute

// Options are what the proxy needs. All are required but ServiceToken, Logger
// and Inject.
type Options struct {
	// BackendURL is the backend's address, without a path.
	BackendURL string
	// Transport carries the requests.
	Transport http.RoundTripper
	// ServiceToken is the edge's credential.
	ServiceToken string
	// Refusers answer when the backend cannot, in the shape of the protocol.
	Refusers map[route.Protocol]route.Refuser
	Logger   *slog.Logger
	// Inject names the trace of a request in the header of what is handed on; nil
	// names none.
	Inject func(ctx context.Context, h http.Header)
	// ClientAddress returns what limits by address count a request as.
	ClientAddress func(r *http.Request) string
}

// Proxy hands requests on.
type Proxy struct {
	Options

	proxy *httputil.ReverseProxy
}

// New builds a proxy. It fails when the backend's address is none.
func New(o Options) (*Proxy, error) {
	target, err := url.Parse(o.BackendURL)
	if err != nil || target.Host == "" {
		return nil, errors.New("proxy: the backend's address is no address")
	}
	p := &Proxy{Options: o}
	p.proxy = &httputil.ReverseProxy{
		Transport: o.Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.URL.RawPath = "" // the router lets plain paths through only
			r.Out.Host = r.In.Host
			p.identify(r)
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	return p, nil
}

// identify adds what the edge vouches for in place of what the caller claims.
func (p *Proxy) identify(r *httputil.ProxyRequest) {
	for name := range r.Out.Header {
		if strings.HasPrefix(name, headerPrefix) {
			delete(r.Out.Header, name)
		}
	}
	for _, name := range []string{"Traceparent", "Tracestate", "Baggage"} { // callers are not believed
		delete(r.Out.Header, name)
	}
	if p.Inject != nil {
		p.Inject(r.In.Context(), r.Out.Header)
	}
	if p.ServiceToken != "" {
		r.Out.Header.Set(headerServiceToken, p.ServiceToken)
	}
	r.Out.Header.Set(headerRequestID, exchange.RequestID(r.In.Context()))
	r.Out.Header.Set(headerClientAddress, p.ClientAddress(r.In))
}

// hideInternals keeps what the halves tell each other from the caller.
func hideInternals(res *http.Response) error {
	for name := range res.Header {
		if strings.HasPrefix(name, headerPrefix) {
			delete(res.Header, name)
		}
	}
	return nil
}

// joinLimits brings what the backend counts itself, attempts at a password,
// together with what was counted here: the lists tell of both, and the single
// figures are the backend's, whose policy is the tighter one.
func joinLimits(own, answer http.Header) {
	if answer.Get("RateLimit") == "" {
		return
	}
	for _, name := range []string{"RateLimit", "RateLimit-Policy"} {
		if counted := own[name]; len(counted) > 0 {
			answer.Set(name, counted[0]+", "+answer.Get(name))
		}
	}
	for _, name := range []string{"RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
		delete(own, name) // spelt so by package ratelimit
	}
}

// Handler returns the handler of a row with the protocol. When the body cannot be
// taken, or the backend cannot be reached, it answers in the protocol's shape.
// check, which may be nil, refuses bodies.
func (p *Proxy) Handler(protocol route.Protocol, check func(r *http.Request, body []byte) *content.Refusal) route.Handler {
	refuser := p.Refusers[protocol]
	proxy := *p.proxy
	proxy.ErrorHandler = func(w http.ResponseWriter, r *http.Request, err error) {
		p.explain(w, r, refuser, err)
	}
	return func(w http.ResponseWriter, r *http.Request, _ string) {
		exchange.FromContext(r.Context()).HandedOn = true
		if r.Method == http.MethodPost {
			if refusal := admit(w, r, check); refusal != nil {
				refuser.Refuse(w, r, refusal.Code, refusal.Detail, refusal.Fields...)
				return
			}
		}
		one := proxy
		one.ModifyResponse = func(res *http.Response) error {
			joinLimits(w.Header(), res.Header)
			return hideInternals(res)
		}
		one.ServeHTTP(w, r)
	}
}

// admit reads the body of a request, so that one that is slow or too large is
// known before the backend is asked. Files are read while they are handed on.
func admit(w http.ResponseWriter, r *http.Request, check func(r *http.Request, body []byte) *content.Refusal) *content.Refusal {
	limit := int64(maxPage)
	switch {
	case r.URL.Path == route.PathImports:
		if content.Encoded(r.Header) {
			return &content.Refusal{Code: problem.UnsupportedMediaType, Detail: "Send the file without a content encoding."}
		}
		// Where it cannot be set, the server's own timeout holds.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadTimeout))
		r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
		return nil
	case strings.HasPrefix(r.URL.Path, route.OAuthPrefix):
		limit = maxOAuth
	}
	body, refusal := content.Read(w, r, limit)
	if refusal == nil && check != nil {
		refusal = check(r, body)
	}
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return refusal
}

// explain answers a request that was not answered by the backend.
func (p *Proxy) explain(w http.ResponseWriter, r *http.Request, refuser route.Refuser, err error) {
	if r.Context().Err() != nil {
		return // the caller has gone
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large || errors.Is(err, os.ErrDeadlineExceeded) {
		refusal := content.Explain(w, err, maxUpload)
		refuser.Refuse(w, r, refusal.Code, refusal.Detail)
		return
	}
	p.Logger.WarnContext(r.Context(), "backend unreachable", "request_id", exchange.RequestID(r.Context()), "error", err)
	w.Header().Set("Retry-After", "1")
	refuser.Refuse(w, r, problem.Unavailable, "Kith cannot answer right now. Try again in a moment.")
}
