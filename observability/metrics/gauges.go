package metrics

import (
	"context"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Gauge is a gauge that is read at each scrape.
type Gauge struct {
	Help string
	// Value is called once per scrape, from any goroutine.
	Value func() float64
}

// NewGauges registers gauges by their names. It fails if r has one of them.
func NewGauges(r prometheus.Registerer, gauges map[string]Gauge) error {
	for name, g := range gauges {
		if err := r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: g.Help}, g.Value)); err != nil {
			return err
		}
	}
	return nil
}

// NewSandbox registers kith_sandbox_age_seconds with r. day returns the start of the day that the
// demo account was seeded for, the zero time before it was seeded.
func NewSandbox(r prometheus.Registerer, day func() time.Time) error {
	return NewGauges(r, map[string]Gauge{"kith_sandbox_age_seconds": {
		Help: "Time since the start of the day that the demo account was seeded for; above 24 h it is stale.",
		Value: func() float64 {
			if d := day(); !d.IsZero() {
				return time.Since(d).Seconds()
			}
			return 0
		},
	}})
}

// NewCertificate registers the gauge of the expiry of certificates with r, or adds a
// certificate to it. use is the purpose of the certificate, from a closed set.
func NewCertificate(r prometheus.Registerer, use string, notAfter time.Time) error {
	if err := checkNames("certificate", []string{use}); err != nil {
		return err
	}
	vec, err := register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "kith_tls_certificate_expiry_timestamp_seconds", Help: "When a certificate of this process expires, by use (edge, backend, backend_client).",
	}, []string{"use"}))
	if err != nil {
		return err
	}
	vec.WithLabelValues(use).Set(float64(notAfter.Unix()))
	return nil
}

// pingTimeout bounds one check of the database.
const pingTimeout = 2 * time.Second

// NewStoreUp registers kith_store_up with r. ping is called once per scrape.
func NewStoreUp(r prometheus.Registerer, ping func(context.Context) error) error {
	return NewGauges(r, map[string]Gauge{"kith_store_up": {
		Help: "1 while the database can be reached and written, 0 while it cannot.",
		Value: func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
			defer cancel()
			if ping(ctx) != nil {
				return 0
			}
			return 1
		},
	}})
}

// NewDisk registers the metrics of a database file: of its file system, of its write-ahead log, and
// whether the last check found it damaged.
func NewDisk(r prometheus.Registerer, file string, logSize func() int64, damaged func() bool) error {
	folder := filepath.Dir(file)
	bytes := func(blocks func(*syscall.Statfs_t) uint64) func() float64 {
		return func() float64 {
			var fs syscall.Statfs_t
			if syscall.Statfs(folder, &fs) != nil {
				return 0
			}
			return float64(blocks(&fs)) * float64(fs.Bsize)
		}
	}
	return NewGauges(r, map[string]Gauge{
		"kith_store_log_bytes": {
			Help:  "Size of the write-ahead log of the database file; only with SQLite.",
			Value: func() float64 { return float64(logSize()) },
		},
		"kith_store_damaged": {
			Help: "1 after the daily check found the database file damaged; only with SQLite.",
			Value: func() float64 {
				if damaged() {
					return 1
				}
				return 0
			},
		},
		"kith_store_disk_free_bytes": {
			Help:  "Free bytes of the file system of the database file; only with SQLite.",
			Value: bytes(func(fs *syscall.Statfs_t) uint64 { return fs.Bavail }),
		},
		"kith_store_disk_size_bytes": {
			Help:  "Size of the file system of the database file; only with SQLite.",
			Value: bytes(func(fs *syscall.Statfs_t) uint64 { return fs.Blocks }),
		},
	})
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
	return NewGauges(r, map[string]Gauge{
		"kith_search_indexes":      {"Members whose search index is in memory.", members(indexes)},
		"kith_search_index_bytes":  {"Memory of the search indexes.", bytes(indexes)},
		"kith_search_vector_sets":  {"Members whose vectors are in memory.", members(vectors)},
		"kith_search_vector_bytes": {"Memory of the vectors.", bytes(vectors)},
	})
}
