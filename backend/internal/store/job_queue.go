package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/job"
)

// due selects jobs that may be claimed, the longest waiting first. Between two
// processes that claim jobs of one member at once, both may get one; at most for
// as long as those run.
const due = `SELECT j.id FROM jobs j WHERE j.kind IN (?)
AND (j.state = 'queued' AND j.run_at <= ? OR j.state = 'running' AND j.lease_until <= ?)
AND NOT EXISTS (SELECT 1 FROM jobs r WHERE r.tenant_id = j.tenant_id AND r.id <> j.id AND r.state = 'running' AND r.lease_until > ?)
ORDER BY j.run_at, j.id LIMIT 1`

// JobsWait implements job.Queue.
func (s *Store) JobsWait(ctx context.Context, kinds []string) (bool, error) {
	now := s.time()
	var found string
	err := s.engine.serviceRead.NewRaw(due, bun.List(kinds), now, now, now).Scan(ctx, &found)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, translate(err)
}

// ClaimJob implements job.Queue.
func (s *Store) ClaimJob(ctx context.Context, kinds []string, until time.Time) (*job.Job, error) {
	// Mostly there is nothing, and a look takes no lock.
	if waiting, err := s.JobsWait(ctx, kinds); err != nil || !waiting {
		return nil, err
	}
	choose := due
	if s.engine.name == postgresName {
		choose += " FOR UPDATE OF j SKIP LOCKED"
	}
	now := s.time()
	j := &job.Job{}
	err := s.engine.serviceWrite.NewRaw(`UPDATE jobs SET state = 'running', attempts = attempts + 1, fence = fence + 1, lease_until = ?, updated_at = ?
WHERE id = (`+choose+`) RETURNING *`, until.UTC(), now, bun.List(kinds), now, now, now).Scan(ctx, j)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, translate(err)
	}
	return j, nil
}

// ExtendLease implements job.Queue.
func (s *Store) ExtendLease(ctx context.Context, l job.Lease, until time.Time) error {
	var cancelled bool
	err := s.engine.serviceWrite.NewRaw("UPDATE jobs SET lease_until = ? WHERE id = ? AND fence = ? AND state = 'running' RETURNING cancel_requested",
		until.UTC(), l.ID, l.Fence).Scan(ctx, &cancelled)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return job.ErrLeaseLost
	case err != nil:
		return translate(err)
	case cancelled:
		return job.ErrCancelled
	}
	return nil
}

// EndJob implements job.Queue.
func (s *Store) EndJob(ctx context.Context, l job.Lease, e job.End) error {
	var failure job.Failure
	if e.Failure != nil {
		failure = *e.Failure
	}
	now := s.time()
	j := &job.Job{}
	refunded := false
	err := s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		err := tx.NewRaw(`UPDATE jobs SET state = ?, result = ?, error_code = ?, error_detail = ?, lease_until = NULL, updated_at = ?, ended_at = ?
WHERE id = ? AND fence = ? AND state = 'running' RETURNING *`, e.State, string(e.Result), failure.Code, failure.Detail, now, now, l.ID, l.Fence).Scan(ctx, j)
		if errors.Is(err, sql.ErrNoRows) {
			return job.ErrLeaseLost
		}
		if err != nil {
			return err
		}
		if e.State == job.Failed && j.Charged > 0 {
			if err := s.refund(ctx, tx, j); err != nil {
				return err
			}
			refunded = true
		}
		if e.Again.IsZero() {
			return nil
		}
		return s.scheduleJob(ctx, tx, j.Kind, e.Again)
	})
	if err == nil && refunded {
		s.creditWatch.Refunded(j.Tool, j.Charged)
	}
	return translate(err)
}

// refund gives a job's credits back to the month that they were taken from.
func (s *Store) refund(ctx context.Context, tx bun.Tx, j *job.Job) error {
	var balance int
	err := tx.NewRaw("UPDATE credit_balances SET balance = balance + ? WHERE tenant_id = ? AND period = ? RETURNING balance",
		j.Charged, j.TenantID, j.Period).Scan(ctx, &balance)
	if err != nil {
		return err
	}
	return s.insertEntries(ctx, tx, credit.Entry{
		TenantID: j.TenantID, Period: j.Period, Delta: j.Charged, BalanceAfter: balance, Reason: credit.ReasonRefund, Tool: j.Tool,
	})
}

// ReturnJob implements job.Queue.
func (s *Store) ReturnJob(ctx context.Context, l job.Lease, runAt time.Time, counts bool) error {
	back := 0
	if !counts {
		back = 1
	}
	result, err := s.engine.serviceWrite.NewRaw(`UPDATE jobs SET state = 'queued', run_at = ?, lease_until = NULL, updated_at = ?,
attempts = CASE WHEN attempts > ? THEN attempts - ? ELSE 0 END
WHERE id = ? AND fence = ? AND state = 'running'`, runAt.UTC(), s.time(), back, back, l.ID, l.Fence).Exec(ctx)
	if err != nil {
		return translate(err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 1 {
		return translate(err)
	}
	return job.ErrLeaseLost
}

// QueuedJobs are the jobs of one kind in one state that has not ended.
type QueuedJobs struct {
	// State is "scheduled" for jobs whose time to run has not come, "queued" for
	// those that could run and wait for a worker, and "running".
	Kind, State string
	Count       int
	// Waited is how long the longest of those that could run has waited.
	Waited time.Duration
}

// CountJobs counts the jobs that have not ended. A job whose lease ran out is
// queued: it waits for another worker.
func (s *Store) CountJobs(ctx context.Context) ([]QueuedJobs, error) {
	now := s.time()
	var rows []struct {
		Kind, State string
		Count       int
		Since       time.Time `bun:",nullzero"`
	}
	err := s.engine.serviceRead.NewRaw(`SELECT kind,
CASE WHEN state = 'running' AND lease_until > ? THEN 'running' WHEN state = 'queued' AND run_at > ? THEN 'scheduled' ELSE 'queued' END AS state,
count(*) AS count,
min(CASE WHEN state = 'running' AND lease_until <= ? THEN lease_until WHEN state = 'queued' AND run_at <= ? THEN run_at END) AS since
FROM jobs WHERE state IN ('queued', 'running') GROUP BY 1, 2`, now, now, now, now).Scan(ctx, &rows)
	if err != nil {
		return nil, translate(err)
	}
	counts := make([]QueuedJobs, len(rows))
	for i, r := range rows {
		counts[i] = QueuedJobs{Kind: r.Kind, State: r.State, Count: r.Count}
		if !r.Since.IsZero() {
			counts[i].Waited = now.Sub(r.Since)
		}
	}
	return counts, nil
}

// ScheduleJob implements job.Queue.
func (s *Store) ScheduleJob(ctx context.Context, kind string, runAt time.Time) error {
	return translate(s.scheduleJob(ctx, s.engine.serviceWrite, kind, runAt))
}

func (s *Store) scheduleJob(ctx context.Context, db bun.IDB, kind string, runAt time.Time) error {
	jobID, err := s.ids.New(id.Job)
	if err != nil {
		return err
	}
	now := s.time()
	j := &job.Job{ID: jobID, Kind: kind, State: job.Queued, RunAt: runAt.UTC(), CreatedAt: now, UpdatedAt: now}
	_, err = db.NewInsert().Model(j).On("CONFLICT DO NOTHING").Exec(ctx)
	return err
}
