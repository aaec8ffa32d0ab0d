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

// jobs are the workers of this process, and who waits for them.
type jobs struct {
	*job.Hub
	runner *job.Runner
}

// JobKinds are the kinds of jobs that a backend works on.
func JobKinds() []string {
	return []string{kindSweep, importer.JobKind, importer.UndoKind, embedder.KindName}
}

// kinds are what the workers can do. A kind of job is entered here, and its name above.
func kinds(c Config, data *store.Store, provider embedding.Provider) []job.Kind {
	return []job.Kind{sweep(c, data), importer.Kind(data), importer.Undo(data), embedder.New(data, provider)}
}

// newJobs composes the workers.
func newJobs(c Config, data *store.Store, provider embedding.Provider) *jobs {
	hub := &job.Hub{}
	config := job.Config{
		Queue:   data,
		Kinds:   kinds(c, data, provider),
		Workers: c.JobWorkers,
		Now:     c.Now, Logger: c.Logger, Changed: hub.Changed,
	}
	if c.Observers.Jobs != nil {
		config.Observe = c.Observers.Jobs.Observe
	}
	if c.Tracer != nil {
		config.Trace = c.Tracer.Job
	}
	return &jobs{Hub: hub, runner: job.NewRunner(config)}
}

// Wake implements rpc.Jobs.
func (j *jobs) Wake() { j.runner.Wake() }

const kindSweep = "sweep"

// sweepEvery is how often rows that have ended are deleted.
const sweepEvery = time.Hour

// sweep is the system's job that deletes what has ended.
func sweep(c Config, data *store.Store) job.Kind {
	return job.Kind{Name: kindSweep, Every: sweepEvery, Run: func(ctx context.Context, _ *job.Run) (any, error) {
		swept, err := data.Sweep(ctx, c.Now())
		if n := swept.Total(); n > 0 {
			c.Logger.InfoContext(ctx, "swept what has ended", "rows", n)
		}
		return swept, err
	}}
}
