package main

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"

	"github.com/kith-crm/kith/observability/tracing"
)

// trace has the process make spans, if the environment asks for them.
func (r *process) trace(name string) error {
	// What the library says goes to the log, and nowhere else.
	words := slog.New(wordsOnly{r.logger.Handler()})
	otel.SetLogger(logr.FromSlogHandler(words.Handler()))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { words.Warn("tracing: " + err.Error()) }))
	tracer, err := tracing.Open(r.ctx, tracing.Options{Service: name, Version: r.build.Version, Logger: r.logger})
	if err != nil || tracer == nil {
		return err
	}
	r.tracer, r.registry.TraceID = tracer, tracing.TraceID
	r.onStop(tracer.Stop)
	return nil
}

// wordsOnly leaves out attributes: the library logs settings that may be secrets.
type wordsOnly struct{ slog.Handler }

// Handle implements slog.Handler.
func (w wordsOnly) Handle(ctx context.Context, r slog.Record) error {
	return w.Handler.Handle(ctx, slog.NewRecord(r.Time, r.Level, r.Message, 0))
}

// WithAttrs implements slog.Handler.
func (w wordsOnly) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler.
func (w wordsOnly) WithGroup(string) slog.Handler { return w }
