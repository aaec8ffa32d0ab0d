package integration_test

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/decision"
	"github.com/kith-crm/kith/backend/internal/job"
)

// keepDecision gives a member a decision that contains a text.
func keepDecision(ctx context.Context, u *db.Tx, about string) (*decision.Decision, error) {
	d, _, err := decision.Ask(ctx, u, decision.Call{
		Fingerprint: about, Arguments: about, Kinds: "delete", Preview: decision.Preview{Summary: about},
	})
	return d, err
}

// decisionReads are the reads of decisions, with the ids of the victim's decision.
func decisionReads(data *db.Tenant) map[string]attempt {
	return map[string]attempt{
		"List": func(ctx context.Context, v victim) (any, error) {
			one, err := decision.Get(ctx, data, v.decision.ID)
			other, otherErr := decision.OfJob(ctx, data, v.decision.JobID)
			all, allErr := decision.List(ctx, data)
			return []any{one, err, other, otherErr, all}, allErr
		},
		"ListWaiting": func(ctx context.Context, _ victim) (any, error) { return decision.ListWaiting(ctx, data) },
		"ListLast":    func(ctx context.Context, _ victim) (any, error) { return decision.ListLast(ctx, data, 10) },
	}
}

// decisionWrites are the writes of decisions.
func decisionWrites(u *db.Tx) map[string]attempt {
	return map[string]attempt{
		"Ask": func(ctx context.Context, v victim) (any, error) {
			found, err := decision.Find(ctx, u, v.decision.Fingerprint)
			if found != nil || err != nil {
				return found, err
			}
			return keepDecision(ctx, u, "mine")
		},
		"Decide": func(ctx context.Context, v victim) (any, error) { return decision.Decide(ctx, u, v.decision.ID, true) },
		"End": func(ctx context.Context, v victim) (any, error) {
			return decision.End(ctx, u, v.decision, decision.Done, v.change)
		},
		"Cancel": func(ctx context.Context, v victim) (any, error) { return decision.Cancel(ctx, u, v.decisionJob) },
		"AddJob": func(ctx context.Context, v victim) (any, error) {
			return job.AddJob(ctx, u, job.Draft{Kind: v.decisionJob.Kind})
		},
	}
}
