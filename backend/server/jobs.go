package server

import (
	"context"
	"errors"
	"time"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/books"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/digest"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/outbound"
	"github.com/kith-crm/kith/backend/internal/retention"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/observability/metrics"
)

// jobs are the workers of this process, and the callers that wait for a job.
type jobs struct {
	*job.Hub
	queue  *job.Queue
	runner *job.Runner
	// sources reads members' calendars. It gets the secret key before the runner starts, if there are pages.
	sources *sources.Sources
	// decide is the work of the jobs of decisions, which call the handlers of tools. It is set
	// before the runner starts.
	decide func(ctx context.Context, run *job.Run) (any, error)
	// digests sends the digests that are due. It is set before the runner starts, and nil without a mail server.
	digests *digest.Sender
}

// JobKinds returns the kinds of jobs that a backend runs.
func JobKinds() []string {
	return []string{kindSweep, kindCheck, importer.JobKind, importer.UndoKind, search.EmbedKind, export.JobKind, sources.JobKind, sources.ScheduleKind, decision.JobKind, digest.JobKind}
}

// jobKinds returns the kinds with their handlers, except those of decisions and digests. Add a new kind here and
// to JobKinds.
func jobKinds(c Config, data *db.DB, ledger *billing.Ledger, provider vector.Provider, calendars *sources.Sources, m *counters) []job.Kind {
	return []job.Kind{
		sweep(c, data, m), check(c, data), importer.Kind(data, ledger), importer.Undo(data, kinds.All()), search.EmbedJob(data, ledger, provider), export.Kind(data, c.BaseURL, c.Now),
		calendars.Kind(), calendars.Schedule(),
	}
}

// decisions is the kind of the jobs of decisions.
func decisions(j *jobs) job.Kind {
	return job.Kind{Name: decision.JobKind, Run: func(ctx context.Context, run *job.Run) (any, error) { return j.decide(ctx, run) }}
}

// sendDigests is the system job that sends the digests that are due. Without a mail server they stay due.
// m is nil without metrics.
func sendDigests(j *jobs, m *counters) job.Kind {
	return job.Kind{Name: digest.JobKind, Every: digest.Every, Run: func(ctx context.Context, _ *job.Run) (any, error) {
		if j.digests == nil {
			return digest.Result{}, nil
		}
		result, err := j.digests.Run(ctx)
		if m != nil {
			m.digests.Add(metrics.DigestSent, result.Sent)
			m.digests.Add(metrics.DigestEmpty, result.Empty)
			m.digests.Add(metrics.DigestFailed, result.Failed)
		}
		return result, err
	}}
}

// newJobs returns the workers.
func newJobs(c Config, data *db.DB, ledger *billing.Ledger, provider vector.Provider, m *counters) *jobs {
	fetcher := sources.NewFetcher(outbound.Options{}, c.PrivateSources)
	j := &jobs{
		Hub: &job.Hub{}, queue: job.NewQueue(data, ledger),
		sources: &sources.Sources{Store: data, Fetcher: fetcher, Books: &books.Reader{Store: data, Fetcher: fetcher}},
	}
	config := job.Config{
		Queue:   j.queue,
		Kinds:   append(jobKinds(c, data, ledger, provider, j.sources, m), decisions(j), sendDigests(j, m)),
		Workers: c.JobWorkers,
		Now:     c.Now, Logger: c.Logger, Changed: j.Changed,
	}
	if m != nil {
		config.Observe = m.jobs.Observe
		j.sources.Observe = m.sources.Observe
	}
	if c.Tracer != nil {
		config.Trace = c.Tracer.Job
	}
	j.runner = job.NewRunner(config)
	return j
}

// Wake implements rpc.Jobs.
func (j *jobs) Wake() { j.runner.Wake() }

// The system jobs.
const (
	kindSweep = "sweep"
	kindCheck = "check_database"
)

// sweepEvery is how often expired rows are deleted.
const sweepEvery = time.Hour

// sweep is the system job that deletes expired rows. m is nil without metrics.
func sweep(c Config, data *db.DB, m *counters) job.Kind {
	return job.Kind{Name: kindSweep, Every: sweepEvery, Run: func(ctx context.Context, _ *job.Run) (any, error) {
		swept, err := retention.SweepByClock(ctx, data, c.Now())
		if errors.Is(err, retention.ErrClockJumped) {
			c.Logger.WarnContext(ctx, err.Error())
			return swept, nil
		}
		if m != nil {
			m.sweeps.Observe(swept.Total()-swept.Deletions, swept.Deletions)
		}
		if n := swept.Total(); n > 0 {
			c.Logger.InfoContext(ctx, "deleted expired rows", "rows", n, "deletions", swept.Deletions)
		}
		return swept, err
	}}
}

// checkEvery is how often a SQLite database is read as a whole.
const checkEvery = 24 * time.Hour

// check is the system job that finds a damaged database while its last good backup still exists.
func check(c Config, data *db.DB) job.Kind {
	return job.Kind{Name: kindCheck, Every: checkEvery, Run: func(ctx context.Context, _ *job.Run) (any, error) {
		err := data.CheckIntegrity(ctx)
		if errors.Is(err, db.ErrDamaged) {
			c.Logger.ErrorContext(ctx, "the database is damaged: stop kith and restore the last backup that `kith doctor` finds sound", "error", err)
			return nil, nil // another try would find the same
		}
		return nil, err
	}}
}
