// Package observability provides the telemetry of Kith: metrics, traces, logs, and a private
// listener for operators. Backend and edge import this module; it imports neither.
//
//	metrics   the registry, and the collectors of HTTP, Connect, tools, jobs and the database
//	tracing   the spans of requests, calls, statements and jobs, and their export
//	logging   the logger, which keeps credentials out of the log, and request ids
//	admin     /metrics, /healthz, /readyz, /status and the profiles, on a private listener
//	status    the /status page
//	shutdown  draining of an HTTP server that stops
//
// rules (Prometheus), runbooks (one page per alert) and dashboards (Grafana) are files. A panel
// uses recording rules where they exist, shows no data of a single tenant, and links to the
// runbook or page that says what to do.
//
// metrics.md lists every kith_* metric of this module. A test generates it and fails
// when it is out of date; `go test . -update` rewrites it.
//
// This module does not decide what is measured or logged: callers name their routes and
// tools, and choose the attributes of a request's log line.
package observability
