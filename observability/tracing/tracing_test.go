package tracing_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/kith-crm/kith/observability/tracing"
)

type environment map[string]string

func (e environment) get(name string) string { return e[name] }

func on(more ...string) environment {
	e := environment{"OTEL_TRACES_EXPORTER": "otlp"}
	for i := 0; i < len(more); i += 2 {
		e[more[i]] = more[i+1]
	}
	return e
}

// open returns a Tracer, and a function that stops it and returns the exported spans.
func open(t *testing.T, env environment) (*tracing.Tracer, func() tracetest.SpanStubs) {
	t.Helper()
	out := &kept{InMemoryExporter: tracetest.NewInMemoryExporter()}
	tracer, err := tracing.Open(t.Context(), tracing.Options{Service: "test", Version: "1", Env: env.get, Exporter: out})
	if err != nil || tracer == nil {
		t.Fatal(tracer, err)
	}
	return tracer, func() tracetest.SpanStubs {
		if err := tracer.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		return out.spans
	}
}

// kept is an exporter that keeps its spans after Shutdown.
type kept struct {
	*tracetest.InMemoryExporter
	spans tracetest.SpanStubs
}

func (k *kept) Shutdown(ctx context.Context) error {
	k.spans = k.GetSpans()
	return k.InMemoryExporter.Shutdown(ctx)
}

func TestOffByDefault(t *testing.T) {
	t.Parallel()
	for _, env := range []environment{
		{}, {"OTEL_TRACES_EXPORTER": "none"}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, on("OTEL_SDK_DISABLED", "true"),
	} {
		if tracer, err := tracing.Open(t.Context(), tracing.Options{Env: env.get}); tracer != nil || err != nil {
			t.Errorf("%v: %v %v", env, tracer, err)
		}
	}
}

func TestInvalidSettings(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]environment{
		"OTEL_TRACES_EXPORTER":               {"OTEL_TRACES_EXPORTER": "console"},
		"OTEL_TRACES_SAMPLER ":               on("OTEL_TRACES_SAMPLER", "jaeger_remote"),
		"OTEL_TRACES_SAMPLER_ARG":            on("OTEL_TRACES_SAMPLER", "traceidratio", "OTEL_TRACES_SAMPLER_ARG", "NaN"),
		"OTEL_EXPORTER_OTLP_PROTOCOL":        on("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
		"OTEL_EXPORTER_OTLP_ENDPOINT":        on("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"),
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": on("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://hunter2@collector"),
	} {
		_, err := tracing.Open(t.Context(), tracing.Options{Env: env.get})
		if err == nil || !strings.HasPrefix(err.Error(), name) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// theirs is a traceparent with the sampled flag, and an id that every ratio samples.
const theirs = "00-00000000000000010000000000000001-00000000000000aa-01"

func TestPublicCallersDoNotControlTracing(t *testing.T) {
	t.Parallel()
	header := http.Header{"Traceparent": {theirs}, "Tracestate": {"vendor=hunter2"}}
	begin := func(env environment) tracetest.SpanStubs {
		tracer, stop := open(t, env)
		_, span := tracer.Request(t.Context(), header)
		span.End("mcp", "POST", 200)
		return stop()
	}
	for _, sampler := range []string{"always_off", "parentbased_always_off"} {
		if spans := begin(on("OTEL_TRACES_SAMPLER", sampler)); len(spans) != 0 {
			t.Errorf("%s: a caller's trace was sampled: %v", sampler, spans)
		}
	}
	if spans := begin(on("OTEL_TRACES_SAMPLER", "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG", "0.000001")); len(spans) != 0 {
		t.Errorf("a caller chose an id that is sampled: %v", spans)
	}
	spans := begin(on())
	if len(spans) != 1 || spans[0].Parent.IsValid() || strings.Contains(theirs, spans[0].SpanContext.TraceID().String()) {
		t.Fatalf("it is not a new trace: %v", spans)
	}
	if links := spans[0].Links; len(links) != 1 || !strings.Contains(theirs, links[0].SpanContext.TraceID().String()) || links[0].SpanContext.TraceState().Len() > 0 {
		t.Errorf("links %+v", links)
	}
}

// TestOneTrace: a public request, its call and its statements are one trace, and no content of the
// messages is exported.
func TestOneTrace(t *testing.T) {
	t.Parallel()
	tracer, stop := open(t, on())
	interceptor, err := tracer.Interceptor()
	if err != nil {
		t.Fatal(err)
	}
	queries := tracer.Queries("sqlite")
	handler := connect.NewUnaryHandler("/kith.test.v1.Service/Call",
		func(ctx context.Context, r *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.StringValue], error) {
			queries.Observe(ctx, "select", of("connections"), "ok", time.Millisecond)
			queries.Observe(ctx, "hunter2", of(""), "failed", time.Millisecond)
			return nil, connect.NewError(connect.CodeInternal, errors.New("hunter2 "+r.Msg.GetValue()))
		}, connect.WithInterceptors(interceptor))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := tracer.Continue(r.Context(), r.Header)
		queries.Observe(ctx, "update", of("jobs"), "ok", time.Millisecond)
		handler.ServeHTTP(w, r.WithContext(ctx))
	}))
	defer server.Close()
	client := connect.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](server.Client(), server.URL+"/kith.test.v1.Service/Call",
		connect.WithInterceptors(interceptor))

	ctx, request := tracer.Request(t.Context(), http.Header{})
	_, err = client.CallUnary(ctx, connect.NewRequest(wrapperspb.String("hunter2")))
	if connect.CodeOf(err) != connect.CodeInternal {
		t.Fatal(err)
	}
	request.End("mcp", "POST", 500, slog.String("tool", "add_note"), slog.Int("items", 3), slog.String("credential", "hunter2"))

	spans := stop()
	parents := map[string]string{}
	names := map[trace.SpanID]string{}
	for _, s := range spans {
		names[s.SpanContext.SpanID()] = s.Name + " " + s.SpanKind.String()
	}
	for _, s := range spans {
		parents[names[s.SpanContext.SpanID()]] = names[s.Parent.SpanID()]
		if s.SpanContext.TraceID() != spans[0].SpanContext.TraceID() {
			t.Errorf("%s is in another trace", s.Name)
		}
	}
	const call = "kith.test.v1.Service/Call "
	for child, parent := range map[string]string{
		"mcp server": "", call + "client": "mcp server", "update jobs client": call + "client", call + "server": call + "client",
		"select connections client": call + "server", "other client": call + "server",
	} {
		if got, ok := parents[child]; !ok || got != parent {
			t.Errorf("%q is under %q, want %q", child, got, parent)
		}
	}
	text, err := json.Marshal(spans)
	if err != nil || strings.Contains(string(text), "hunter2") || strings.Contains(string(text), "127.0.0.1") {
		t.Errorf("%v: private text is exported: %s", err, text)
	}
	if !strings.Contains(string(text), "add_note") || !strings.Contains(string(text), `"kith.items"`) {
		t.Errorf("the tool or the items are missing: %s", text)
	}
}

// of returns the function of Queries.Observe for a table.
func of(table string) func() string { return func() string { return table } }

func TestStatementsOutsideTraces(t *testing.T) {
	t.Parallel()
	tracer, stop := open(t, on("OTEL_TRACES_SAMPLER", "parentbased_always_off"))
	tracer.Queries("sqlite").Observe(t.Context(), "select", of("jobs"), "ok", time.Millisecond)
	ctx, request := tracer.Request(t.Context(), http.Header{})
	tracer.Queries("sqlite").Observe(ctx, "select", of("jobs"), "ok", time.Millisecond)
	request.End("mcp", "POST", 200)
	if id := tracing.TraceID(ctx); id != "" {
		t.Errorf("a trace that is not sampled has the id %s", id)
	}
	if spans := stop(); len(spans) != 0 {
		t.Errorf("%v", spans)
	}
}

func TestPagesAndJobs(t *testing.T) {
	t.Parallel()
	tracer, stop := open(t, on())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /settings/{page}", func(http.ResponseWriter, *http.Request) {})
	pages := tracer.Pages(mux)
	for _, path := range []string{"/settings/hunter2", "/hunter2?q=hunter2"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Traceparent", theirs) // of a trusted caller
		pages.ServeHTTP(httptest.NewRecorder(), r)
	}
	ctx, request := tracer.Request(t.Context(), http.Header{})
	from := tracing.Traceparent(ctx)
	_, end := tracer.Job(t.Context(), "sweep", from)
	end("retried", 2)
	request.End("mcp", "POST", 200)
	var names []string
	for _, s := range stop() {
		names = append(names, s.Name)
		if s.Name == "job sweep" && (len(s.Links) != 1 || s.Parent.IsValid() || !strings.Contains(from, s.Links[0].SpanContext.SpanID().String())) {
			t.Errorf("the job of %q has the links %v", from, s.Links)
		}
		if s.Name != "job sweep" && s.Name != "mcp" && s.Parent.SpanID().String() != "00000000000000aa" {
			t.Errorf("%s is under %s", s.Name, s.Parent.SpanID())
		}
	}
	if got := strings.Join(names, ", "); got != "GET /settings/{page}, page, job sweep, mcp" {
		t.Errorf("got %s", got)
	}
}

// broken is a collector that is down.
type broken struct{ calls chan struct{} }

func (b broken) ExportSpans(ctx context.Context, _ []sdk.ReadOnlySpan) error {
	b.calls <- struct{}{}
	<-ctx.Done()
	return errors.New("no collector " + strings.Repeat("x", 1000))
}
func (broken) Shutdown(context.Context) error { return nil }

// TestCollectorThatIsDown: spans are still created, the failure is logged once, and Stop returns
// within flushTimeout.
func TestCollectorThatIsDown(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	env := on("OTEL_BSP_SCHEDULE_DELAY", "1")
	tracer, err := tracing.Open(t.Context(), tracing.Options{
		Env: env.get, Exporter: broken{make(chan struct{}, 1000)}, Logger: slog.New(slog.NewJSONHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 10000 { // more than the queue holds
		_, request := tracer.Request(t.Context(), http.Header{})
		request.End("mcp", "POST", 200)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := tracer.Stop(ctx); err != nil {
		t.Error(err)
	}
	if lines := strings.Count(log.String(), "\n"); lines < 1 || lines > 2 || log.Len() > 1000 {
		t.Errorf("the log has %d lines: %s", lines, log.String())
	}
}
