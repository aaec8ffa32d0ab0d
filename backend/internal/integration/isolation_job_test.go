package integration_test

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/job"
)

// keepJob gives a member a job that contains the secret.
func keepJob(ctx context.Context, u *db.Tx) (*job.Job, error) {
	j, _, err := job.StartJob(ctx, u, job.Draft{Kind: "file_import", Params: map[string]string{"secret": secret}})
	return j, err
}

// jobReads are the reads of jobs, with the victim's job.
func jobReads(data *db.Tenant) map[string]attempt {
	return map[string]attempt{
		"GetJob":   func(ctx context.Context, v victim) (any, error) { return job.GetJob(ctx, data, v.job.Number) },
		"ListJobs": func(ctx context.Context, v victim) (any, error) { return job.ListJobs(ctx, data, v.job.Kind, 10) },
		"Find":     func(ctx context.Context, v victim) (any, error) { return job.Find(ctx, data, v.job.Kind, v.job.ID) },
		"FindFile": func(ctx context.Context, v victim) (any, error) { return export.FindFile(ctx, data, v.job.ID) },
		"WriteStep": func(ctx context.Context, v victim) (any, error) {
			l := job.Lease{ID: v.job.ID, Tenant: v.tenant, Fence: v.job.Fence}
			return nil, job.WriteStep(ctx, data, l, db.Actor{}, func(context.Context, *db.Tx) (job.Step, error) {
				return job.Step{Done: 9}, nil
			})
		},
	}
}

// jobWrites are the writes of jobs.
func jobWrites(u *db.Tx) map[string]attempt {
	return map[string]attempt{
		"StartJob": func(ctx context.Context, v victim) (any, error) {
			j, _, err := job.StartJob(ctx, u, job.Draft{Kind: v.job.Kind})
			return j, err
		},
		"CancelJob": func(ctx context.Context, v victim) (any, error) { return job.CancelJob(ctx, u, v.job.Number) },
		"ChargeJob": func(ctx context.Context, v victim) (any, error) {
			j := *v.job
			j.CreatedAt = u.Now()
			return nil, job.Charge(ctx, v.ledger, u, &j, 1)
		},
	}
}
