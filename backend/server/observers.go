package server

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/finder"
	"github.com/kith-crm/kith/backend/internal/recall"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/observability/metrics"
)

// OAuthObserver counts events of authorization and sign-in; *metrics.OAuth is one.
type OAuthObserver interface {
	// Observe is told a kind of OAuthKinds and a result of OAuthResults.
	Observe(kind, result string)
}

// CallObserver counts keyed and priced calls; *metrics.Calls is one.
type CallObserver interface {
	// Keyed is told of each call with an Idempotency-Key, with an outcome of metrics.
	Keyed(outcome string)
	// Charged and Refunded are told of credits once they are committed, Refused of
	// what the credits did not cover.
	Charged(tool string, credits int)
	Refunded(tool string, credits int)
	Refused(tool string)
}

// JobObserver counts runs of jobs; *metrics.Jobs is one.
type JobObserver interface {
	// Observe is told a kind of JobKinds.
	Observe(ctx context.Context, kind, outcome string, attempt int, d time.Duration)
}

// QueryObserver counts statements; *metrics.Queries is one.
type QueryObserver interface {
	Observe(ctx context.Context, operation, outcome string, d time.Duration)
}

// BuildObserver counts how search indexes are made; *metrics.Builds is one.
type BuildObserver interface {
	// Observe tells whether an index was made from everything.
	Observe(ctx context.Context, whole bool, d time.Duration)
}

// Observers count what happens in a backend. Nil ones count nothing.
type Observers struct {
	OAuth   OAuthObserver
	Calls   CallObserver
	Jobs    JobObserver
	Queries QueryObserver
	Builds  BuildObserver
}

// storeConfig is how the store is opened.
func (c Config) storeConfig() store.Config {
	s := store.Config{URL: c.DatabaseURL, Now: c.Now, Logger: c.Logger, MaxConns: c.DatabaseConns / 2, AcceptNewer: c.AcceptNewerSchema}
	if q := c.queryObservers(); len(q) > 0 {
		s.Queries = q
	}
	if c.Observers.Calls != nil {
		s.Credits = c.Observers.Calls
	}
	return s
}

// queryObservers are those who are told of statements.
func (c Config) queryObservers() (list queryObservers) {
	if c.Observers.Queries != nil {
		list = append(list, c.Observers.Queries)
	}
	if c.Tracer != nil {
		system := "sqlite"
		if store.IsPostgres(c.DatabaseURL) {
			system = "postgresql"
		}
		list = append(list, c.Tracer.Queries(system))
	}
	return list
}

type queryObservers []QueryObserver

// Observe implements store.QueryObserver.
func (list queryObservers) Observe(ctx context.Context, operation, outcome string, d time.Duration) {
	for _, o := range list {
		o.Observe(ctx, operation, outcome, d)
	}
}

// Jobs counts the jobs that have not ended. It fails while the store is down.
func (s *Server) Jobs(ctx context.Context) ([]metrics.JobCount, error) {
	rows, err := s.store.CountJobs(ctx)
	counts := make([]metrics.JobCount, len(rows))
	for i, r := range rows {
		counts[i] = metrics.JobCount(r)
	}
	return counts, err
}

// SandboxDay is when the day began that the demo account is seeded for; zero
// before it was seeded, and without a sandbox.
func (s *Server) SandboxDay() time.Time { return s.seeder.Day() }

// held is what searches hold in memory.
type held struct {
	finder *finder.Finder
	recall *recall.Searcher
}

func (h held) Indexes() (held int, bytes int64) { return h.finder.Held() }
func (h held) Vectors() (held int, bytes int64) { return h.recall.Held() }

// Search tells what searches hold in memory.
func (s *Server) Search() metrics.Search { return s.search }

// DatabaseFile is the file of a SQLite database, and empty for PostgreSQL.
func (s *Server) DatabaseFile() string { return s.store.File() }
