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

// Interceptor makes the spans of Connect handlers, and of clients' calls within a
// trace: a probe begins none. A handler's continues the trace of its context, where
// Continue put the caller's.
func (t *Tracer) Interceptor() (connect.Interceptor, error) {
	return otelconnect.NewInterceptor(otelconnect.WithTracerProvider(t.provider), otelconnect.WithPropagator(t.context),
		otelconnect.WithoutMetrics(), otelconnect.WithFilter(func(ctx context.Context, spec connect.Spec) bool {
			return !spec.IsClient || trace.SpanContextFromContext(ctx).IsValid()
		}))
}

// Continue returns a context that belongs to the trace that a trusted caller named
// in its header. A context that is in a trace stays there.
func (t *Tracer) Continue(ctx context.Context, h http.Header) context.Context {
	if trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	return t.context.Extract(ctx, propagation.HeaderCarrier(h))
}

// Inject names the trace of ctx in the header of a request to the backend.
func (t *Tracer) Inject(ctx context.Context, h http.Header) {
	t.context.Inject(ctx, propagation.HeaderCarrier(h))
}

// Request is the span of a public request.
type Request struct{ span trace.Span }

// Request begins a trace for a public request. One that the caller named is linked
// to it and decides nothing.
func (t *Tracer) Request(ctx context.Context, h http.Header) (context.Context, Request) {
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer)}
	if h["Traceparent"] != nil {
		theirs := trace.SpanContextFromContext(t.context.Extract(context.Background(), propagation.HeaderCarrier(h)))
		if theirs.IsValid() { // its state is of their own words
			options = append(options, trace.WithLinks(trace.Link{SpanContext: theirs.WithTraceState(trace.TraceState{})}))
		}
	}
	ctx, span := t.spans.Start(ctx, "request", options...)
	return ctx, Request{span}
}

// End ends the span. notes are the attributes of the request's log line; those of
// closed sets are taken over.
func (r Request) End(route, method string, status int, notes ...slog.Attr) {
	if r.span.IsRecording() {
		r.span.SetName(route)
		r.span.SetAttributes(attribute.String(keyMethod, method), attribute.Int(keyStatus, status))
		for _, note := range notes {
			key := attribute.Key(notePrefix + note.Key)
			switch {
			case !leaves(key):
			case note.Value.Kind() == slog.KindInt64:
				r.span.SetAttributes(key.Int64(note.Value.Int64()))
			default:
				r.span.SetAttributes(key.String(note.Value.String()))
			}
		}
		if status >= http.StatusInternalServerError {
			r.span.SetStatus(codes.Error, "")
		}
	}
	r.span.End()
}

// Pages returns next with a span for each request of a trusted caller, named after
// the pattern by which a mux in next served it.
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

// Job begins a trace for one run of a job. end ends it.
func (t *Tracer) Job(ctx context.Context, kind string) (_ context.Context, end func(outcome string, attempt int)) {
	ctx, span := t.spans.Start(ctx, "job "+kind, trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindConsumer))
	return ctx, func(outcome string, attempt int) {
		span.SetAttributes(attribute.String(keyOutcome, outcome), attribute.Int(keyAttempt, attempt))
		if outcome == "failed" || outcome == "retried" {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// Queries makes the spans of statements, within sampled traces only.
type Queries struct {
	tracer   *Tracer
	database string
}

// Queries returns what makes the spans of statements to a database of the system,
// such as postgresql.
func (t *Tracer) Queries(system string) Queries { return Queries{t, system} }

// Observe makes the span of a statement that has ended just now.
func (q Queries) Observe(ctx context.Context, operation, outcome string, d time.Duration) {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return
	}
	switch operation {
	case "select", "insert", "update", "delete", "with", "begin", "commit", "rollback":
	default:
		operation = "other"
	}
	end := time.Now()
	_, span := q.tracer.spans.Start(ctx, operation, trace.WithTimestamp(end.Add(-d)), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String(keyDatabase, q.database), attribute.String(keyOperation, operation)))
	if outcome != "ok" {
		span.SetAttributes(attribute.String(keyFailure, outcome))
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(end))
}
