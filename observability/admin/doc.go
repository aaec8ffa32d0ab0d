// Package admin serves what operators and their machines read from a process:
//
//	/status         the key figures of the last hour, for people
//	/metrics        the metrics, for Prometheus
//	/healthz        200 while the process answers at all: restart it if not
//	/readyz         200 while it can serve: send it no traffic if not
//	/debug/pprof/   the profiles of net/http/pprof
//	/               a list of these
//
// It authenticates nobody. The listener must not be reachable from outside; who binds
// it decides that. Requests for another host are refused, so that no web page can read
// it through an operator's browser. Profiles show memory and the command line: they
// are served on loopback addresses, elsewhere only when they are switched on. The
// server needs a WriteTimeout of 0 or above the length of a CPU profile (30 s by
// default).
//
// Importing net/http/pprof also mounts the profiles on http.DefaultServeMux;
// nothing of Kith serves that one.
package admin
