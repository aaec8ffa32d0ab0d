package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// The attributes that leave the process; otelconnect sets those of RPC. Each has
// values of a closed set, or a number.
const (
	keyMethod    = "http.request.method"
	keyStatus    = "http.response.status_code"
	keyDatabase  = "db.system.name"
	keyOperation = "db.operation.name"
	keyFailure   = "error.type"
	keyOutcome   = "kith.outcome"
	keyAttempt   = "kith.job.attempt"
	notePrefix   = "kith."
)

// leaves tells whether an attribute may leave the process.
func leaves(key attribute.Key) bool {
	switch key {
	case keyMethod, keyStatus, keyDatabase, keyOperation, keyFailure, keyOutcome, keyAttempt,
		"kith.tool", "kith.rpc", "kith.items", "kith.principal",
		"rpc.system.name", "rpc.method", "rpc.response.status_code":
		return true
	default:
		return false
	}
}

// cleaner is an exporter that lets nothing out but what is in the closed list, and
// keeps failures to itself.
type cleaner struct {
	next     sdk.SpanExporter
	complain func(error)
}

// ExportSpans implements sdk.SpanExporter.
func (c *cleaner) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	out := make([]sdk.ReadOnlySpan, len(spans))
	for i, span := range spans {
		out[i] = clean(span)
	}
	if err := c.next.ExportSpans(ctx, out); err != nil {
		c.complain(err)
	}
	return nil
}

// Shutdown implements sdk.SpanExporter.
func (c *cleaner) Shutdown(ctx context.Context) error { return c.next.Shutdown(ctx) }

// cleaned is a span without what its maker should not have told.
type cleaned struct {
	sdk.ReadOnlySpan

	attributes []attribute.KeyValue
}

func clean(span sdk.ReadOnlySpan) cleaned {
	c := cleaned{ReadOnlySpan: span}
	for _, a := range span.Attributes() {
		if leaves(a.Key) {
			c.attributes = append(c.attributes, a)
		}
	}
	return c
}

// Attributes implements sdk.ReadOnlySpan.
func (c cleaned) Attributes() []attribute.KeyValue { return c.attributes }

// Events implements sdk.ReadOnlySpan.
func (c cleaned) Events() []sdk.Event { return nil }

// Status implements sdk.ReadOnlySpan, without the message of an error.
func (c cleaned) Status() sdk.Status { return sdk.Status{Code: c.ReadOnlySpan.Status().Code} }
