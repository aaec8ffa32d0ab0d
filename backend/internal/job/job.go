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
	// TenantID is empty for a job of the system.
	TenantID tenant.ID `bun:",nullzero"`
	// Number counts a member's jobs from 1.
	Number int32
	Kind   string
	State  string
	// Params say what to do, Checkpoint how far it got, Result what came of it. Each
	// is JSON that its kind knows, or empty.
	Params, Checkpoint, Result string
	// ErrorCode and ErrorDetail tell the member why it failed.
	ErrorCode   string
	ErrorDetail string
	// Done and Total count units of work; Total is 0 while it is not known.
	Done, Total int
	// Attempts counts claims since the last step.
	Attempts int
	// Fence grows with each claim.
	Fence int64
	// RunAt is when it may be claimed at the earliest.
	RunAt           time.Time
	LeaseUntil      time.Time `bun:",nullzero"`
	CancelRequested bool
	// CredentialID, CredentialName and Tool say on whose behalf it runs.
	CredentialID   string
	CredentialName string
	Tool           string
	// Charged credits of a Period are given back when it fails.
	Period    string
	Charged   int
	CreatedAt time.Time
	UpdatedAt time.Time
	EndedAt   time.Time `bun:",nullzero"`
}

// Terminal tells whether the job has ended.
func (j *Job) Terminal() bool { return Terminal(j.State) }

// Terminal tells whether a state is the last of a job.
func Terminal(state string) bool {
	return state == Succeeded || state == Failed || state == Cancelled
}

// The intervals at which a job should be looked at.
const (
	quickly  = 10 * time.Second
	slowly   = 2 * time.Minute
	interval = 10 * time.Second
)

// RetryAfter is how long to wait before looking at the job again: short for young
// jobs, longer for old ones, 0 when it has ended.
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
	// Total is how many units of work there are, if it is known.
	Total int
	// Charged is what starting it costs.
	Charged int
}

// Lease is the right to work on a job.
type Lease struct {
	ID     string
	Tenant tenant.ID
	Fence  int64
}

// Step is what one transaction of a job's work leaves behind.
type Step struct {
	// Checkpoint is where the work goes on after this step.
	Checkpoint  any
	Done, Total int
}

// What ends a job's work before its time.
var (
	// ErrLeaseLost tells that the job was given to somebody else.
	ErrLeaseLost = errors.New("the lease of the job is lost")
	// ErrCancelled tells that the member does not want it any more.
	ErrCancelled = errors.New("the job is cancelled")
	// ErrYield tells that the work goes on after that of others.
	ErrYield = errors.New("it is another job's turn")
	// ErrStopping tells that the process ends. The job is put back.
	ErrStopping = errors.New("the process is stopping")
)

// Failure ends a job for good; it is told to the member.
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

// Codes of failures that do not belong to one kind.
const (
	CodeInternal = "internal"
	CodeCredits  = "out_of_credits"
)

// exhausted is the failure of a job that was tried too often.
func exhausted(attempts int) *Failure {
	return &Failure{Code: CodeInternal, Detail: fmt.Sprintf("The job was given up after %d attempts, and its credits were given back. "+
		"Start it again, and report its number if it fails again.", attempts)}
}

// Kind is a kind of job.
type Kind struct {
	// Name is the kind's public name.
	Name string
	// Run does the work, from the run's checkpoint on. What it returns is the job's
	// result, as JSON; with ErrCancelled it is what there is so far. A *Failure ends
	// the job, and any other error has it tried again later.
	Run func(ctx context.Context, run *Run) (result any, err error)
	// SoFar tells from the checkpoint what there is of a job that is cancelled while
	// nobody works on it; nil tells nothing.
	SoFar func(run *Run) (result any, err error)
	// Every makes it a job of the system, which begins anew after this time.
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

// slice is how long a job may run while others wait.
const slice = 10 * time.Second

// Yield returns ErrYield when it is somebody else's turn. A kind whose jobs are
// long asks between its steps, and returns the error.
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

// Lease is the right under which the run writes.
func (r *Run) Lease() Lease {
	return Lease{ID: r.Job.ID, Tenant: r.Job.TenantID, Fence: r.Job.Fence}
}

// Params decodes what to do.
func (r *Run) Params(into any) error {
	if err := json.Unmarshal([]byte(r.Job.Params), into); err != nil {
		return fmt.Errorf("read the parameters of job %s: %w", r.Job.ID, err)
	}
	return nil
}

// Checkpoint decodes how far an earlier attempt got, and leaves into as it is when
// there was none.
func (r *Run) Checkpoint(into any) error {
	if len(r.Job.Checkpoint) == 0 {
		return nil
	}
	if err := json.Unmarshal([]byte(r.Job.Checkpoint), into); err != nil {
		return fmt.Errorf("read the checkpoint of job %s: %w", r.Job.ID, err)
	}
	return nil
}
