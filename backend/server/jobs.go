package server

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/embedder"
	"github.com/kith-crm/kith/backend/internal/embedding"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/store"
)

// jobs are the workers of this process, and the callers that wait for a job.
type jobs struct {
	*job.Hub
	runner *job.Runner
}

// JobKinds returns the kinds of jobs that a backend runs.
func JobKinds() []string {
	return []string{kindSweep, importer.JobKind, importer.UndoKind, embedder.KindName}
}

// kinds returns the kinds with their handlers. Add a kind here, and its name above.
func kinds(c Config, data *store.Store, provider embedding.Provider) []job.Kind {
	return []job.Kind{sweep(c, data), importer.Kind(data), importer.Undo(data), embedder.New(data, provider)}
}

// newJobs returns the workers.
func newJobs(c Config, data *store.Store, provider embedding.Provider, m *counters) *jobs {
	hub := &job.Hub{}
	config := job.Config{
		Queue:   data,
		Kinds:   kinds(c, data, provider),
		Workers: c.JobWorkers,
		Now:     c.Now, Logger: c.Logger, Changed: hub.Changed,
	}
	if m != nil {
		config.Observe = m.jobs.Observe
	}
	if c.Tracer != nil {
		config.Trace = c.Tracer.Job
	}
	return &jobs{Hub: hub, runner: job.NewRunner(config)}
}

// Wake implements rpc.Jobs.
func (j *jobs) Wake() { j.runner.Wake() }

const kindSweep = "sweep"

// sweepEvery is how often expired rows are deleted.
const sweepEvery = time.Hour

// sweep is the system job that deletes expired rows.
func sweep(c Config, data *store.Store) job.Kind {
	return job.Kind{Name: kindSweep, Every: sweepEvery, Run: func(ctx context.Context, _ *job.Run) (any, error) {
		swept, err := data.Sweep(ctx, c.Now())
		if n := swept.Total(); n > 0 {
			c.Logger.InfoContext(ctx, "deleted expired rows", "rows", n)
		}
		return swept, err
	}}
}
