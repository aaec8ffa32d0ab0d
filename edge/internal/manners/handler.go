package manners

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/kith-crm/kith/observability/logging"
	"github.com/kith-crm/kith/observability/tracing"

	"github.com/kith-crm/kith/edge/internal/cors"
	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/problem"
)

// unknownRoute is the name of requests that match no route, in the log and in metrics.
const unknownRoute = "unknown"

// Observer counts requests. It must be safe for concurrent use.
type Observer interface {
	// Enter is called when a request arrives, Leave when it has been answered.
	Enter()
	Leave()
	// Observe is called once for each answer.
	Observe(ctx context.Context, route, method string, status int, d time.Duration)
}

// Options are what the handler needs. All but Observer, Tracer and Now
// are required.
type Options struct {
	Logger   *slog.Logger
	CORS     *cors.Policy
	Problems *problem.Writer
	HTTPS    bool             // the public address is https
	Observer Observer         // nil counts nothing
	Tracer   *tracing.Tracer  // nil traces nothing
	Now      func() time.Time // time.Now if nil
}

// Handler wraps next. It is safe for concurrent use.
type Handler struct {
	options Options
	next    http.Handler
	secure  securityHeaders
}

// New returns next with manners.
func New(next http.Handler, o Options) *Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Handler{options: o, next: next, secure: newSecurityHeaders(o.HTTPS)}
}

// ServeHTTP serves the request and, at the end, observes and logs it.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := h.options.Now()
	e := &exchange.Exchange{RequestID: logging.NewRequestID()}
	rec := &recorder{ResponseWriter: w, secure: &h.secure}
	ctx := exchange.NewContext(r.Context(), e)
	var span tracing.Request
	if h.options.Tracer != nil {
		ctx, span = h.options.Tracer.Request(ctx, r.Header)
	}
	r = r.WithContext(ctx)
	h.options.CORS.Mark(w.Header())
	w.Header()["X-Request-Id"] = []string{e.RequestID}
	if h.options.Observer != nil {
		h.options.Observer.Enter()
		defer h.options.Observer.Leave()
	}
	defer h.finish(rec, r, e, span, start)
	h.next.ServeHTTP(rec, r)
}

// finish runs when the handler has returned or panicked.
func (h *Handler) finish(rec *recorder, r *http.Request, e *exchange.Exchange, span tracing.Request, start time.Time) {
	cause := recover()
	if cause != nil {
		h.answerPanic(rec, r, e, cause)
	}
	rec.begin(http.StatusOK) // what net/http answers for a handler that wrote nothing
	if cause == nil && rec.status > http.StatusInternalServerError && errors.Is(r.Context().Err(), context.Canceled) {
		rec.status = statusClientClosed // the caller went away; what could not be asked for them is no fault
	}
	d := h.options.Now().Sub(start)
	route := e.Route
	if route == "" {
		route = unknownRoute
	}
	if h.options.Observer != nil {
		h.options.Observer.Observe(r.Context(), route, r.Method, rec.status, d)
	}
	if principal := e.Principal(); principal != "" {
		e.Note(slog.String("principal", principal))
	}
	h.log(r, e, route, rec.status, d)
	if h.options.Tracer != nil {
		span.End(route, knownMethod(r.Method), rec.status, e.Attrs()...)
	}
	if cause != nil && rec.cutShort {
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's own word for "close the connection"
	}
}

// answerPanic answers with a 500 if there is still time for an answer. If not,
// the connection must be closed, lest half an answer looks like a whole one.
func (h *Handler) answerPanic(rec *recorder, r *http.Request, e *exchange.Exchange, cause any) {
	err, _ := cause.(error)
	aborted := errors.Is(err, http.ErrAbortHandler)
	rec.cutShort = aborted || rec.status != 0
	if !aborted {
		h.options.Logger.LogAttrs(r.Context(), slog.LevelError, "panic",
			slog.String("request_id", e.RequestID), slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))
	}
	if !rec.cutShort {
		h.options.Problems.Write(rec, r, problem.Internal, "The error was logged under the id of this request.")
	}
}

func (h *Handler) log(r *http.Request, e *exchange.Exchange, route string, status int, d time.Duration) {
	level := slog.LevelInfo
	if status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	if !h.options.Logger.Enabled(r.Context(), level) {
		return
	}
	record := slog.NewRecord(h.options.Now(), level, "request", 0)
	record.AddAttrs(slog.String("request_id", e.RequestID), slog.String("route", route),
		slog.String("method", knownMethod(r.Method)), slog.Int("status", status), logging.Milliseconds("duration_ms", d))
	if awaited := e.Awaited(); awaited > 0 {
		record.AddAttrs(logging.Milliseconds("backend_ms", awaited))
	}
	if h.options.Tracer != nil {
		if id := tracing.TraceID(r.Context()); id != "" {
			record.AddAttrs(slog.String("trace_id", id))
		}
	}
	record.AddAttrs(e.Attrs()...)
	_ = h.options.Logger.Handler().Handle(r.Context(), record) // nobody is left to tell
}

// knownMethod keeps words of the caller's own making out of the log.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
		http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "other"
	}
}
