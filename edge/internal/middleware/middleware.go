// Package middleware has the middleware of the edge, which applies to every answer: a request
// id, CORS and security headers, an answer even after a panic, metrics, a span and a log line;
// compression; and a limit on concurrent requests. edge/server/pipeline.go has their order.
package middleware

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/kith-crm/kith/observability/logging"
	"github.com/kith-crm/kith/observability/tracing"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/requestlog"
)

const (
	// unknownRoute is the name of requests that match no route, in the log and in metrics.
	unknownRoute = "unknown"
	// statusClientClosed is logged if the caller disconnected before the answer. The status is
	// widely used but not registered.
	statusClientClosed = 499
)

// Observer counts requests. It must be safe for concurrent use.
type Observer interface {
	// Enter is called when a request arrives, Leave when it has been answered.
	Enter()
	Leave()
	// Observe is called once for each answer. d does not include the time that get_job waited.
	Observe(ctx context.Context, route, method string, status int, d time.Duration)
}

// LogOptions are what Log needs. Only Logger and Problems are required.
type LogOptions struct {
	Logger   *slog.Logger
	Problems *httpapi.Problems
	Observer Observer         // nil counts nothing
	Tracer   *tracing.Tracer  // nil traces nothing
	Now      func() time.Time // time.Now if nil
	// Context adds to the context of each request; nil adds nothing.
	Context func(context.Context) context.Context
}

// Log returns a handler that gives each request an id, and observes and logs it after next
// has answered. It is the outermost handler. The log line has the route's name and never the
// path, the query or a header, because any of them can contain secrets.
func Log(o LogOptions, next http.Handler) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := o.Now()
		e := &requestlog.Event{RequestID: logging.NewRequestID()}
		rec := &statusRecorder{ResponseWriter: w}
		ctx := requestlog.NewContext(r.Context(), e)
		if o.Context != nil {
			ctx = o.Context(ctx)
		}
		var span tracing.Request
		if o.Tracer != nil {
			ctx, span = o.Tracer.Request(ctx, r.Header)
		}
		ctx, failure, _ := logging.WithFailure(ctx)
		r = r.WithContext(ctx)
		w.Header()["X-Request-Id"] = []string{e.RequestID}
		if o.Observer != nil {
			o.Observer.Enter()
			defer o.Observer.Leave()
		}
		defer o.finish(rec, r, e, failure, span, start)
		next.ServeHTTP(rec, r)
	})
}

// finish runs when the handler has returned or panicked.
func (o LogOptions) finish(rec *statusRecorder, r *http.Request, e *requestlog.Event, failure *logging.Failure, span tracing.Request, start time.Time) {
	cause := recover()
	if cause != nil {
		o.answerPanic(rec, r, e, cause)
	}
	disconnected := cause == nil && errors.Is(r.Context().Err(), context.Canceled)
	switch {
	case disconnected && (rec.status == 0 || rec.status > http.StatusInternalServerError):
		rec.status = statusClientClosed // what failed because the caller disconnected is not an error
	case rec.status == 0:
		rec.status = http.StatusOK // what net/http answers for a handler that wrote nothing
	}
	d := o.Now().Sub(start)
	if e.Route == "" {
		e.Route = unknownRoute
	}
	if o.Observer != nil {
		o.Observer.Observe(r.Context(), e.Route, r.Method, rec.status, d-e.Suspended())
	}
	if principal := e.Principal(); principal != "" {
		e.Note(slog.String("principal", principal))
	}
	if backend := e.Backend(); backend != "" {
		e.Note(slog.String("backend", backend))
	}
	o.log(r, e, failure, rec.status, d)
	if o.Tracer != nil {
		span.End(e.Route, knownMethod(r.Method), rec.status, e.Attrs()...)
	}
	if cause != nil && rec.cutShort {
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http closes the connection
	}
}

// answerPanic answers with a 500 if no answer has begun. If one has, the connection must be
// closed, so that the caller does not mistake a partial answer for a complete one.
func (o LogOptions) answerPanic(rec *statusRecorder, r *http.Request, e *requestlog.Event, cause any) {
	err, _ := cause.(error)
	aborted := errors.Is(err, http.ErrAbortHandler)
	rec.cutShort = aborted || rec.status != 0
	if !aborted {
		o.Logger.LogAttrs(r.Context(), slog.LevelError, "panic",
			slog.String("request_id", e.RequestID), slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))
	}
	if !rec.cutShort {
		o.Problems.Write(rec, r, httpapi.Internal, httpapi.InternalDetail)
	}
}

func (o LogOptions) log(r *http.Request, e *requestlog.Event, failure *logging.Failure, status int, d time.Duration) {
	level := slog.LevelInfo
	if status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	level, cause := failure.Line(level)
	if !o.Logger.Enabled(r.Context(), level) {
		return
	}
	record := slog.NewRecord(o.Now(), level, "request", 0)
	record.AddAttrs(slog.String("request_id", e.RequestID), slog.String("route", e.Route),
		slog.String("method", knownMethod(r.Method)), slog.Int("status", status), logging.Milliseconds("duration_ms", d))
	if awaited := e.Awaited(); awaited > 0 {
		record.AddAttrs(logging.Milliseconds("backend_ms", awaited))
	}
	if o.Tracer != nil {
		if id := tracing.TraceID(r.Context()); id != "" {
			record.AddAttrs(slog.String("trace_id", id))
		}
	}
	record.AddAttrs(e.Attrs()...)
	record.AddAttrs(cause...)
	_ = o.Logger.Handler().Handle(r.Context(), record) // there is nowhere to log the error
}

// knownMethod returns the method, or "other" for one that is not standard.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
		http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "other"
	}
}

// statusRecorder records the status of an answer.
type statusRecorder struct {
	http.ResponseWriter

	status   int // of the final answer; 0 until it has begun
	cutShort bool
}

// WriteHeader records the status; 1xx answers are not final.
func (r *statusRecorder) WriteHeader(status int) {
	if status >= http.StatusOK && r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write begins a 200 answer if none has begun.
func (r *statusRecorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (r *statusRecorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

const (
	corsHeaders = "authorization, content-type, accept, mcp-protocol-version, mcp-session-id, mcp-method, " +
		"mcp-name, last-event-id, idempotency-key, if-none-match, x-mcp-toolsets, x-mcp-tools, x-mcp-readonly"
	corsExposed = "WWW-Authenticate, RateLimit, RateLimit-Policy, RateLimit-Limit, RateLimit-Remaining, " +
		"RateLimit-Reset, Retry-After, Idempotency-Replayed, Deprecation, Sunset, Link, ETag, Location, " +
		"MCP-Protocol-Version, X-Request-Id"
	// corsMaxAge is how many seconds a browser may cache a preflight; browsers' own limits are similar.
	corsMaxAge = "7200"
)

// Headers returns a handler that adds the headers that every answer of next has.
//
// Web pages of any origin may call the service (CORS: Fetch standard, section 3.2). There are no
// cookies on those paths, so allowing every origin exposes nothing; the MCP endpoints check Origin
// themselves. CORS headers are set before anything can refuse the request, so that a web page can
// read a 401 or a 404 too.
//
// The security headers are defaults for answers that are data; headers that a page sets are kept.
// With https, browsers use https for a year (RFC 6797); subdomains are not included.
func Headers(https bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		for _, line := range corsDefaults {
			h[line[0]] = line[1:]
		}
		secured := &securityHeaders{ResponseWriter: w, https: https}
		next.ServeHTTP(secured, r)
		secured.complete(http.StatusOK) // what net/http answers for a handler that wrote nothing
	})
}

// ClearCORS removes the CORS headers, because scripts of other sites must not read pages.
func ClearCORS(h http.Header) {
	for _, line := range corsDefaults {
		delete(h, line[0])
	}
}

// Preflight adds the CORS headers of the answer to OPTIONS. methods is the value of
// Allow.
func Preflight(h http.Header, methods []string) {
	h["Access-Control-Allow-Methods"] = methods
	h["Access-Control-Allow-Headers"] = []string{corsHeaders}
	h["Access-Control-Max-Age"] = []string{corsMaxAge}
}

// securityHeaders completes the headers of an answer when it begins.
type securityHeaders struct {
	http.ResponseWriter

	https, begun bool
}

func (s *securityHeaders) complete(status int) {
	if s.begun || status < http.StatusOK { // 1xx answers are not final
		return
	}
	s.begun = true
	if status == http.StatusNotModified {
		return // the caller keeps the headers of its cached answer
	}
	h := s.Header()
	if s.https {
		h["Strict-Transport-Security"] = []string{"max-age=31536000"}
	}
	for _, line := range securityDefaults {
		if len(h[line[0]]) == 0 {
			h[line[0]] = line[1:]
		}
	}
}

// corsDefaults and securityDefaults are names and values of headers, which all answers share.
var corsDefaults = [][]string{
	{"Access-Control-Allow-Origin", "*"},
	{"Access-Control-Expose-Headers", corsExposed},
}

var securityDefaults = [][]string{
	{"X-Content-Type-Options", "nosniff"},
	{"Referrer-Policy", "no-referrer"},
	{"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"},
}

// WriteHeader completes the headers of a final answer.
func (s *securityHeaders) WriteHeader(status int) {
	s.complete(status)
	s.ResponseWriter.WriteHeader(status)
}

// Write begins a 200 answer if none has begun.
func (s *securityHeaders) Write(p []byte) (int, error) {
	s.complete(http.StatusOK)
	return s.ResponseWriter.Write(p)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (s *securityHeaders) Unwrap() http.ResponseWriter { return s.ResponseWriter }

const (
	// minCompressed is the size in bytes from which answers are compressed. Below it, compressing
	// costs more time than it saves.
	minCompressed = 4 << 10
	// gzipLevel is fast and still compresses repeated names well.
	gzipLevel  = 3
	etagSuffix = "-gzip"
)

// NewCompression returns a middleware that sends large answers as gzip to callers
// who accept it. Each representation has its own strong entity tag: the compressed
// one has a suffix, which is removed before a handler compares tags.
func NewCompression() (func(next http.Handler) http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.CompressionLevel(gzipLevel), gzhttp.SuffixETag(etagSuffix),
		gzhttp.EnableZstd(false), gzhttp.ContentTypes([]string{
			"application/json", "application/problem+json", "application/linkset+json", "text/markdown", "text/html", "text/plain", "text/css", "text/javascript",
		}))
	if err != nil {
		return nil, fmt.Errorf("configure compression: %w", err)
	}
	return func(next http.Handler) http.Handler {
		compressed := wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if removeSuffix(r) {
				w = &notModified{ResponseWriter: w}
			}
			next.ServeHTTP(w, r)
		}))
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(r.Header["Accept-Encoding"]) == 0 {
				next.ServeHTTP(w, r)
				return
			}
			compressed(w, r)
		})
	}, nil
}

// removeSuffix removes the suffix from the tags of If-None-Match, and reports whether one had it.
func removeSuffix(r *http.Request) (found bool) {
	for i, line := range r.Header["If-None-Match"] {
		if without := strings.ReplaceAll(line, etagSuffix+`"`, `"`); without != line {
			r.Header["If-None-Match"][i] = without
			found = true
		}
	}
	return found
}

// notModified adds the suffix again to the tag of a 304, which must be that of the
// corresponding 200 (RFC 9110, section 15.4.5).
type notModified struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *notModified) WriteHeader(status int) {
	if tag := w.Header().Get("ETag"); status == http.StatusNotModified && strings.HasSuffix(tag, `"`) {
		w.Header()["Etag"] = []string{strings.TrimSuffix(tag, `"`) + etagSuffix + `"`}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (w *notModified) Unwrap() http.ResponseWriter { return w.ResponseWriter }
