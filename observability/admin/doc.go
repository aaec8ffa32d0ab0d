// Package admin serves operators and their tools:
//
//	/status         what is wrong, and the key figures of the last hour, as a page
//	/metrics        the metrics, for Prometheus
//	/healthz        200 while the process answers; if it does not, restart it
//	/readyz         200 while the process can serve; otherwise send it no traffic
//	/debug/pprof/   the profiles of net/http/pprof
//	/               a page that links to these
//
// There is no authentication: the operator binds the listener to an address that is not
// reachable from outside. Requests for another host are refused, so that no web page can
// read the listener through an operator's browser (DNS rebinding). Profiles show memory
// and the command line: they are served on loopback addresses, and elsewhere only if
// enabled. The server's WriteTimeout must be 0 or longer than a CPU profile (30 s by
// default).
//
// Importing net/http/pprof also mounts the profiles on http.DefaultServeMux, which Kith
// does not serve.
package admin
