package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
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
