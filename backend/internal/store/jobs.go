package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/job"
)

// StartJob queues a job, or returns the live one of the kind: writes of a tenant
// happen one after the other, so that there cannot be two.
func (u *Unit) StartJob(ctx context.Context, d job.Draft) (j *job.Job, started bool, err error) {
	live, err := u.LiveJob(ctx, d.Kind)
	if err != nil || live != nil {
		return live, false, err
	}
	params, err := json.Marshal(d.Params)
	if err != nil {
		return nil, false, fmt.Errorf("encode a job's parameters: %w", err)
	}
	jobID, err := u.ids.New(id.Job)
	if err != nil {
		return nil, false, err
	}
	j = &job.Job{
		ID: jobID, TenantID: u.id, Kind: d.Kind, State: job.Queued, Params: string(params), Total: d.Total, RunAt: u.now,
		CredentialID: u.actor.CredentialID, CredentialName: u.actor.CredentialName, Tool: u.actor.Tool,
		Period: credit.MonthOf(u.now).Period, Charged: d.Charged, CreatedAt: u.now, UpdatedAt: u.now,
	}
	// The count outlives the rows, so that no number is given twice.
	if err := u.db.NewRaw("UPDATE tenant_states SET jobs = jobs + 1 WHERE tenant_id = ? RETURNING jobs", u.id).Scan(ctx, &j.Number); err != nil {
		return nil, false, err
	}
	_, err = u.db.NewInsert().Model(j).Exec(ctx)
	return j, true, err
}

// LiveJob returns the tenant's job of a kind that has not ended, or nil.
func (u *Unit) LiveJob(ctx context.Context, kind string) (*job.Job, error) {
	live := &job.Job{}
	err := u.from(live).Where("kind = ? AND state IN (?, ?)", kind, job.Queued, job.Running).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return live, err
}

// GetJob returns a job of the tenant by its number, or fails with fault.NotFound.
func (t *Tenant) GetJob(ctx context.Context, number int32) (*job.Job, error) {
	ctx, q := t.read(ctx)
	j, err := q.getJob(ctx, number)
	return j, translate(err)
}

func (q scope) getJob(ctx context.Context, number int32) (*job.Job, error) {
	j := &job.Job{}
	err := q.from(j).Where("number = ?", number).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "there is no job %d", number)
	}
	return j, err
}

// ListJobs returns the tenant's jobs of a kind, the latest first.
func (t *Tenant) ListJobs(ctx context.Context, kind string, limit int) ([]job.Job, error) {
	ctx, q := t.read(ctx)
	var jobs []job.Job
	err := q.from(&jobs).Where("kind = ?", kind).Order("number DESC").Limit(int64(limit)).Scan(ctx)
	return jobs, translate(err)
}

// CancelJob ends a queued job, and asks a running one to end. One that was begun and
// waits is ended by whoever claims it, who can tell how far it got. One that has
// ended stays as it is.
func (u *Unit) CancelJob(ctx context.Context, number int32) (*job.Job, error) {
	j, err := u.getJob(ctx, number)
	if err != nil || j.Terminal() {
		return j, err
	}
	// It may be claimed, or end, at this moment.
	_, err = u.db.NewRaw(`UPDATE jobs SET cancel_requested = ?, updated_at = ?, run_at = CASE state WHEN 'queued' THEN ? ELSE run_at END,
ended_at = CASE WHEN state = 'queued' AND checkpoint = '' THEN ? ELSE ended_at END,
state = CASE WHEN state = 'queued' AND checkpoint = '' THEN 'cancelled' ELSE state END
WHERE tenant_id = ? AND number = ? AND state IN ('queued', 'running')`, true, u.now, u.now, u.now, u.id, number).Exec(ctx)
	if err != nil {
		return nil, err
	}
	return u.getJob(ctx, number)
}

// WriteStep is Write for a step of a job, which is committed only under the lease.
// It fails with job.ErrLeaseLost or job.ErrCancelled without calling fn.
func (t *Tenant) WriteStep(ctx context.Context, l job.Lease, actor Actor, fn func(context.Context, *Unit) (job.Step, error)) error {
	return t.Write(ctx, actor, func(ctx context.Context, u *Unit) error {
		var cancelled bool
		err := u.db.NewRaw("UPDATE jobs SET attempts = 0, updated_at = ? WHERE tenant_id = ? AND id = ? AND fence = ? AND state = ? RETURNING cancel_requested",
			u.now, u.id, l.ID, l.Fence, job.Running).Scan(ctx, &cancelled)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return job.ErrLeaseLost
		case err != nil:
			return err
		case cancelled:
			return job.ErrCancelled
		}
		step, err := fn(ctx, u)
		if err != nil {
			return err
		}
		checkpoint, err := json.Marshal(step.Checkpoint)
		if err != nil {
			return fmt.Errorf("encode a job's checkpoint: %w", err)
		}
		_, err = u.db.NewRaw("UPDATE jobs SET checkpoint = ?, done = ?, total = ? WHERE tenant_id = ? AND id = ?",
			string(checkpoint), step.Done, step.Total, u.id, l.ID).Exec(ctx)
		return err
	})
}

// ChargeJob takes the price of a step off the balance of the month in which the
// job was started, to which a refund would go. It ends the job when that does not
// cover it.
func (u *Unit) ChargeJob(ctx context.Context, j *job.Job, price int) error {
	if price <= 0 {
		return nil
	}
	_, err := u.Charge(ctx, credit.MonthOf(j.CreatedAt), price)
	if short := (*credit.Shortage)(nil); errors.As(err, &short) {
		return job.Fail(job.CodeCredits, "%s", short.Error())
	}
	if err != nil {
		return err
	}
	_, err = u.db.NewRaw("UPDATE jobs SET charged = charged + ? WHERE tenant_id = ? AND id = ?", price, u.id, j.ID).Exec(ctx)
	return err
}

// sweepJobs deletes jobs that ended before a time.
const sweepJobs = "DELETE FROM jobs WHERE ended_at <= ?"

// keepJobs is how long a job can be read after its end.
const keepJobs = 30 * 24 * time.Hour
