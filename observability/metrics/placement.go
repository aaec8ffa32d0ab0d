package metrics

import "github.com/prometheus/client_golang/prometheus"

// BackendState is the state of one backend as the edge sees it.
type BackendState struct {
	// Backend is its address, host:port.
	Backend string
	// Up is false while the edge leaves it out.
	Up bool
	// Calls are those that were sent to it. Fallbacks are those of its members that another backend
	// answered.
	Calls, Fallbacks int64
}

// placement reads the state of the backends at each scrape. The label has the addresses of the
// present backends only, so that addresses of processes that are gone are not kept.
type placement struct {
	states               func() []BackendState
	up, calls, fallbacks *prometheus.Desc
}

// NewPlacement registers the metrics of the edge's backends with r; it fails if r has them. states
// is called once per scrape, from any goroutine.
func NewPlacement(r prometheus.Registerer, states func() []BackendState) error {
	describe := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"backend"}, nil)
	}
	return r.Register(&placement{
		states:    states,
		up:        describe("kith_placement_backend_up", "1 while the edge sends calls to this backend, 0 while it does not."),
		calls:     describe("kith_placement_calls_total", "HTTP requests that the edge sent to this backend."),
		fallbacks: describe("kith_placement_fallbacks_total", "HTTP requests for members of this backend that another backend answered."),
	})
}

// Describe implements prometheus.Collector.
func (p *placement) Describe(ch chan<- *prometheus.Desc) {
	ch <- p.up
	ch <- p.calls
	ch <- p.fallbacks
}

// Collect implements prometheus.Collector.
func (p *placement) Collect(ch chan<- prometheus.Metric) {
	for _, s := range p.states() {
		ch <- prometheus.MustNewConstMetric(p.up, prometheus.GaugeValue, truth(s.Up), s.Backend)
		ch <- prometheus.MustNewConstMetric(p.calls, prometheus.CounterValue, float64(s.Calls), s.Backend)
		ch <- prometheus.MustNewConstMetric(p.fallbacks, prometheus.CounterValue, float64(s.Fallbacks), s.Backend)
	}
}
