package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// The attributes that are exported; otelconnect sets those of RPC. Their values are
// numbers, or are from closed sets.
const (
	keyMethod    = "http.request.method"
	keyStatus    = "http.response.status_code"
	keyDatabase  = "db.system.name"
	keyOperation = "db.operation.name"
	keyTable     = "db.collection.name"
	keyFailure   = "error.type"
	keyOutcome   = "kith.outcome"
	keyAttempt   = "kith.job.attempt"
	logPrefix    = "kith." // attributes of the log line
)

// allowed reports whether an attribute is exported.
func allowed(key attribute.Key) bool {
	switch key {
	case keyMethod, keyStatus, keyDatabase, keyOperation, keyTable, keyFailure, keyOutcome, keyAttempt,
		"kith.tool", "kith.rpc", "kith.items", "kith.principal", "kith.backend",
		"rpc.system.name", "rpc.method", "rpc.response.status_code":
		return true
	default:
		return false
	}
}

// filter is an exporter that removes all attributes that are not allowed. It logs
// failures and does not return them.
type filter struct {
	next     sdk.SpanExporter
	failures *failures
}

// ExportSpans implements sdk.SpanExporter.
func (f *filter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	out := make([]sdk.ReadOnlySpan, len(spans))
	for i, span := range spans {
		out[i] = newFilteredSpan(span)
	}
	if err := f.next.ExportSpans(ctx, out); err != nil {
		f.failures.log(ctx, err)
	}
	return nil
}

// Shutdown implements sdk.SpanExporter.
func (f *filter) Shutdown(ctx context.Context) error { return f.next.Shutdown(ctx) }

// filteredSpan is a span without events, without the status description, and with the
// allowed attributes only. Error messages may contain a member's text.
type filteredSpan struct {
	sdk.ReadOnlySpan

	attributes []attribute.KeyValue
}

func newFilteredSpan(span sdk.ReadOnlySpan) filteredSpan {
	f := filteredSpan{ReadOnlySpan: span}
	for _, a := range span.Attributes() {
		if allowed(a.Key) {
			f.attributes = append(f.attributes, a)
		}
	}
	return f
}

// Attributes implements sdk.ReadOnlySpan.
func (f filteredSpan) Attributes() []attribute.KeyValue { return f.attributes }

// Events implements sdk.ReadOnlySpan.
func (f filteredSpan) Events() []sdk.Event { return nil }

// Status implements sdk.ReadOnlySpan.
func (f filteredSpan) Status() sdk.Status { return sdk.Status{Code: f.ReadOnlySpan.Status().Code} }
