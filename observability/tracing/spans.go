package tracing

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/otelconnect"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Interceptor creates the spans of Connect handlers, which continue the trace of their
// context (see Continue), and those of clients' calls within a trace. A client's call
// outside a trace, such as a health check, has no span.
func (t *Tracer) Interceptor() (connect.Interceptor, error) {
	return otelconnect.NewInterceptor(otelconnect.WithTracerProvider(t.provider), otelconnect.WithPropagator(t.context),
		otelconnect.WithoutMetrics(), otelconnect.WithFilter(func(ctx context.Context, spec connect.Spec) bool {
			return !spec.IsClient || trace.SpanContextFromContext(ctx).IsValid()
		}))
}

// Continue returns a context in the trace that a trusted caller's header names. A context
// that is already in a trace is returned unchanged.
func (t *Tracer) Continue(ctx context.Context, h http.Header) context.Context {
	if trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	return t.context.Extract(ctx, propagation.HeaderCarrier(h))
}

// Inject writes the trace of ctx into the header of a request to the backend.
func (t *Tracer) Inject(ctx context.Context, h http.Header) {
	t.context.Inject(ctx, propagation.HeaderCarrier(h))
}

// Request is the span of a public request.
type Request struct{ span trace.Span }

// Request starts a trace for a public request. The trace in the caller's header is only linked to
// it.
func (t *Tracer) Request(ctx context.Context, h http.Header) (context.Context, Request) {
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer)}
	if h["Traceparent"] != nil {
		theirs := trace.SpanContextFromContext(t.context.Extract(context.Background(), propagation.HeaderCarrier(h)))
		if theirs.IsValid() { // without the trace state, which is text of the caller
			options = append(options, trace.WithLinks(trace.Link{SpanContext: theirs.WithTraceState(trace.TraceState{})}))
		}
	}
	ctx, span := t.spans.Start(ctx, "request", options...)
	return ctx, Request{span}
}

// End ends the span. attrs are the attributes of the request's log line; those that are
// allowed to be exported become attributes of the span.
func (r Request) End(route, method string, status int, attrs ...slog.Attr) {
	if r.span.IsRecording() {
		r.span.SetName(route)
		r.span.SetAttributes(attribute.String(keyMethod, method), attribute.Int(keyStatus, status))
		for _, a := range attrs {
			key := attribute.Key(logPrefix + a.Key)
			switch {
			case !allowed(key):
			case a.Value.Kind() == slog.KindInt64:
				r.span.SetAttributes(key.Int64(a.Value.Int64()))
			default:
				r.span.SetAttributes(key.String(a.Value.String()))
			}
		}
		if status >= http.StatusInternalServerError {
			r.span.SetStatus(codes.Error, "")
		}
	}
	r.span.End()
}

// Pages returns next with a span for each request of a trusted caller, named after
// the pattern of the mux in next.
func (t *Tracer) Pages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := t.spans.Start(t.Continue(r.Context(), r.Header), "page", trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		r = r.WithContext(ctx)
		defer func() {
			if r.Pattern != "" {
				span.SetName(r.Pattern)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// Traceparent returns the sampled trace of ctx as in the header of that name (https://www.w3.org/TR/trace-context/);
// empty if there is none.
func Traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	header := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, header)
	return header["traceparent"]
}

// Job starts a trace for one run of a job, which is linked to the trace that started the job, a Traceparent or empty.
// Call end when the run ends.
func (t *Tracer) Job(ctx context.Context, kind, traceparent string) (_ context.Context, end func(outcome string, attempt int)) {
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer)}
	from := trace.SpanContextFromContext(t.context.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent}))
	if from.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: from}))
	}
	ctx, span := t.spans.Start(ctx, "job "+kind, options...)
	return ctx, func(outcome string, attempt int) {
		span.SetAttributes(attribute.String(keyOutcome, outcome), attribute.Int(keyAttempt, attempt))
		if outcome == "failed" || outcome == "retried" {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// Queries creates the spans of statements, in sampled traces only.
type Queries struct {
	tracer   *Tracer
	database string
}

// Queries returns the Queries of a database of the given system, such as postgresql.
func (t *Tracer) Queries(system string) Queries { return Queries{t, system} }

// Observe creates the span of a statement that ended now and took d. table returns the name of its table, from a closed
// set, or an empty string; it is called in sampled traces only.
func (q Queries) Observe(ctx context.Context, operation string, table func() string, outcome string, d time.Duration) {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return
	}
	switch operation {
	case "select", "insert", "update", "delete", "with", "begin", "commit", "rollback":
	default:
		operation = "other"
	}
	end, name := time.Now(), operation
	attributes := []attribute.KeyValue{attribute.String(keyDatabase, q.database), attribute.String(keyOperation, operation)}
	if t := table(); t != "" {
		name += " " + t
		attributes = append(attributes, attribute.String(keyTable, t))
	}
	_, span := q.tracer.spans.Start(ctx, name, trace.WithTimestamp(end.Add(-d)), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	if outcome != "ok" {
		span.SetAttributes(attribute.String(keyFailure, outcome))
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(end))
}
