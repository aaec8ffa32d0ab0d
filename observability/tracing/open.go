package tracing

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options configure Open.
type Options struct {
	// Service is the name of the process, unless OTEL_SERVICE_NAME gives another.
	Service string
	// Version of the service, and the name of this process among those of the service.
	Version, Instance string
	// Env reads an environment variable; nil means os.Getenv. The exporter itself
	// reads OTEL_EXPORTER_OTLP_* from the environment.
	Env func(name string) string
	// Exporter, if set, receives the spans instead of the collector.
	Exporter sdk.SpanExporter
	// Logger logs failed exports; nil discards them.
	Logger *slog.Logger
}

// Tracer creates spans. It is safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	spans    trace.Tracer
	context  propagation.TraceContext
	logger   *slog.Logger
}

// flushTimeout bounds the export of the last spans.
const flushTimeout = 5 * time.Second

// Check returns an error for a setting in the environment that is not supported.
func Check(env func(string) string) error {
	_, err := settings(env)
	return err
}

// Open returns a Tracer, or nil if the environment does not enable traces. It does not
// connect: a collector that is down causes no error.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	sampling, err := settings(o.Env)
	if err != nil || sampling == nil {
		return nil, err
	}
	if o.Exporter == nil {
		if o.Exporter, err = otlptracehttp.New(ctx); err != nil {
			return nil, fmt.Errorf("create the exporter of traces: %w", err)
		}
	}
	res, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", o.Service), attribute.String("service.version", o.Version), attribute.String("service.instance.id", o.Instance)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithResource(res), sdk.WithSampler(sampling),
		sdk.WithBatcher(&filter{next: o.Exporter, failures: &failures{logger: o.Logger}}))
	return &Tracer{provider: provider, spans: provider.Tracer("github.com/kith-crm/kith"), logger: o.Logger}, nil
}

// Stop exports the last spans, which takes 5 s at most. It logs a failure and returns nil.
func (t *Tracer) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.logger.WarnContext(ctx, "the last traces cannot be sent", "error", shorten(err))
	}
	return nil
}

// TraceID returns the id of the sampled trace that ctx belongs to, or "".
func TraceID(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		return span.TraceID().String()
	}
	return ""
}
