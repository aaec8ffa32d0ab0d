package server

import (
	"context"
	"errors"
	"time"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/digest"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/observability/metrics"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// counters are the collectors that the parts of a backend report to.
type counters struct {
	rpcs        *metrics.Connect
	oauth       *metrics.OAuth
	idempotency *metrics.Outcomes
	credits     *metrics.Credits
	jobs        *metrics.Jobs
	queries     *metrics.Queries
	builds      *metrics.Builds
	mail        *metrics.Outcomes
	sweeps      *metrics.Sweeps
	sources     *metrics.Outcomes
	digests     *metrics.Outcomes
}

// newCounters registers the counters with r. It returns nil for a nil r.
func newCounters(r *metrics.Registry, tools []string) (*counters, error) {
	if r == nil {
		return nil, nil //nolint:nilnil // metrics are optional
	}
	var m counters
	var errs [11]error
	m.rpcs, errs[0] = metrics.NewConnect(r)
	m.oauth, errs[1] = metrics.NewOAuth(r, oauthKinds(), oauthResults())
	m.idempotency, errs[2] = metrics.NewIdempotency(r)
	m.credits, errs[3] = metrics.NewCredits(r, tools)
	m.jobs, errs[4] = metrics.NewJobs(r, JobKinds())
	m.queries, errs[5] = metrics.NewQueries(r)
	m.builds, errs[6] = metrics.NewBuilds(r)
	m.mail, errs[7] = metrics.NewMail(r)
	m.sweeps, errs[8] = metrics.NewSweeps(r)
	m.sources, errs[9] = metrics.NewSourceRuns(r)
	m.digests, errs[10] = metrics.NewDigestRuns(r)
	return &m, errors.Join(errs[:]...)
}

// creditObserver returns the counters of credits; nil without metrics.
func (m *counters) creditObserver() billing.CreditObserver {
	if m == nil {
		return nil
	}
	return m.credits
}

// mailed returns the counter of emails; nil without metrics.
func (m *counters) mailed() func(outcome string) {
	if m == nil {
		return nil
	}
	return m.mail.Observe
}

// registerState registers what is read from the server at each scrape.
func (s *Server) registerState(r *metrics.Registry) error {
	if r == nil {
		return nil
	}
	var errs []error
	for name, pool := range s.store.Pools() {
		errs = append(errs, r.Register(collectors.NewDBStatsCollector(pool, name)))
	}
	if file := s.store.File(); file != "" {
		errs = append(errs, metrics.NewDisk(r, file, s.store.LogSize, s.store.Damaged))
	}
	if s.config.Sandbox {
		errs = append(errs, metrics.NewSandbox(r, s.seeder.Day))
	}
	return errors.Join(append(errs, metrics.NewStoreUp(r, s.Ready), metrics.NewAges(r, s.ages), metrics.NewQueue(r, JobKinds(), s.countJobs),
		metrics.NewSources(r, s.due(sources.Overdue)), metrics.NewDigests(r, s.due(digest.Overdue)),
		metrics.NewSearch(r, s.indexes.Held, s.search.Held))...)
}

// countJobs counts the unfinished jobs. It fails while the database is down.
func (s *Server) countJobs(ctx context.Context) ([]metrics.JobCount, error) {
	rows, err := s.jobs.queue.CountJobs(ctx)
	counts := make([]metrics.JobCount, len(rows))
	for i, r := range rows {
		counts[i] = metrics.JobCount(r)
	}
	return counts, err
}

// due reads the state of work that is due for each member.
func (s *Server) due(overdue func(context.Context, *db.DB) (time.Duration, int, error)) func(context.Context) (metrics.Due, error) {
	return func(ctx context.Context) (d metrics.Due, err error) {
		d.Overdue, d.Failing, err = overdue(ctx, s.store)
		return d, err
	}
}

// ages returns when the database was last backed up and swept, or made if it never was.
func (s *Server) ages(ctx context.Context) (backup, sweep time.Time, err error) {
	i, err := s.store.Installation(ctx)
	backup, sweep = i.BackedUpAt, i.SweptAt
	for _, at := range []*time.Time{&backup, &sweep} {
		if at.IsZero() {
			*at = i.MadeAt
		}
	}
	return backup, sweep, err
}
