package rpc

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/observability/logging"
	"github.com/kith-crm/kith/observability/tracing"
	"github.com/kith-crm/kith/proto/catalog"
)

// The kinds of principals.
const (
	principalAnonymous  = "anonymous"
	principalDemo       = "demo"
	principalCredential = "credential"
)

// outcomeUnread is the outcome of a call that no handler of the contract could read:
// its body is not a message, its protocol is unknown, or it asks for reflection.
const outcomeUnread = "unread"

// methodUnknown is the name for calls that are not RPCs of the contract.
const methodUnknown = "unknown"

// accessLog writes one log line for each call, no matter which handler answers it. The
// line never contains the contents of messages.
type accessLog struct {
	rpcs   *catalog.Catalog
	logger *slog.Logger
	tracer *tracing.Tracer // nil traces nothing
}

// line is the content of a call's log line, filled while the call is handled.
type line struct {
	principal *tenant.Principal
	outcome   string
}

type lineKey struct{}

type inProcessKey struct{}

// InProcess marks calls as coming from an edge in the same process. The edge's log line
// for the request has the same attributes and the error, so the line of the call has level debug.
func InProcess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), inProcessKey{}, true)))
	})
}

// lineOf returns the line of the call that ctx belongs to. Without one, as in unit tests,
// it returns a line that is not logged.
func lineOf(ctx context.Context) *line {
	if l, ok := ctx.Value(lineKey{}).(*line); ok {
		return l
	}
	return &line{}
}

// end records how the call ended.
func (l *line) end(err error) {
	l.outcome = "ok"
	if err != nil {
		l.outcome = connect.CodeOf(err).String()
	}
}

// wrap adopts the request id and the trace of the caller, and writes the log line. Only
// callers that the Authorizer trusts reach the handlers after it.
func (j *accessLog) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		l := &line{outcome: outcomeUnread}
		ctx := WithRequestID(context.WithValue(r.Context(), lineKey{}, l), r.Header)
		if j.tracer != nil {
			ctx = j.tracer.Continue(ctx, r.Header)
		}
		ctx, failure, outer := logging.WithFailure(ctx)
		if outer { // the line of the edge's request says why
			failure = nil
		}
		defer func() { j.write(ctx, r.URL.Path, l, failure, time.Since(start)) }()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// interceptor records how calls end. It must come before the interceptors that decide it.
func (j *accessLog) interceptor() connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			res, err := next(ctx, req)
			lineOf(ctx).end(err)
			return res, err
		}
	}
}

func (j *accessLog) write(ctx context.Context, path string, l *line, failure *logging.Failure, d time.Duration) {
	level, cause := levelOf(l.outcome), []slog.Attr(nil)
	if failure != nil {
		level, cause = failure.Line(level)
	}
	if failure == nil || level == slog.LevelInfo && ctx.Value(inProcessKey{}) != nil {
		level = slog.LevelDebug
	}
	if !j.logger.Enabled(ctx, level) {
		return
	}
	record := slog.NewRecord(time.Now(), level, "call", 0)
	rule, known := j.rpcs.Procedure(path)
	method := methodUnknown
	if known {
		method = strings.TrimPrefix(rule.Procedure, "/")
	}
	if id := logging.RequestID(ctx); id != "" { // probes of the edge have none
		record.AddAttrs(slog.String("request_id", id))
	}
	record.AddAttrs(slog.String("method", method),
		slog.String("outcome", l.outcome), logging.Milliseconds("duration_ms", d))
	if known && rule.Tool != nil {
		record.AddAttrs(slog.String("tool", rule.Tool.Name))
	}
	switch p := l.principal; {
	case p == nil:
		record.AddAttrs(slog.String("principal", principalAnonymous))
	case p.ReadOnly:
		record.AddAttrs(slog.String("principal", principalDemo))
	default:
		record.AddAttrs(slog.String("principal", principalCredential), slog.String("credential", p.Credential.ID))
	}
	if j.tracer != nil {
		if id := tracing.TraceID(ctx); id != "" {
			record.AddAttrs(slog.String("trace_id", id))
		}
	}
	record.AddAttrs(cause...)
	_ = j.logger.Handler().Handle(ctx, record) // an error here can't be reported anywhere
}

// levelOf returns the level of a line; it is error for internal errors.
func levelOf(outcome string) slog.Level {
	switch outcome {
	case connect.CodeInternal.String(), connect.CodeUnknown.String(), connect.CodeUnavailable.String(), connect.CodeDataLoss.String():
		return slog.LevelError
	default:
		return slog.LevelInfo
	}
}
