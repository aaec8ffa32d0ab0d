package metrics

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// DBPool reports on one database connection pool whenever it is scraped.
type DBPool struct {
	stats       func() sql.DBStats
	connections *prometheus.Desc
	max         *prometheus.Desc
	waits       *prometheus.Desc
	waitSeconds *prometheus.Desc
}

var _ prometheus.Collector = (*DBPool)(nil)

// NewDBPool registers the kith_store_pool_* metrics of the pool called name with
// r. stats is the pool's sql.DB.Stats; it is called once per scrape, from any
// goroutine. Several pools can share a registry if their names differ.
//
// It fails if name is empty or not UTF-8, if stats is nil, or if r has a pool of
// that name.
func NewDBPool(r prometheus.Registerer, name string, stats func() sql.DBStats) (*DBPool, error) {
	if err := checkNames("pool", []string{name}); err != nil {
		return nil, err
	}
	if stats == nil {
		return nil, errors.New("new database pool metrics: no stats function")
	}
	desc := func(metric, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(metric, help, labels, prometheus.Labels{"pool": name})
	}
	p := &DBPool{
		stats:       stats,
		connections: desc("kith_store_pool_connections", "Open connections of a database pool, by state (in_use, idle).", "state"),
		max:         desc("kith_store_pool_max_connections", "Connections that a database pool may open; 0 is no limit."),
		waits:       desc("kith_store_pool_waits_total", "Times that a caller had to wait for a connection of a database pool."),
		waitSeconds: desc("kith_store_pool_wait_seconds_total", "Time that callers have waited for a connection of a database pool."),
	}
	if err := r.Register(p); err != nil {
		return nil, fmt.Errorf("register metrics of pool %s: %w", name, err)
	}
	return p, nil
}

// Describe implements prometheus.Collector.
func (p *DBPool) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.connections, p.max, p.waits, p.waitSeconds} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. All values of a scrape are of one moment.
func (p *DBPool) Collect(ch chan<- prometheus.Metric) {
	s := p.stats()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v)
	}
	gauge(p.connections, float64(s.InUse), "in_use")
	gauge(p.connections, float64(s.Idle), "idle")
	gauge(p.max, float64(s.MaxOpenConnections))
	counter(p.waits, float64(s.WaitCount))
	counter(p.waitSeconds, s.WaitDuration.Seconds())
}
