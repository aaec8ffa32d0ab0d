package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// RateLimits counts what the rate policies decided.
type RateLimits struct {
	hits     counts
	fallback prometheus.Gauge
}

// NewRateLimits registers the kith_rate_limit_* metrics with r, or joins those
// that r has. policies is the closed list of their names.
func NewRateLimits(r prometheus.Registerer, policies []string) (*RateLimits, error) {
	hits, err := newCounts(r, "kith_rate_limit_hits_total", "Requests and batch items counted under a rate policy, by policy and outcome (admitted, refused).",
		[2]string{"policy", "outcome"}, policies, []string{"admitted", "refused"})
	if err != nil {
		return nil, err
	}
	fallback, err := register(r, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "kith_rate_limit_fallback", Help: "1 while the edge counts rate limits by itself because Redis does not answer.",
	}))
	return &RateLimits{hits: hits, fallback: fallback}, err
}

// Observe counts a decision.
func (m *RateLimits) Observe(policy string, admitted, refused int) {
	m.hits.of(policy, "admitted").Add(float64(admitted))
	m.hits.of(policy, "refused").Add(float64(refused))
}

// Fallback tells whether the edge counts by itself.
func (m *RateLimits) Fallback(active bool) {
	if active {
		m.fallback.Set(1)
	} else {
		m.fallback.Set(0)
	}
}

// Gate is what NewGate reports on.
type Gate interface {
	// Bound is how many requests may be worked on at the moment, Refused how many
	// were not admitted so far.
	Bound() int64
	Refused() int64
}

// NewGate registers the metrics of the bound on requests that are worked on at
// once. It fails if r has them already.
func NewGate(r prometheus.Registerer, g Gate) error {
	for _, c := range []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "kith_http_in_flight_bound", Help: "HTTP requests that may be worked on at once at the moment; it falls while processors are short.",
		}, func() float64 { return float64(g.Bound()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "kith_http_shed_total", Help: "HTTP requests answered 503 because too many others were in flight.",
		}, func() float64 { return float64(g.Refused()) }),
	} {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// Batches counts what batches hold.
type Batches struct {
	items    prometheus.Histogram
	statuses *prometheus.CounterVec
}

// NewBatches registers the kith_batch_* metrics with r, or joins those that r has.
func NewBatches(r prometheus.Registerer) (*Batches, error) {
	items, err := register(r, prometheus.NewHistogram(histogram(
		"kith_batch_items", "Items of each batch request with a valid envelope.", []float64{1, 2, 5, 10, 15, 20})))
	if err != nil {
		return nil, err
	}
	statuses, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kith_batch_items_total", Help: "Batch items answered, by their own status code.",
	}, []string{"status"}))
	return &Batches{items: items, statuses: statuses}, err
}

// Observe counts a batch: how many of its items were answered with which status.
func (m *Batches) Observe(statuses map[int]int) {
	total := 0
	for status, n := range statuses {
		total += n
		if status < 100 || status > 599 {
			status = 0
		}
		m.statuses.WithLabelValues(strconv.Itoa(status)).Add(float64(n))
	}
	m.items.Observe(float64(total))
}

// Backend counts the requests that the edge makes to the backend.
type Backend struct{ requests map[string]prometheus.Counter }

// Outcomes of requests to the backend.
const (
	BackendAnswered    = "answered"
	BackendUnreachable = "unreachable"
	BackendAbandoned   = "abandoned"
)

// NewBackend registers kith_backend_requests_total with r, or joins it.
func NewBackend(r prometheus.Registerer) (*Backend, error) {
	vec, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kith_backend_requests_total",
		Help: "HTTP requests of the edge to the backend, by outcome (answered, unreachable, abandoned by the caller).",
	}, []string{"outcome"}))
	if err != nil {
		return nil, err
	}
	m := &Backend{requests: map[string]prometheus.Counter{}}
	for _, outcome := range []string{BackendAnswered, BackendUnreachable, BackendAbandoned} {
		m.requests[outcome] = vec.WithLabelValues(outcome)
	}
	return m, nil
}

// Observe counts a request. An outcome that is none of the constants counts as unreachable.
func (m *Backend) Observe(outcome string) {
	counter, ok := m.requests[outcome]
	if !ok {
		counter = m.requests[BackendUnreachable]
	}
	counter.Inc()
}
