package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// RateLimits counts the decisions of the rate policies.
type RateLimits struct {
	hits     counts
	fallback prometheus.Gauge
}

// NewRateLimits registers the kith_rate_limit_* metrics with r, or joins those
// that r has. policies is the closed set of their names.
func NewRateLimits(r prometheus.Registerer, policies []string) (*RateLimits, error) {
	hits, err := newCounts(r, "kith_rate_limit_hits_total", "Requests and batch items counted under a rate policy, by policy and outcome (admitted, refused).",
		closed("policy", unknown, policies...), closed("outcome", unknown, "admitted", "refused"))
	if err != nil {
		return nil, err
	}
	fallback, err := register(r, prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "kith_rate_limit_fallback", Help: "1 while the edge counts rate limits by itself because Redis does not answer.",
	}))
	return &RateLimits{hits: hits, fallback: fallback}, err
}

// Observe counts requests and batch items under a policy.
func (m *RateLimits) Observe(policy string, admitted, refused int) {
	m.hits.of(policy, "admitted").Add(float64(admitted))
	m.hits.of(policy, "refused").Add(float64(refused))
}

// Fallback sets whether the edge counts by itself because Redis does not answer.
func (m *RateLimits) Fallback(active bool) {
	m.fallback.Set(truth(active))
}

// NewConcurrencyLimit registers the metrics of the limit on requests in flight. limit
// returns its current value, shed how many requests were refused so far. It fails if r
// already has the metrics.
func NewConcurrencyLimit(r prometheus.Registerer, limit, shed func() int64) error {
	if err := newGauge(r, "kith_http_in_flight_limit", "HTTP requests that may be in flight at once; the limit falls while requests wait for a processor.",
		func() float64 { return float64(limit()) }); err != nil {
		return err
	}
	return r.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "kith_http_shed_total", Help: "HTTP requests answered 503 because too many others were in flight.",
	}, func() float64 { return float64(shed()) }))
}

// Batches counts batch requests and their items.
type Batches struct {
	items    prometheus.Histogram
	statuses *prometheus.CounterVec
}

// NewBatches registers the kith_batch_* metrics with r, or joins those that r has.
func NewBatches(r prometheus.Registerer) (*Batches, error) {
	items, err := register(r, prometheus.NewHistogram(histogram(
		"kith_batch_items", "Number of items in each batch request that could be read.", 1, 2, 5, 10, 15, 20)))
	if err != nil {
		return nil, err
	}
	statuses, err := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kith_batch_items_total", Help: "Batch items answered, by their own status code.",
	}, []string{"status"}))
	return &Batches{items: items, statuses: statuses}, err
}

// Observe counts a batch. statuses has the number of its items by status code.
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
