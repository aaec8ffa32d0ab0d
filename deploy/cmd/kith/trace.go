package main

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"

	"github.com/kith-crm/kith/observability/tracing"
)

// trace sets up tracing if the environment enables it.
func (r *process) trace(name string) error {
	// OpenTelemetry's own messages go to the process's log, and nowhere else.
	messages := slog.New(messageOnly{r.logger.Handler()})
	otel.SetLogger(logr.FromSlogHandler(messages.Handler()))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { messages.Warn("tracing: " + err.Error()) }))
	tracer, err := tracing.Open(r.ctx, tracing.Options{Service: name, Version: r.build.Version, Instance: r.settings.Instance, Logger: r.logger})
	if err != nil || tracer == nil {
		return err
	}
	r.tracer, r.registry.TraceID = tracer, tracing.TraceID
	r.onStop(tracer.Stop)
	return nil
}

// messageOnly drops attributes, because the library logs settings that may be secrets.
type messageOnly struct{ slog.Handler }

// Handle implements slog.Handler.
func (m messageOnly) Handle(ctx context.Context, r slog.Record) error {
	return m.Handler.Handle(ctx, slog.NewRecord(r.Time, r.Level, r.Message, 0))
}

// WithAttrs implements slog.Handler.
func (m messageOnly) WithAttrs([]slog.Attr) slog.Handler { return m }

// WithGroup implements slog.Handler.
func (m messageOnly) WithGroup(string) slog.Handler { return m }
