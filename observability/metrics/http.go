package metrics

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// statusLimit is the first number that is no HTTP status code (RFC 9110, section 15).
const statusLimit = 600

// statusClientClosed is the status that Connect answers a cancelled call with.
// It is widely used and not registered, so net/http has no text for it.
const statusClientClosed = 499

// other is the label value of a method or a status outside the closed set.
const other = "other"

// HTTP counts the requests that a process serves.
type HTTP struct {
	inFlight prometheus.Gauge
	routes   map[string]*series // never changed after NewHTTP, so read without a lock
	statuses []string           // the closed set of status labels; the first is other
	byStatus [statusLimit]uint8 // status code → index in statuses
}

// NewHTTP registers the kith_http_* metrics with r, or joins those that r has:
// the two halves of the all-in-one program count in the same metrics, each its
// own routes. routes is the closed list of the names that requests are counted
// under, one per entry of the route table: names such as "token" or "mcp", never
// request paths.
//
// It fails if a name is empty or not UTF-8, or if r has other metrics of these names.
func NewHTTP(r prometheus.Registerer, routes []string) (*HTTP, error) {
	if err := checkNames("route", routes); err != nil {
		return nil, err
	}
	inFlight, err := register(r, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "kith_http_in_flight_requests",
		Help: "HTTP requests being served now.",
	}))
	if err != nil {
		return nil, err
	}
	m := &HTTP{inFlight: inFlight}
	m.listStatuses()
	c, err := newCalls(r, callsOptions{
		requests:     "kith_http_requests_total",
		requestsHelp: "HTTP requests answered, by route name, method and status code.",
		seconds:      "kith_http_request_duration_seconds",
		secondsHelp:  "Time from the start of an HTTP request's handling to the end of its answer.",
		labels:       []string{"route", "method", "status"},
		endings:      m.endings(),
	})
	if err != nil {
		return nil, err
	}
	m.routes = c.seriesByName(routes)
	return m, nil
}

// Enter counts a request as in flight until Leave. Each call needs its Leave,
// also when the handler panics.
func (m *HTTP) Enter() { m.inFlight.Inc() }

// Leave ends what Enter began.
func (m *HTTP) Leave() { m.inFlight.Dec() }

// Observe counts one answered request and its duration.
//
// A route that is not in the list given to NewHTTP counts as "unknown". A method
// other than GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS counts as "other".
// status is the code that was sent; 0 is a handler that wrote nothing, which
// net/http answers with 200; a code that is not registered counts as "other".
func (m *HTTP) Observe(ctx context.Context, route, method string, status int, d time.Duration) {
	s, ok := m.routes[route]
	if !ok {
		s = m.routes[unknown]
	}
	s.observe(ctx, methodIndex(method)*len(m.statuses)+m.statusIndex(status), d)
}

// listStatuses fills the closed set of status labels.
func (m *HTTP) listStatuses() {
	m.statuses = []string{other}
	for code := range statusLimit {
		if http.StatusText(code) != "" || code == statusClientClosed {
			m.byStatus[code] = uint8(len(m.statuses))
			m.statuses = append(m.statuses, strconv.Itoa(code))
		}
	}
}

// endings lists every method with every status, in the order Observe computes.
func (m *HTTP) endings() [][]string {
	var endings [][]string
	for _, method := range httpMethods() {
		for _, status := range m.statuses {
			endings = append(endings, []string{method, status})
		}
	}
	return endings
}

// statusIndex is the position of status in statuses.
func (m *HTTP) statusIndex(status int) int {
	switch {
	case status == 0:
		return int(m.byStatus[http.StatusOK])
	case status < 0 || status >= statusLimit:
		return 0
	default:
		return int(m.byStatus[status])
	}
}

// httpMethods is the closed set of method labels.
func httpMethods() []string {
	return []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
		http.MethodPatch, http.MethodDelete, http.MethodOptions, other,
	}
}

// methodIndex is the position of method in httpMethods.
func methodIndex(method string) int {
	switch method {
	case http.MethodGet:
		return 0
	case http.MethodHead:
		return 1
	case http.MethodPost:
		return 2
	case http.MethodPut:
		return 3
	case http.MethodPatch:
		return 4
	case http.MethodDelete:
		return 5
	case http.MethodOptions:
		return 6
	default:
		return 7
	}
}
