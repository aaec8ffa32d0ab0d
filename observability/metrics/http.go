package metrics

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// statusClientClosed is the status with which Connect answers a cancelled call. It is
// widely used and not registered, so net/http has no text for it.
const statusClientClosed = 499

// other is the label value of a method or a status outside the closed set.
const other = "other"

// HTTP counts the requests that a process serves.
type HTTP struct {
	inFlight prometheus.Gauge
	calls    *calls
	statuses map[int]string // the label value of each registered status code
}

// NewHTTP registers the kith_http_* metrics with r, or joins those that r has: in the
// all-in-one program both halves count in the same metrics, each its own routes. routes
// is the closed set of the names of routes, such as "token" or "mcp", never request
// paths.
//
// It fails if a name is empty or not UTF-8, or if r has other metrics of these names.
func NewHTTP(r prometheus.Registerer, routes []string) (*HTTP, error) {
	inFlight, err := register(r, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "kith_http_in_flight_requests",
		Help: "HTTP requests being served now.",
	}))
	if err != nil {
		return nil, err
	}
	c, err := newCalls(r, callsOptions{
		requests:     "kith_http_requests_total",
		requestsHelp: "HTTP requests answered, by route name, method and status code.",
		seconds:      "kith_http_request_duration_seconds",
		secondsHelp:  "Time from the start of an HTTP request's handling to the end of its answer, without that which get_job waited for a job.",
		labels: []label{
			closed("route", unknown, routes...),
			closed("method", other, http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions),
			{name: "status"},
		},
	})
	return &HTTP{inFlight: inFlight, calls: c, statuses: statuses()}, err
}

// Enter counts a request as in flight until Leave. Call Leave once for each Enter, also
// when the handler panics.
func (m *HTTP) Enter() { m.inFlight.Inc() }

// Leave ends the request that Enter counted.
func (m *HTTP) Leave() { m.inFlight.Dec() }

// Observe counts one answered request and its duration.
//
// A route that is not in the list given to NewHTTP counts as "unknown". A method
// other than GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS counts as "other".
// status is the code that was sent; 0 is a handler that wrote nothing, which
// net/http answers with 200; a code that is not registered counts as "other".
func (m *HTTP) Observe(ctx context.Context, route, method string, status int, d time.Duration) {
	code, ok := m.statuses[status]
	if !ok {
		code = other
	}
	m.calls.observe(ctx, d, route, method, code)
}

// statuses returns the closed set of status labels.
func statuses() map[int]string {
	labels := map[int]string{0: "200", statusClientClosed: strconv.Itoa(statusClientClosed)}
	for code := 100; code < 600; code++ {
		if http.StatusText(code) != "" {
			labels[code] = strconv.Itoa(code)
		}
	}
	return labels
}
