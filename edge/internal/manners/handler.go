package manners

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/kith-crm/kith/observability/logging"

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
	Observe(route, method string, status int, d time.Duration)
}

// Options are what the handler needs. All but Observer and Now are required.
type Options struct {
	Logger   *slog.Logger
	CORS     *cors.Policy
	Problems *problem.Writer
	Observer Observer         // nil counts nothing
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
	return &Handler{options: o, next: next, secure: newSecurityHeaders()}
}

// ServeHTTP serves the request and, at the end, observes and logs it.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := h.options.Now()
	e := &exchange.Exchange{RequestID: logging.NewRequestID()}
	rec := &recorder{ResponseWriter: w}
	r = r.WithContext(exchange.NewContext(r.Context(), e))
	h.options.CORS.Mark(w.Header())
	h.secure.mark(w.Header())
	w.Header()["X-Request-Id"] = []string{e.RequestID}
	if h.options.Observer != nil {
		h.options.Observer.Enter()
		defer h.options.Observer.Leave()
	}
	defer h.finish(rec, r, e, start)
	h.next.ServeHTTP(rec, r)
}

// finish runs when the handler has returned or panicked.
func (h *Handler) finish(rec *recorder, r *http.Request, e *exchange.Exchange, start time.Time) {
	cause := recover()
	if cause != nil {
		h.answerPanic(rec, r, e, cause)
	}
	d := h.options.Now().Sub(start)
	route := e.Route
	if route == "" {
		route = unknownRoute
	}
	if h.options.Observer != nil {
		h.options.Observer.Observe(route, r.Method, rec.answered(), d)
	}
	h.log(r, e, route, rec.answered(), d)
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
		slog.String("method", knownMethod(r.Method)), slog.Int("status", status), slog.Duration("duration", d))
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
