package metrics

import (
	"context"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Queries counts the statements that go to the database.
type Queries struct {
	operations map[string]*series
	outcomes   map[string]int
}

// Outcomes of statements.
const (
	QueryOK          = "ok"
	QueryConflict    = "conflict"
	QueryUnavailable = "unavailable"
	QueryFailed      = "failed"
	QueryAbandoned   = "abandoned"
)

func queryOperations() []string {
	return []string{"select", "insert", "update", "delete", "with", "begin", "commit", "rollback"}
}

// NewQueries registers the kith_store_quer* metrics with r, or joins those that r has.
func NewQueries(r prometheus.Registerer) (*Queries, error) {
	m := &Queries{outcomes: map[string]int{}}
	var endings [][]string
	for i, outcome := range []string{QueryOK, QueryConflict, QueryUnavailable, QueryFailed, QueryAbandoned} {
		m.outcomes[outcome] = i
		endings = append(endings, []string{outcome})
	}
	c, err := newCalls(r, callsOptions{
		requests: "kith_store_queries_total",
		requestsHelp: "Statements sent to the database, by operation (the first word) and outcome " +
			"(ok; conflict with another transaction, which a repetition may pass; unavailable; failed; abandoned by the caller).",
		seconds: "kith_store_query_duration_seconds", secondsHelp: "Time until the database answered a statement, by operation.",
		labels: []string{"operation", "outcome"}, endings: endings,
	})
	if err != nil {
		return nil, err
	}
	m.operations = c.seriesByName(queryOperations())
	return m, nil
}

// Observe counts a statement. Its operation is the first word in lower case.
func (m *Queries) Observe(ctx context.Context, operation, outcome string, d time.Duration) {
	s, ok := m.operations[operation]
	if !ok {
		s = m.operations[unknown]
	}
	ending, ok := m.outcomes[outcome]
	if !ok {
		ending = m.outcomes[QueryFailed]
	}
	s.observe(ctx, ending, d)
}

// upTimeout bounds one look whether the store can be reached.
const upTimeout = 2 * time.Second

// NewStoreUp registers kith_store_up with r. ping is called once per scrape.
func NewStoreUp(r prometheus.Registerer, ping func(context.Context) error) error {
	return NewFigures(r, map[string]Figure{"kith_store_up": {
		Help: "1 while the database answers, 0 while it does not.",
		Value: func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), upTimeout)
			defer cancel()
			if ping(ctx) != nil {
				return 0
			}
			return 1
		},
	}})
}

// NewDisk registers the metrics of the file system that a database file is on.
func NewDisk(r prometheus.Registerer, file string) error {
	folder := filepath.Dir(file)
	figure := func(of func(*syscall.Statfs_t) uint64) func() float64 {
		return func() float64 {
			var fs syscall.Statfs_t
			if syscall.Statfs(folder, &fs) != nil {
				return 0
			}
			return float64(of(&fs)) * float64(fs.Bsize)
		}
	}
	return NewFigures(r, map[string]Figure{
		"kith_store_disk_free_bytes": {
			Help:  "Bytes that may still be written to the file system of the database file; only with SQLite.",
			Value: figure(func(fs *syscall.Statfs_t) uint64 { return fs.Bavail }),
		},
		"kith_store_disk_size_bytes": {
			Help:  "Size of the file system of the database file; only with SQLite.",
			Value: figure(func(fs *syscall.Statfs_t) uint64 { return fs.Blocks }),
		},
	})
}
