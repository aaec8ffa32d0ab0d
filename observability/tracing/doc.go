// Package tracing makes the spans of requests, calls, statements and jobs, and
// sends them to a collector by OTLP.
//
//	edge      request ──▶ call (otelconnect)
//	                        │ traceparent (W3C)
//	backend                 ├──▶ select, of the credential
//	                        └──▶ call (otelconnect) ──▶ begin, select, insert, commit
//	          page, job ──▶ select, update
//
// It is off unless OTEL_TRACES_EXPORTER says otherwise: Open then returns no
// Tracer, and nobody installs anything. The standard OTEL_* variables set the rest.
//
// Public callers decide nothing. A request begins a trace of its own, whose id and
// sampling are ours, and a caller's traceparent is only linked to it: by an id of
// their choice they could have every request of theirs sampled. The backend
// continues the traces of callers that hold the service credential.
//
// What leaves is cleaned at one place, the exporter (clean.go): attributes of a
// closed list, no events, and no words with a status, since an error's message may
// hold what a member wrote. Names are those of routes, methods, patterns, kinds of
// jobs and operations.
//
// The globals of OpenTelemetry are not used.
package tracing
