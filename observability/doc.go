// Package observability is what an operator sees of Kith: numbers, logs and a
// small listener of its own to read them from. It is a leaf module: both
// processes import it, and it imports nothing of theirs.
//
//	metrics   the registry, and the collectors of HTTP, Connect, tools and database pools
//	tracing   the spans of requests, calls, statements and jobs, and where they are sent
//	logging   the logger, which keeps credentials out of the log, and request ids
//	admin     /metrics, /healthz, /readyz and the profiles, on a listener that is not public
//	status    the page of key figures there
//	parting   how a server that stops leaves its callers
//
// rules, runbooks and dashboards are for Prometheus, for whom it pages, and for Grafana;
// the dashboards are generated from internal/dashboards.
//
// metrics.md beside this file lists every kith_* metric of this module. A test
// generates it and fails when it is out of date; `go test . -update` rewrites it.
//
// It does not own what is measured or logged: the callers name their routes and
// tools, and decide what a request's log line holds.
package observability
