package store_test

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/store"
)

// keepJob gives a member a job that is about the secret.
func keepJob(ctx context.Context, u *store.Unit) (*job.Job, error) {
	j, _, err := u.StartJob(ctx, job.Draft{Kind: "file_import", Params: map[string]string{"secret": secret}})
	return j, err
}

// jobReads drives what a Tenant does about jobs, with the victim's job.
func jobReads(data *store.Tenant) map[string]attempt {
	return map[string]attempt{
		"GetJob":   func(ctx context.Context, v victim) (any, error) { return data.GetJob(ctx, v.job.Number) },
		"ListJobs": func(ctx context.Context, v victim) (any, error) { return data.ListJobs(ctx, v.job.Kind, 10) },
		"WriteStep": func(ctx context.Context, v victim) (any, error) {
			l := job.Lease{ID: v.job.ID, Tenant: v.tenant, Fence: v.job.Fence}
			return nil, data.WriteStep(ctx, l, store.Actor{}, func(context.Context, *store.Unit) (job.Step, error) {
				return job.Step{Done: 9}, nil
			})
		},
	}
}

// jobWrites drives what a Unit does about jobs.
func jobWrites(u *store.Unit) map[string]attempt {
	return map[string]attempt{
		"StartJob": func(ctx context.Context, v victim) (any, error) {
			j, _, err := u.StartJob(ctx, job.Draft{Kind: v.job.Kind})
			return j, err
		},
		"CancelJob": func(ctx context.Context, v victim) (any, error) { return u.CancelJob(ctx, v.job.Number) },
		"ChargeJob": func(ctx context.Context, v victim) (any, error) {
			j := *v.job
			j.CreatedAt = u.Now()
			return nil, u.ChargeJob(ctx, &j, 1)
		},
	}
}
