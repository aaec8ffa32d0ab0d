package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/kith-crm/kith/observability/logging"
)

// End is how a job ended.
type End struct {
	// State is Succeeded, Failed or Cancelled.
	State string
	// Result is JSON; nil when there is none.
	Result json.RawMessage
	// Failure is nil unless the job Failed.
	Failure *Failure
	// Again is when the next job of the kind is due; zero for none.
	Again time.Time
}

// Source stores jobs. Each of its methods is one transaction.
type Source interface {
	// ClaimJob leases a due job of one of the kinds until a time, the longest waiting
	// first. It skips members who already have a running job. A job whose lease expired
	// is due. It returns nil when no job is due.
	ClaimJob(ctx context.Context, kinds []string, until time.Time) (*Job, error)
	// JobsWait reports whether a job of one of the kinds could be claimed.
	JobsWait(ctx context.Context, kinds []string) (bool, error)
	// ExtendLease renews a lease. It fails with ErrLeaseLost or ErrCancelled.
	ExtendLease(ctx context.Context, l Lease, until time.Time) error
	// EndJob ends a job, and refunds the credits of a failed one. It fails with
	// ErrLeaseLost.
	EndJob(ctx context.Context, l Lease, e End) error
	// ReturnJob requeues a job to run at a given time. An attempt that ended through no
	// fault of the job does not count. It fails with ErrLeaseLost.
	ReturnJob(ctx context.Context, l Lease, runAt time.Time, counts bool) error
	// ScheduleJob queues a system job, unless one of its kind is live.
	ScheduleJob(ctx context.Context, kind string, runAt time.Time) error
}

// Config configures a Runner.
type Config struct {
	Queue Source
	Kinds []Kind
	// Workers is how many jobs run at once; 0 means 2, and a negative number none.
	Workers int
	// Lease is how long a claim holds without a heartbeat; 0 means 30 s.
	Lease time.Duration
	// Poll is about how often the runner checks the queue without a call of Wake;
	// 0 means 1 s.
	Poll time.Duration
	// Backoff is how long the first retry waits; 0 means 2 s. Each further retry waits
	// about twice as long.
	Backoff time.Duration
	Now     func() time.Time
	Logger  *slog.Logger
	// Observe is called after each run with how it ended, as metrics.Jobs counts it, and
	// the number of the attempt. It may be nil.
	Observe func(ctx context.Context, kind, outcome string, attempt int, d time.Duration)
	// Trace returns the context for a run of a kind that a trace started, and a function that ends its own trace.
	// Nil traces nothing.
	Trace func(ctx context.Context, kind, traceparent string) (_ context.Context, end func(outcome string, attempt int))
	// Changed is called with each job that was run; it may be nil.
	Changed func(Job)
}

const (
	// maxAttempts bounds the claims of a job that completes no step.
	maxAttempts = 5
	maxBackoff  = 10 * time.Minute
	// closingTime bounds the last statement of a job.
	closingTime = 10 * time.Second
)

// Runner works on jobs. It is safe for concurrent use.
type Runner struct {
	Config

	kinds map[string]Kind
	names []string
	wake  chan struct{}
	// unclaimed bounds the lines about a queue that cannot be read.
	unclaimed logging.Seldom

	mu      sync.Mutex
	cancel  context.CancelCauseFunc
	workers sync.WaitGroup
}

// NewRunner returns a runner. Start starts it.
func NewRunner(c Config) *Runner {
	for _, d := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{{&c.Lease, 30 * time.Second}, {&c.Poll, time.Second}, {&c.Backoff, 2 * time.Second}} {
		if *d.value == 0 {
			*d.value = d.fallback
		}
	}
	if c.Workers == 0 {
		c.Workers = 2
	}
	c.Workers = max(c.Workers, 0)
	if c.Changed == nil {
		c.Changed = func(Job) {}
	}
	if c.Trace == nil {
		c.Trace = func(ctx context.Context, _, _ string) (context.Context, func(string, int)) {
			return ctx, func(string, int) {}
		}
	}
	if c.Observe == nil {
		c.Observe = func(context.Context, string, string, int, time.Duration) {}
	}
	r := &Runner{Config: c, kinds: map[string]Kind{}, wake: make(chan struct{}, c.Workers)}
	for _, k := range c.Kinds {
		r.kinds[k.Name] = k
		r.names = append(r.names, k.Name)
	}
	return r
}

// Start starts the workers. They continue when ctx ends: Stop ends them.
func (r *Runner) Start(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel != nil {
		return
	}
	ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	for range r.Workers {
		r.workers.Go(func() { r.work(ctx) })
	}
}

// Stop requeues the running jobs, and waits for that until ctx ends. It may be called
// twice, or without Start.
func (r *Runner) Stop(ctx context.Context) {
	r.mu.Lock()
	cancel := r.cancel
	r.mu.Unlock()
	if cancel == nil {
		return
	}
	cancel(ErrStopping)
	done := make(chan struct{})
	go func() {
		r.workers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Wake makes the workers check the queue now.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// work claims one job after the other until the runner is stopped.
func (r *Runner) work(ctx context.Context) {
	r.schedule(ctx)
	for ctx.Err() == nil {
		j, err := r.Queue.ClaimJob(ctx, r.names, r.Now().Add(r.Lease))
		if err != nil && ctx.Err() == nil && r.unclaimed.Now() {
			r.Logger.WarnContext(ctx, "jobs cannot be claimed", "error", err)
		}
		if j != nil {
			r.run(ctx, *j)
			continue
		}
		r.rest(ctx)
	}
}

// rest waits for a call of Wake, or so long that the workers together check the queue about every Poll: each check of an
// idle process costs about half a millisecond of processor time. The time is random, so that processes that were started
// together don't poll together.
func (r *Runner) rest(ctx context.Context) {
	timer := time.NewTimer(time.Duration(r.Workers) * (r.Poll/2 + rand.N(r.Poll)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-r.wake:
	}
}

// schedule queues the system jobs.
func (r *Runner) schedule(ctx context.Context) {
	for _, k := range r.kinds {
		if k.Every == 0 {
			continue
		}
		if err := r.Queue.ScheduleJob(ctx, k.Name, r.Now()); err != nil && ctx.Err() == nil {
			r.Logger.WarnContext(ctx, "a job of the system cannot be scheduled", "kind", k.Name, "error", err)
		}
	}
}

// run runs a claimed job and records how it ended.
func (r *Runner) run(ctx context.Context, j Job) {
	r.Changed(j)
	start := r.Now()
	ctx, end := r.Trace(ctx, j.Kind, j.Trace)
	run := &Run{Job: j, queue: r.Queue, kinds: r.names, now: r.Now, since: start}
	working, stop := context.WithCancelCause(ctx)
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		r.beat(working, stop, run.Lease())
	}()
	var result any
	var err error
	switch {
	case j.CancelRequested: // cancelled during an earlier claim
		result, err = r.soFar(ctx, run), ErrCancelled
	case j.Attempts > maxAttempts:
		err = exhausted(maxAttempts)
	default:
		result, err = r.attempt(working, run)
	}
	if cause := context.Cause(working); err != nil && cause != nil {
		err = cause // more specific than the error that the kind returned
	}
	stop(nil)
	<-beats
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
	defer cancel()
	outcome := outcomeOf(err)
	if err := r.finish(closing, run, result, err); err != nil {
		outcome = runLost
		if !errors.Is(err, ErrLeaseLost) {
			r.Logger.WarnContext(ctx, "the end of a job could not be written, it will be run again", "job", j.ID, "kind", j.Kind, "error", err)
		}
	}
	end(outcome, j.Attempts)
	r.Observe(ctx, j.Kind, outcome, j.Attempts, r.Now().Sub(start))
	r.Changed(j)
}

// soFar returns the result so far of a job that was cancelled before this attempt.
func (r *Runner) soFar(ctx context.Context, run *Run) any {
	tell := r.kinds[run.Job.Kind].SoFar
	if tell == nil {
		return nil
	}
	result, err := tell(run)
	if err != nil {
		r.Logger.WarnContext(ctx, "the progress of a cancelled job cannot be read", "job", run.Job.ID, "error", err)
		return nil
	}
	return result
}

// beat renews the lease until the work ends. When the lease can't be renewed, it ends the
// work.
func (r *Runner) beat(ctx context.Context, stop context.CancelCauseFunc, l Lease) {
	const beatsPerLease = 4
	ticker := time.NewTicker(r.Lease / beatsPerLease)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := r.Queue.ExtendLease(ctx, l, r.Now().Add(r.Lease))
		if errors.Is(err, ErrLeaseLost) || errors.Is(err, ErrCancelled) {
			stop(err)
			return
		}
	}
}

// attempt runs the kind; a panic in it is an error.
func (r *Runner) attempt(ctx context.Context, run *Run) (result any, err error) {
	defer func() {
		if v := recover(); v != nil {
			r.Logger.ErrorContext(ctx, "a job panicked", "kind", run.Job.Kind, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = errors.New("panic")
		}
	}()
	return r.kinds[run.Job.Kind].Run(ctx, run)
}

// finish records how an attempt ended.
func (r *Runner) finish(ctx context.Context, run *Run, result any, err error) error {
	l := run.Lease()
	var failure *Failure
	switch {
	case err == nil:
		return r.end(ctx, run, Succeeded, result, nil)
	case errors.Is(err, ErrLeaseLost):
		return nil
	case errors.Is(err, ErrStopping), errors.Is(err, ErrYield):
		return r.Queue.ReturnJob(ctx, l, r.Now(), false)
	case errors.Is(err, ErrCancelled):
		return r.end(ctx, run, Cancelled, result, nil)
	case errors.As(err, &failure):
		return r.end(ctx, run, Failed, result, failure)
	}
	r.Logger.WarnContext(ctx, "a job failed and will be tried again", "job", run.Job.ID, "kind", run.Job.Kind, "attempt", run.Job.Attempts, "error", err)
	return r.Queue.ReturnJob(ctx, l, r.Now().Add(r.backoff(run.Job.Attempts)), true)
}

// end ends the job; a system job is queued for its next run.
func (r *Runner) end(ctx context.Context, run *Run, state string, result any, failure *Failure) error {
	e := End{State: state, Failure: failure}
	if result != nil {
		var err error
		if e.Result, err = json.Marshal(result); err != nil {
			return fmt.Errorf("encode a job's result: %w", err)
		}
	}
	if every := r.kinds[run.Job.Kind].Every; every > 0 {
		e.Again = r.Now().Add(every)
	}
	return r.Queue.EndJob(ctx, run.Lease(), e)
}

// backoff is how long to wait after an attempt: about twice as long each time.
func (r *Runner) backoff(attempt int) time.Duration {
	wait := r.Backoff
	for range attempt - 1 {
		wait = min(2*wait, maxBackoff)
	}
	return wait/2 + rand.N(wait)
}

// Outcomes of runs that do not end their job; the others are the job's final state.
const (
	runRetried = "retried"
	runYielded = "yielded"
	runStopped = "stopped"
	runLost    = "lost"
)

// outcomeOf is how a run ended, as metrics.Jobs counts it.
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return Succeeded
	case errors.Is(err, ErrLeaseLost):
		return runLost
	case errors.Is(err, ErrStopping):
		return runStopped
	case errors.Is(err, ErrYield):
		return runYielded
	case errors.Is(err, ErrCancelled):
		return Cancelled
	case errors.As(err, new(*Failure)):
		return Failed
	default:
		return runRetried
	}
}
