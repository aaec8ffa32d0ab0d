package metrics

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/kith-crm/kith/observability/disk"
	"github.com/prometheus/client_golang/prometheus"
)

// newGauge registers a gauge. value is called once per scrape, from any goroutine.
func newGauge(r prometheus.Registerer, name, help string, value func() float64) error {
	return r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}

// truth is the value of a gauge that is 1 while something holds.
func truth(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// NewSandbox registers kith_sandbox_age_seconds with r. day returns the start of the day that the
// demo account was seeded for, the zero time before it was seeded.
func NewSandbox(r prometheus.Registerer, day func() time.Time) error {
	return newGauge(r, "kith_sandbox_age_seconds", "Time since the start of the day that the demo account was seeded for; above 24 h it is stale.", func() float64 {
		if d := day(); !d.IsZero() {
			return time.Since(d).Seconds()
		}
		return 0
	})
}

// NewCertificate registers the gauge of the expiry of a certificate with r. use is the purpose of the certificate, from a
// closed set, and notAfter when the one in use now expires.
func NewCertificate(r prometheus.Registerer, use string, notAfter func() time.Time) error {
	if _, err := namesOf([]label{closed("use", "", use)}); err != nil {
		return err
	}
	return r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "kith_tls_certificate_expiry_timestamp_seconds", Help: "When a certificate of this process expires, by use (edge, backend, backend_client).",
		ConstLabels: prometheus.Labels{"use": use},
	}, func() float64 { return float64(notAfter().Unix()) }))
}

// pingTimeout bounds one check of the database.
const pingTimeout = 2 * time.Second

// NewStoreUp registers kith_store_up with r. ping is called once per scrape.
func NewStoreUp(r prometheus.Registerer, ping func(context.Context) error) error {
	return newGauge(r, "kith_store_up", "1 while the database can be reached and written, 0 while it cannot.", func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
		defer cancel()
		return truth(ping(ctx) == nil)
	})
}

// ages reports how long ago something happened to the database. While read fails, they continue from what it last
// returned.
type ages struct {
	read          func(context.Context) (backup, sweep time.Time, err error)
	backup, sweep *prometheus.Desc

	mu                  sync.Mutex
	backedUpAt, sweptAt time.Time
}

// NewAges registers the gauges kith_store_backup_age_seconds and kith_store_sweep_age_seconds with r. read returns the
// times of the last backup and the last sweep; it is called at each scrape.
func NewAges(r prometheus.Registerer, read func(context.Context) (backup, sweep time.Time, err error)) error {
	return r.Register(&ages{
		read: read,
		backup: prometheus.NewDesc("kith_store_backup_age_seconds",
			"Time since the last backup that the database knows of; if there is none, since the database was made.", nil, nil),
		sweep: prometheus.NewDesc("kith_store_sweep_age_seconds",
			"Time since expired rows were last deleted, which happens each hour; if they never were, since the database was made.", nil, nil),
	})
}

// Describe implements prometheus.Collector.
func (a *ages) Describe(descs chan<- *prometheus.Desc) {
	descs <- a.backup
	descs <- a.sweep
}

// Collect implements prometheus.Collector.
func (a *ages) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	a.mu.Lock()
	defer a.mu.Unlock()
	if backup, sweep, err := a.read(ctx); err == nil {
		a.backedUpAt, a.sweptAt = backup, sweep
	}
	if a.sweptAt.IsZero() {
		return
	}
	all <- prometheus.MustNewConstMetric(a.backup, prometheus.GaugeValue, max(0, time.Since(a.backedUpAt).Seconds()))
	all <- prometheus.MustNewConstMetric(a.sweep, prometheus.GaugeValue, max(0, time.Since(a.sweptAt).Seconds()))
}

// Due is the state of work that is due for each member at times of its own, such as reading their calendars.
type Due struct {
	// Overdue is how long the one that is due the longest has been due; 0 if none is.
	Overdue time.Duration
	// Failing is how many failed at their last try.
	Failing int
}

// due reports the state of such work at each scrape. If read fails, it reports nothing.
type due struct {
	read             func(context.Context) (Due, error)
	overdue, failing *prometheus.Desc
}

// NewSources registers the gauges kith_source_overdue_seconds and kith_sources_failing with r. read is called at each scrape.
func NewSources(r prometheus.Registerer, read func(context.Context) (Due, error)) error {
	return r.Register(&due{
		read:    read,
		overdue: prometheus.NewDesc("kith_source_overdue_seconds", "How long the source that is due the longest, such as a calendar, has waited to be read; 0 if none is due.", nil, nil),
		failing: prometheus.NewDesc("kith_sources_failing", "Sources that could not be read at the last try.", nil, nil),
	})
}

// NewDigests registers the gauges kith_digest_overdue_seconds and kith_digests_failing with r. read is called at each scrape.
func NewDigests(r prometheus.Registerer, read func(context.Context) (Due, error)) error {
	return r.Register(&due{
		read:    read,
		overdue: prometheus.NewDesc("kith_digest_overdue_seconds", "How long the digest that is due the longest has waited to be sent; 0 if none is due.", nil, nil),
		failing: prometheus.NewDesc("kith_digests_failing", "Members whose digest could not be sent at the last try.", nil, nil),
	})
}

// Describe implements prometheus.Collector.
func (d *due) Describe(descs chan<- *prometheus.Desc) {
	descs <- d.overdue
	descs <- d.failing
}

// Collect implements prometheus.Collector.
func (d *due) Collect(all chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
	defer cancel()
	now, err := d.read(ctx)
	if err != nil {
		return // kith_store_up reports the outage
	}
	all <- prometheus.MustNewConstMetric(d.overdue, prometheus.GaugeValue, max(0, now.Overdue.Seconds()))
	all <- prometheus.MustNewConstMetric(d.failing, prometheus.GaugeValue, float64(now.Failing))
}

// NewDisk registers the metrics of a database file: of its file system, of its write-ahead log, and
// whether the last check found it damaged.
func NewDisk(r prometheus.Registerer, file string, logSize func() int64, damaged func() bool) error {
	folder := filepath.Dir(file)
	free := func() float64 { bytes, _, _ := disk.Space(folder); return float64(bytes) } // 0 if it cannot be read
	size := func() float64 { _, bytes, _ := disk.Space(folder); return float64(bytes) }
	return errors.Join(
		newGauge(r, "kith_store_log_bytes", "Size of the write-ahead log of the database file; only with SQLite.", func() float64 { return float64(logSize()) }),
		newGauge(r, "kith_store_damaged", "1 after the daily check found the database file damaged; only with SQLite.", func() float64 { return truth(damaged()) }),
		newGauge(r, "kith_store_disk_free_bytes", "Free bytes of the file system of the database file; only with SQLite.", free),
		newGauge(r, "kith_store_disk_size_bytes", "Size of the file system of the database file; only with SQLite.", size),
	)
}

// NewSearch registers gauges of the memory that searches use. indexes and vectors return the number
// of members whose index or vectors are in memory, and their size in bytes.
func NewSearch(r prometheus.Registerer, indexes, vectors func() (members int, bytes int64)) error {
	members := func(kept func() (int, int64)) func() float64 {
		return func() float64 { n, _ := kept(); return float64(n) }
	}
	bytes := func(kept func() (int, int64)) func() float64 {
		return func() float64 { _, n := kept(); return float64(n) }
	}
	return errors.Join(
		newGauge(r, "kith_search_indexes", "Members whose search index is in memory.", members(indexes)),
		newGauge(r, "kith_search_index_bytes", "Memory of the search indexes.", bytes(indexes)),
		newGauge(r, "kith_search_vector_sets", "Members whose vectors are in memory.", members(vectors)),
		newGauge(r, "kith_search_vector_bytes", "Memory of the vectors.", bytes(vectors)),
	)
}
