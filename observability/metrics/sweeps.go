package metrics

import "github.com/prometheus/client_golang/prometheus"

// Sweeps counts what sweeps deleted.
type Sweeps struct{ rows, purges prometheus.Counter }

// NewSweeps registers the kith_sweep_* metrics with r, or joins them.
func NewSweeps(r prometheus.Registerer) (*Sweeps, error) {
	rows, err := register(r, prometheus.NewCounter(prometheus.CounterOpts{Name: "kith_sweep_rows_total", Help: "Expired rows that sweeps deleted, such as sessions, tokens and keys."}))
	if err != nil {
		return nil, err
	}
	purges, err := register(r, prometheus.NewCounter(prometheus.CounterOpts{Name: "kith_sweep_purges_total", Help: "Deletions of people that became permanent after 30 days in the bin."}))
	return &Sweeps{rows: rows, purges: purges}, err
}

// Observe counts a sweep. A nil Sweeps counts nothing.
func (m *Sweeps) Observe(rows, purges int64) {
	if m != nil {
		m.rows.Add(float64(rows))
		m.purges.Add(float64(purges))
	}
}
