package job

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/observability/tracing"
)

// The states of a job.
const (
	Queued    = "queued"
	Running   = "running"
	Succeeded = "succeeded"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// Job is a piece of work, and its row.
type Job struct {
	ID string `bun:",pk"`
	// TenantID is empty for a system job.
	TenantID tenant.ID `bun:",nullzero"`
	// Number counts a member's jobs from 1.
	Number int32
	Kind   string
	State  string
	// Params say what to do, Checkpoint how far the job got, Result what it returned.
	// Each is JSON that only its kind reads, or empty.
	Params, Checkpoint, Result string
	// ErrorCode and ErrorDetail say why it failed; the member sees them.
	ErrorCode   string
	ErrorDetail string
	// Done and Total count units of work; Total is 0 while it is not known.
	Done, Total int
	// Attempts counts claims since the last step.
	Attempts int
	// Fence grows with each claim.
	Fence int64
	// RunAt is the earliest time at which it may be claimed.
	RunAt           time.Time
	LeaseUntil      time.Time `bun:",nullzero"`
	CancelRequested bool
	// CredentialID, CredentialName and Tool are the credential and tool that started it.
	CredentialID   string
	CredentialName string
	Tool           string
	// Trace is the tracing.Traceparent of the request that started it.
	Trace string
	// Charged is how many credits of Period are refunded when it fails.
	Period    string
	Charged   int
	CreatedAt time.Time
	UpdatedAt time.Time
	EndedAt   time.Time `bun:",nullzero"`
}

// Terminal reports whether the job has ended.
func (j *Job) Terminal() bool { return Terminal(j.State) }

// Terminal reports whether a state is a final one.
func Terminal(state string) bool {
	return state == Succeeded || state == Failed || state == Cancelled
}

// The intervals at which a job should be polled.
const (
	quickly  = 10 * time.Second
	slowly   = 2 * time.Minute
	interval = 10 * time.Second
)

// RetryAfter is how long to wait before polling the job again: short for young jobs,
// longer for old ones, 0 when it has ended.
func (j *Job) RetryAfter(now time.Time) time.Duration {
	age := now.Sub(j.CreatedAt)
	switch {
	case j.Terminal():
		return 0
	case age < quickly:
		return time.Second
	case age < slowly:
		return (age / 10).Round(time.Second)
	default:
		return max(interval, min(time.Minute, (age/20).Round(time.Second)))
	}
}

// Draft is a job to start.
type Draft struct {
	Kind   string
	Params any
	// Total is how many units of work there are, if known.
	Total int
	// Charged is how many credits it costs to start the job.
	Charged int
	// RunAt is the earliest time at which it runs; zero means now.
	RunAt time.Time
}

// Lease is the right to work on a job.
type Lease struct {
	ID     string
	Tenant tenant.ID
	Fence  int64
}

// Step is what one transaction of a job's work records.
type Step struct {
	// Checkpoint is where the work continues after this step.
	Checkpoint  any
	Done, Total int
}

// Errors that end a job's work early.
var (
	// ErrLeaseLost means that another worker has claimed the job.
	ErrLeaseLost = errors.New("the lease of the job is lost")
	// ErrCancelled means that the member cancelled the job.
	ErrCancelled = errors.New("the job is cancelled")
	// ErrYield means that the job lets others run first and continues later.
	ErrYield = errors.New("it is another job's turn")
	// ErrStopping means that the process is stopping. The job is requeued.
	ErrStopping = errors.New("the process is stopping")
)

// Failure ends a job without a retry; the member sees it.
type Failure struct {
	// Code is a stable word, Detail a sentence.
	Code, Detail string
}

// Error implements error.
func (f *Failure) Error() string { return f.Code + ": " + f.Detail }

// Fail returns a Failure.
func Fail(code, format string, args ...any) error {
	return &Failure{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Codes of failures that any kind can have.
const (
	CodeInternal = "internal"
	CodeCredits  = "out_of_credits"
	CodeFull     = "account_full"
)

// exhausted is the failure of a job that was attempted too often.
func exhausted(attempts int) *Failure {
	return &Failure{Code: CodeInternal, Detail: fmt.Sprintf("The job was given up after %d attempts, and its credits were given back. "+
		"Start it again, and report its number if it fails again.", attempts)}
}

// Kind is a kind of job.
type Kind struct {
	// Name is the kind's public name.
	Name string
	// Run does the work, starting at the run's checkpoint. What it returns is the job's
	// result, as JSON; with ErrCancelled it is the result so far. A *Failure ends the
	// job; after any other error the job is retried later.
	Run func(ctx context.Context, run *Run) (result any, err error)
	// SoFar returns, from the checkpoint, the result so far of a job that is cancelled
	// while no worker runs it; nil means that there is none.
	SoFar func(run *Run) (result any, err error)
	// Every makes it a system job, which runs again after this time.
	Every time.Duration
}

// Run is one attempt at a job.
type Run struct {
	// Job is the job as it was claimed.
	Job Job

	queue Source
	kinds []string
	now   func() time.Time
	since time.Time
}

// slice is how long a job may run while other jobs wait.
const slice = 10 * time.Second

// Yield returns ErrYield when another job should run first. A kind with long jobs calls
// it between its steps and returns the error.
func (r *Run) Yield(ctx context.Context) error {
	if r.now().Sub(r.since) < slice {
		return nil
	}
	r.since = r.now()
	waiting, err := r.queue.JobsWait(ctx, r.kinds)
	if err == nil && waiting {
		err = ErrYield
	}
	return err
}

// Lease is the lease under which the run writes.
func (r *Run) Lease() Lease {
	return Lease{ID: r.Job.ID, Tenant: r.Job.TenantID, Fence: r.Job.Fence}
}

// Params decodes the parameters of the job into into.
func (r *Run) Params(into any) error {
	if err := json.Unmarshal([]byte(r.Job.Params), into); err != nil {
		return fmt.Errorf("read the parameters of job %s: %w", r.Job.ID, err)
	}
	return nil
}

// Checkpoint decodes the checkpoint of an earlier attempt into into, and leaves it
// unchanged when there was none.
func (r *Run) Checkpoint(into any) error {
	if len(r.Job.Checkpoint) == 0 {
		return nil
	}
	if err := json.Unmarshal([]byte(r.Job.Checkpoint), into); err != nil {
		return fmt.Errorf("read the checkpoint of job %s: %w", r.Job.ID, err)
	}
	return nil
}

// StartJob queues a job, or returns the live one of the kind. Writes of a tenant happen
// one after the other, so there cannot be two.
func StartJob(ctx context.Context, tx *db.Tx, d Draft) (j *Job, started bool, err error) {
	live, err := LiveJob(ctx, tx, d.Kind)
	if err != nil || live != nil {
		return live, false, err
	}
	j, err = AddJob(ctx, tx, d)
	return j, err == nil, err
}

// AddJob queues a job, though others of its kind may be live: the index jobs_live leaves out the
// kinds of which several can be.
func AddJob(ctx context.Context, tx *db.Tx, d Draft) (*Job, error) {
	params, err := json.Marshal(d.Params)
	if err != nil {
		return nil, fmt.Errorf("encode a job's parameters: %w", err)
	}
	jobID, err := tx.NewULID(id.Job)
	if err != nil {
		return nil, err
	}
	if d.RunAt.IsZero() {
		d.RunAt = tx.Now()
	}
	j := &Job{
		ID: jobID, TenantID: tx.TenantID(), Kind: d.Kind, State: Queued, Params: string(params), Total: d.Total, RunAt: d.RunAt,
		CredentialID: tx.Actor().CredentialID, CredentialName: tx.Actor().CredentialName, Tool: tx.Actor().Tool, Trace: tracing.Traceparent(ctx),
		Period: billing.MonthOf(tx.Now()).Period, Charged: d.Charged, CreatedAt: tx.Now(), UpdatedAt: tx.Now(),
	}
	// The counter outlives the rows, so no number is used twice.
	if err := tx.NewRaw("UPDATE tenant_states SET jobs = jobs + 1 WHERE tenant_id = ? RETURNING jobs", tx.TenantID()).Scan(ctx, &j.Number); err != nil {
		return nil, err
	}
	_, err = tx.NewInsert().Model(j).Exec(ctx)
	return j, err
}

// IsQueued reports whether a job of the tenant of a kind waits to run.
func IsQueued(ctx context.Context, tx *db.Tx, kind string) (queued bool, err error) {
	err = tx.NewRaw("SELECT EXISTS (SELECT 1 FROM jobs WHERE tenant_id = ? AND kind = ? AND state = ?)", tx.TenantID(), kind, Queued).Scan(ctx, &queued)
	return queued, err
}

// LiveJob returns the tenant's job of a kind that has not ended, or nil.
func LiveJob(ctx context.Context, tx *db.Tx, kind string) (*Job, error) {
	live := &Job{}
	err := tx.From(live).Where("kind = ? AND state IN (?, ?)", kind, Queued, Running).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return live, err
}

// GetJob returns a job of the tenant by its number, or fails with fault.NotFound.
func GetJob(ctx context.Context, q db.Reader, number int32) (*Job, error) {
	j, err := getJob(ctx, q, number)
	return j, err
}

func getJob(ctx context.Context, q db.Reader, number int32) (*Job, error) {
	j := &Job{}
	err := q.From(j).Where("number = ?", number).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noJob(ctx, q, number)
	}
	return j, err
}

// noJob says that there is no job with the number, and which number is the latest.
func noJob(ctx context.Context, q db.Reader, number int32) error {
	var latest int32
	if err := q.From((*Job)(nil)).ColumnExpr("COALESCE(MAX(number), 0)").Scan(ctx, &latest); err != nil {
		return err
	}
	if latest == 0 {
		return fault.New(fault.NotFound, "there is no job %d, nor any other; the call that starts a job returns its task_id", number)
	}
	return fault.New(fault.NotFound, "there is no job %d; the latest is %d, and the call that starts a job returns its task_id", number, latest)
}

// Find returns a job of the tenant by its kind and id, or fails with fault.NotFound.
func Find(ctx context.Context, q db.Reader, kind, jobID string) (*Job, error) {
	j := &Job{}
	err := q.From(j).Where("kind = ? AND id = ?", kind, jobID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "there is no job %s", jobID)
	}
	return j, err
}

// ListJobs returns the tenant's jobs of a kind, the latest first.
func ListJobs(ctx context.Context, q db.Reader, kind string, limit int) ([]Job, error) {
	var jobs []Job
	err := q.From(&jobs).Where("kind = ?", kind).Order("number DESC").Limit(int64(limit)).Scan(ctx)
	return jobs, err
}

// Cancel is called before a job is cancelled, and ends the work that depends on the job. It reports
// false if it is too late to end that work: then the job is not cancelled.
type Cancel func(ctx context.Context, tx *db.Tx, j *Job) (bool, error)

// CancelJob calls the functions in first, and cancels nothing if one of them reports false. Otherwise a
// queued job ends, and a running one is asked to end. A queued job that has done part of its work is
// ended by the next worker that claims it, because the worker can report which part. A job that has
// ended stays as it is.
func CancelJob(ctx context.Context, tx *db.Tx, number int32, first ...Cancel) (*Job, error) {
	j, err := getJob(ctx, tx, number)
	if err != nil || j.Terminal() {
		return j, err
	}
	for _, end := range first {
		if inTime, err := end(ctx, tx, j); err != nil || !inTime {
			return j, err
		}
	}
	// Another process may claim or end it at this moment.
	_, err = tx.NewRaw(`UPDATE jobs SET cancel_requested = ?, updated_at = ?, run_at = CASE state WHEN 'queued' THEN ? ELSE run_at END,
ended_at = CASE WHEN state = 'queued' AND checkpoint = '' THEN ? ELSE ended_at END,
state = CASE WHEN state = 'queued' AND checkpoint = '' THEN 'cancelled' ELSE state END
WHERE tenant_id = ? AND number = ? AND state IN ('queued', 'running')`, true, tx.Now(), tx.Now(), tx.Now(), tx.TenantID(), number).Exec(ctx)
	if err != nil {
		return nil, err
	}
	return getJob(ctx, tx, number)
}

// WriteStep is Write for a step of a job. The step commits only while the lease holds;
// otherwise WriteStep fails with job.ErrLeaseLost or job.ErrCancelled without calling fn. A member whose
// quota is used up gets a Failure, which ends the job.
func WriteStep(ctx context.Context, t *db.Tenant, l Lease, actor db.Actor, fn func(context.Context, *db.Tx) (Step, error)) error {
	err := t.Write(ctx, actor, func(ctx context.Context, tx *db.Tx) error {
		var cancelled bool
		err := tx.NewRaw("UPDATE jobs SET attempts = 0, updated_at = ? WHERE tenant_id = ? AND id = ? AND fence = ? AND state = ? RETURNING cancel_requested",
			tx.Now(), tx.TenantID(), l.ID, l.Fence, Running).Scan(ctx, &cancelled)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return ErrLeaseLost
		case err != nil:
			return err
		case cancelled:
			return ErrCancelled
		}
		step, err := fn(ctx, tx)
		if err != nil {
			return err
		}
		checkpoint, err := json.Marshal(step.Checkpoint)
		if err != nil {
			return fmt.Errorf("encode a job's checkpoint: %w", err)
		}
		_, err = tx.NewRaw("UPDATE jobs SET checkpoint = ?, done = ?, total = ? WHERE tenant_id = ? AND id = ?",
			string(checkpoint), step.Done, step.Total, tx.TenantID(), l.ID).Exec(ctx)
		return err
	})
	if full := (*fault.Error)(nil); errors.As(err, &full) && full.Code == fault.Full {
		return Fail(CodeFull, "%s.", strings.ToUpper(full.Message[:1])+full.Message[1:])
	}
	return err
}

// Charge takes the price of a step off the balance of the month in which the job was
// started; a refund would go to the same month. When the balance is too low, it returns
// a Failure, which ends the job.
func Charge(ctx context.Context, l *billing.Ledger, tx *db.Tx, j *Job, price int) error {
	if price <= 0 {
		return nil
	}
	_, err := l.ChargeTx(ctx, tx, billing.MonthOf(j.CreatedAt), price)
	if short := (*billing.Shortage)(nil); errors.As(err, &short) {
		return Fail(CodeCredits, "%s", short.Error())
	}
	if err != nil {
		return err
	}
	_, err = tx.NewRaw("UPDATE jobs SET charged = charged + ? WHERE tenant_id = ? AND id = ?", price, tx.TenantID(), j.ID).Exec(ctx)
	return err
}

// SweepJobs deletes jobs that ended before a time.
const SweepJobs = "DELETE FROM jobs WHERE ended_at <= ?"

// KeepJobs is how long a job can be read after its end.
const KeepJobs = 30 * 24 * time.Hour

// WriteStepFor is WriteStep on behalf of the credential that started the job.
func WriteStepFor(ctx context.Context, s *db.DB, j *Job, fn func(context.Context, *db.Tx) (Step, error)) error {
	l := Lease{ID: j.ID, Tenant: j.TenantID, Fence: j.Fence}
	actor := db.Actor{CredentialID: j.CredentialID, CredentialName: j.CredentialName, Tool: j.Tool}
	return WriteStep(ctx, s.Tenant(j.TenantID, false), l, actor, fn)
}
