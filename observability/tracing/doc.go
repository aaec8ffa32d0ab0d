// Package tracing creates the spans of requests, calls, statements and jobs, and
// exports them over OTLP.
//
//	edge      request ──▶ call (otelconnect)
//	                        │ traceparent (W3C)
//	backend                 ├──▶ select, of the credential
//	                        └──▶ call (otelconnect) ──▶ begin, select, insert, commit
//	          page, job ──▶ select, update
//
// It is off by default: without OTEL_TRACES_EXPORTER, Open returns no Tracer. The
// standard OTEL_* variables set the rest.
//
// Public callers do not control tracing. Each public request starts a new trace; a
// caller's traceparent is only linked to it, because otherwise a caller could have
// every request sampled. The backend continues the traces of callers that have the
// service credential.
//
// The exporter (filter.go) removes every attribute that is not in a closed list, all
// events, and the description of a status: the message of an error may contain a
// member's text. Span names are those of routes, methods, patterns, kinds of jobs and
// operations.
//
// The global tracer provider of OpenTelemetry is not used.
package tracing
