package job

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

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
