package job

import (
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
