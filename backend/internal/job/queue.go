package job

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// Queue is the queue of jobs in the database. It is safe for concurrent use.
type Queue struct {
	db     *db.DB
	ledger *billing.Ledger
}

// NewQueue returns the queue of a database. Failed jobs are refunded to the ledger.
func NewQueue(db *db.DB, ledger *billing.Ledger) *Queue { return &Queue{db: db, ledger: ledger} }

// due selects jobs that may be claimed, the longest waiting first; those of suspended members
// wait. When two processes claim at the same moment, a member may have two running jobs until
// one of them ends. A lease that ends later than any claim can make it, and a job of the system that is due
// later than the next day, were written by a clock that was wrong: they are due. Each alternative is one range of an
// index, without inner alternatives: otherwise SQLite would read the whole table.
const due = `SELECT j.id FROM jobs j WHERE j.kind IN (?)
AND (j.state = 'queued' AND j.run_at <= ? OR j.state = 'queued' AND j.run_at > ? AND j.tenant_id IS NULL
OR j.state = 'running' AND j.lease_until <= ? OR j.state = 'running' AND j.lease_until > ?)
AND NOT EXISTS (SELECT 1 FROM jobs r WHERE r.tenant_id = j.tenant_id AND r.id <> j.id AND r.state = 'running' AND r.lease_until > ? AND r.lease_until <= ?)
AND NOT EXISTS (SELECT 1 FROM members m WHERE m.id = j.tenant_id AND m.suspended_at IS NOT NULL)
ORDER BY j.run_at, j.id LIMIT 1`

const (
	// longestLease is longer than a lease, with the difference that the clocks of several backends may have.
	longestLease = 10 * time.Minute
	// farthestRun is longer than the interval of any job of the system.
	farthestRun = 25 * time.Hour
)

// dueArgs are the arguments of due.
func dueArgs(kinds []string, now time.Time) []any {
	longest := now.Add(longestLease)
	return []any{bun.List(kinds), now, now.Add(farthestRun), now, longest, now, longest}
}

// JobsWait reports whether a job of one of the kinds could be claimed.
func (s *Queue) JobsWait(ctx context.Context, kinds []string) (bool, error) {
	var found string
	err := s.db.NewRaw(due, dueArgs(kinds, s.db.Now())...).Scan(ctx, &found)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// ClaimJob leases a due job of one of the kinds until a time, the longest waiting first.
// It skips members who already have a running job. A job whose lease expired is due. It
// returns nil when no job is due.
func (s *Queue) ClaimJob(ctx context.Context, kinds []string, until time.Time) (*Job, error) {
	// The queue is usually empty, and this check takes no lock.
	if waiting, err := s.JobsWait(ctx, kinds); err != nil || !waiting {
		return nil, err
	}
	choose := due + db.LockRows(s.db, "FOR UPDATE OF j SKIP LOCKED")
	now := s.db.Now()
	j := &Job{}
	args := append([]any{until.UTC(), now}, dueArgs(kinds, now)...)
	err := s.db.NewWrite(`UPDATE jobs SET state = 'running', attempts = attempts + 1, fence = fence + 1, lease_until = ?, updated_at = ?
WHERE id = (`+choose+`) RETURNING ?`, append(args, db.Columns[Job](s.db))...).Scan(ctx, j)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return j, nil
}

// ExtendLease renews a lease. It fails with ErrLeaseLost or ErrCancelled.
func (s *Queue) ExtendLease(ctx context.Context, l Lease, until time.Time) error {
	var cancelled bool
	err := s.db.NewWrite("UPDATE jobs SET lease_until = ? WHERE id = ? AND fence = ? AND state = 'running' RETURNING cancel_requested",
		until.UTC(), l.ID, l.Fence).Scan(ctx, &cancelled)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrLeaseLost
	case err != nil:
		return err
	case cancelled:
		return ErrCancelled
	}
	return nil
}

// EndJob ends a job, and refunds the credits of a failed one. It fails with ErrLeaseLost.
func (s *Queue) EndJob(ctx context.Context, l Lease, e End) error {
	var failure Failure
	if e.Failure != nil {
		failure = *e.Failure
	}
	now := s.db.Now()
	j := &Job{}
	refunded := false
	err := s.db.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		err := tx.NewRaw(`UPDATE jobs SET state = ?, result = ?, error_code = ?, error_detail = ?, lease_until = NULL, updated_at = ?, ended_at = ?
WHERE id = ? AND fence = ? AND state = 'running' RETURNING ?`, e.State, string(e.Result), failure.Code, failure.Detail, now, now, l.ID, l.Fence, db.Columns[Job](tx)).Scan(ctx, j)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrLeaseLost
		}
		if err != nil {
			return err
		}
		if e.State == Failed && j.Charged > 0 {
			if err := s.ledger.Refund(ctx, tx, j.TenantID, j.Period, j.Tool, j.Charged); err != nil {
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
		s.ledger.CountRefund(j.Tool, j.Charged)
	}
	return err
}

// ReturnJob requeues a job to run at a given time. An attempt that ended through no fault
// of the job does not count. It fails with ErrLeaseLost.
func (s *Queue) ReturnJob(ctx context.Context, l Lease, runAt time.Time, counts bool) error {
	back := 0
	if !counts {
		back = 1
	}
	result, err := s.db.NewWrite(`UPDATE jobs SET state = 'queued', run_at = ?, lease_until = NULL, updated_at = ?,
attempts = CASE WHEN attempts > ? THEN attempts - ? ELSE 0 END
WHERE id = ? AND fence = ? AND state = 'running'`, runAt.UTC(), s.db.Now(), back, back, l.ID, l.Fence).Exec(ctx)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return ErrLeaseLost
}

// QueuedJobs counts the jobs of one kind in one state that is not final.
type QueuedJobs struct {
	// State is "scheduled" for jobs that are due later, "queued" for due jobs that wait for
	// a worker, and "running".
	Kind, State string
	Count       int
	// Waited is how long the oldest due job has waited.
	Waited time.Duration
}

// CountJobs counts the jobs that have not ended. A job whose lease expired counts as
// queued: it waits for another worker. A job of a suspended member counts as scheduled.
func (s *Queue) CountJobs(ctx context.Context) ([]QueuedJobs, error) {
	now := s.db.Now()
	var rows []struct {
		Kind, State string
		Count       int
		Since       time.Time `bun:",nullzero"`
	}
	err := s.db.NewRaw(`SELECT kind,
CASE WHEN state = 'running' AND lease_until > ? THEN 'running' WHEN state = 'queued' AND run_at > ? OR suspended THEN 'scheduled' ELSE 'queued' END AS state,
count(*) AS count,
min(CASE WHEN suspended THEN NULL WHEN state = 'running' AND lease_until <= ? THEN lease_until WHEN state = 'queued' AND run_at <= ? THEN run_at END) AS since
FROM (SELECT jobs.kind, jobs.state, jobs.lease_until, jobs.run_at, EXISTS (SELECT 1 FROM members m WHERE m.id = jobs.tenant_id AND m.suspended_at IS NOT NULL) AS suspended
FROM jobs WHERE state IN ('queued', 'running')) AS live GROUP BY 1, 2`, now, now, now, now).Scan(ctx, &rows)
	if err != nil {
		return nil, err
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

// ScheduleJob queues a system job, unless one of its kind is live.
func (s *Queue) ScheduleJob(ctx context.Context, kind string, runAt time.Time) error {
	return s.scheduleJob(ctx, s.db, kind, runAt)
}

func (s *Queue) scheduleJob(ctx context.Context, db db.Querier, kind string, runAt time.Time) error {
	jobID, err := s.db.NewID(id.Job)
	if err != nil {
		return err
	}
	now := s.db.Now()
	j := &Job{ID: jobID, Kind: kind, State: Queued, RunAt: runAt.UTC(), CreatedAt: now, UpdatedAt: now}
	_, err = db.NewInsert().Model(j).On("CONFLICT DO NOTHING").Exec(ctx)
	return err
}

// Hub notifies the watchers of a job about changes that this process made. It is safe for
// concurrent use; its zero value is ready.
type Hub struct {
	mu      sync.Mutex
	watched map[place]*watch
}

type place struct {
	owner  tenant.ID
	number int32
}

type watch struct {
	changed  chan struct{}
	watchers int
}

// Watch returns a channel that is closed at the job's next change, until stop is called.
// Read the job after calling Watch, not before, so that no change is missed.
func (h *Hub) Watch(owner tenant.ID, number int32) (changed <-chan struct{}, stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watched == nil {
		h.watched = map[place]*watch{}
	}
	p := place{owner, number}
	w := h.watched[p]
	if w == nil {
		w = &watch{changed: make(chan struct{})}
		h.watched[p] = w
	}
	w.watchers++
	return w.changed, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if w.watchers--; w.watchers == 0 && h.watched[p] == w {
			delete(h.watched, p)
		}
	}
}

// Changed wakes the watchers of the job.
func (h *Hub) Changed(j Job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := place{j.TenantID, j.Number}
	if w := h.watched[p]; w != nil {
		close(w.changed)
		delete(h.watched, p)
	}
}
