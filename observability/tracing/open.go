package tracing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options say who traces.
type Options struct {
	// Service is the name of the process, unless OTEL_SERVICE_NAME gives another.
	Service string
	// Version of the service.
	Version string
	// Env reads a variable; os.Getenv if nil. The exporter reads its own,
	// OTEL_EXPORTER_OTLP_*, from the environment itself.
	Env func(name string) string
	// Exporter, if set, takes the spans in place of the collector.
	Exporter sdk.SpanExporter
	// Logger is told when spans cannot be sent; nil discards it.
	Logger *slog.Logger
}

// Tracer makes spans. It is safe for concurrent use.
type Tracer struct {
	provider *sdk.TracerProvider
	spans    trace.Tracer
	context  propagation.TraceContext
	logger   *slog.Logger
}

// flushTime bounds the sending of the last spans.
const flushTime = 5 * time.Second

// On tells whether the environment asks for traces. The error says what in it
// cannot be.
func On(env func(name string) string) (bool, error) {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	switch exporter := env("OTEL_TRACES_EXPORTER"); exporter {
	case "", "none":
		return false, nil
	case "otlp":
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER %q is not supported: it is otlp, or none", exporter)
	}
	_, err := sampler(env)
	return true, errors.Join(checkExporter(env), err)
}

// Open returns a Tracer, or nil when the environment asks for none. It does not
// connect: a collector that is down fails nothing.
func Open(ctx context.Context, o Options) (*Tracer, error) {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	on, err := On(o.Env)
	if err != nil || !on {
		return nil, err
	}
	sampling, err := sampler(o.Env)
	if err != nil {
		return nil, err
	}
	if o.Exporter == nil {
		if o.Exporter, err = otlptracehttp.New(ctx); err != nil {
			return nil, fmt.Errorf("the exporter of traces cannot be made: %w", err)
		}
	}
	who, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", o.Service), attribute.String("service.version", o.Version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES cannot be read: %w", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithResource(who), sdk.WithSampler(sampling),
		sdk.WithBatcher(&cleaner{next: o.Exporter, complain: newComplaints(o.Logger).hear}))
	return &Tracer{provider: provider, spans: provider.Tracer("github.com/kith-crm/kith"), logger: o.Logger}, nil
}

// Stop sends what was not sent yet, for a moment at most. That it could not be sent
// is no failure of the service's.
func (t *Tracer) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.logger.WarnContext(ctx, "the last traces were not sent", "error", shorten(err))
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
