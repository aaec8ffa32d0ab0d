package job_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kith-crm/kith/backend/internal/job"
)

// queue is a Source with one job. It records what the runner does with the job.
type queue struct {
	mu        sync.Mutex
	job       *job.Job
	waiting   bool
	extend    error
	claimErr  error
	scheduled []string
	log       []string
	runs      []string // as observed
}

func (q *queue) note(format string, args ...any) {
	q.log = append(q.log, fmt.Sprintf(format, args...))
}

func (q *queue) ClaimJob(_ context.Context, _ []string, until time.Time) (*job.Job, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.claimErr != nil {
		return nil, q.claimErr
	}
	if q.job == nil || q.job.State != job.Queued || q.job.RunAt.After(time.Now()) {
		return nil, nil
	}
	q.job.State, q.job.LeaseUntil = job.Running, until
	q.job.Attempts++
	q.job.Fence++
	claimed := *q.job
	return &claimed, nil
}

func (q *queue) JobsWait(context.Context, []string) (bool, error) { return q.waiting, nil }

func (q *queue) ExtendLease(context.Context, job.Lease, time.Time) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.note("beat")
	return q.extend
}

func (q *queue) EndJob(_ context.Context, l job.Lease, e job.End) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.job.State = e.State
	q.note("end %s %s fence %d", e.State, e.Result, l.Fence)
	if e.Failure != nil {
		q.note("failure %s", e.Failure.Code)
	}
	if !e.Again.IsZero() {
		q.note("again in %s", time.Until(e.Again))
	}
	return nil
}

func (q *queue) ReturnJob(_ context.Context, _ job.Lease, runAt time.Time, counts bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.job.State, q.job.RunAt = job.Queued, runAt
	if !counts {
		q.job.Attempts--
	}
	q.note("return counts=%v", counts)
	return nil
}

func (q *queue) ScheduleJob(_ context.Context, kind string, _ time.Time) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.scheduled = append(q.scheduled, kind)
	return nil
}

// told returns the recorded calls, without heartbeats.
func (q *queue) told() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	var lines []string
	for _, line := range q.log {
		if line != "beat" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// runFor runs a runner on a queued job for a while.
func runFor(t *testing.T, q *queue, d time.Duration, run func(context.Context, *job.Run) (any, error), every time.Duration) {
	t.Helper()
	if q.job == nil {
		q.job = &job.Job{ID: "job_1", Kind: "test", State: job.Queued, Params: `{"n":1}`}
	}
	r := job.NewRunner(job.Config{
		Queue: q, Kinds: []job.Kind{{Name: "test", Run: run, Every: every}}, Workers: 1, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Observe: func(_ context.Context, kind, outcome string, attempt int, _ time.Duration) {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.runs = append(q.runs, fmt.Sprintf("%s %s %d", kind, outcome, attempt))
		},
	})
	r.Start(t.Context())
	r.Start(t.Context()) // does nothing
	time.Sleep(d)
	r.Stop(t.Context())
	r.Stop(t.Context())
}

// observed lists, for each case of TestRunner, the runs that Observe is called with.
var observed = map[string]string{
	"succeeds":                           "test succeeded 1",
	"has no result":                      "test succeeded 1",
	"fails for good":                     "test failed 1",
	"is retried, then fails":             "test retried 1; test retried 2; test retried 3; test retried 4; test retried 5; test failed 6",
	"panics":                             "test retried 1; test retried 2; test retried 3; test retried 4; test retried 5; test failed 6",
	"was cancelled while it was queued":  "test cancelled 1",
	"is cancelled by the heartbeat":      "test cancelled 1",
	"loses its lease":                    "test lost 1",
	"continues during an outage":         "test succeeded 1",
	"is requeued when the process stops": "test stopped 1",
	"yields when others wait":            "test yielded 1; test succeeded 1",
	"of the system":                      "test succeeded 1",
}

func TestRunner(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		queue *queue
		run   func(context.Context, *job.Run) (any, error)
		every time.Duration
		want  string
	}{
		"succeeds": {
			run:  func(context.Context, *job.Run) (any, error) { return map[string]int{"total": 3}, nil },
			want: `end succeeded {"total":3} fence 1`,
		},
		"has no result": {
			run:  func(context.Context, *job.Run) (any, error) { return nil, nil },
			want: `end succeeded  fence 1`,
		},
		"fails for good": {
			run: func(context.Context, *job.Run) (any, error) {
				return nil, job.Fail("file_unreadable", "it is %s", "empty")
			},
			want: `end failed  fence 1; failure file_unreadable`,
		},
		"is retried, then fails": {
			run: func(context.Context, *job.Run) (any, error) { return nil, errors.New("the store is down") },
			want: strings.Repeat("return counts=true; ", 5) +
				`end failed  fence 6; failure internal`,
		},
		"panics": {
			run:  func(context.Context, *job.Run) (any, error) { panic("no") },
			want: strings.Repeat("return counts=true; ", 5) + `end failed  fence 6; failure internal`,
		},
		"was cancelled while it was queued": {
			queue: &queue{job: &job.Job{Kind: "test", State: job.Queued, CancelRequested: true}},
			run:   func(context.Context, *job.Run) (any, error) { panic("it is not run") },
			want:  `end cancelled  fence 1`,
		},
		"is cancelled by the heartbeat": {
			queue: &queue{extend: job.ErrCancelled},
			run: func(ctx context.Context, _ *job.Run) (any, error) {
				<-ctx.Done()
				return map[string]int{"done": 2}, ctx.Err()
			},
			want: `end cancelled {"done":2} fence 1`,
		},
		"loses its lease": {
			queue: &queue{extend: job.ErrLeaseLost},
			run: func(ctx context.Context, _ *job.Run) (any, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
			want: ``,
		},
		"continues during an outage": {
			queue: &queue{extend: errors.New("the store is down")},
			run: func(ctx context.Context, _ *job.Run) (any, error) {
				select {
				case <-ctx.Done():
				case <-time.After(20 * time.Second):
				}
				return nil, ctx.Err()
			},
			want: `end succeeded  fence 1`,
		},
		"is requeued when the process stops": {
			run: func(ctx context.Context, _ *job.Run) (any, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
			want: `return counts=false`,
		},
		"yields when others wait": {
			queue: &queue{waiting: true},
			run: func(ctx context.Context, r *job.Run) (any, error) {
				if r.Job.Fence == 2 {
					return nil, nil
				}
				if err := r.Yield(ctx); err != nil {
					return nil, errors.New("it yields at once")
				}
				time.Sleep(11 * time.Second)
				return nil, r.Yield(ctx)
			},
			want: `return counts=false; end succeeded  fence 2`,
		},
		"of the system": {
			run:   func(context.Context, *job.Run) (any, error) { return nil, nil },
			every: time.Hour,
			want:  `end succeeded  fence 1; again in 1h0m0s`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q := cmp.Or(c.queue, &queue{})
				runFor(t, q, 3*time.Minute, c.run, c.every)
				if got := q.told(); got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
				if got, want := strings.Join(q.runs, "; "), observed[name]; got != want {
					t.Errorf("observed %s\nwant     %s", got, want)
				}
			})
		})
	}
}

func TestRunnerSchedulesTheSystemsJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{job: &job.Job{State: job.Succeeded}}
		runFor(t, q, time.Minute, nil, time.Hour)
		if len(q.scheduled) != 1 || q.scheduled[0] != "test" {
			t.Errorf("scheduled %v", q.scheduled)
		}
	})
}

func TestRunnerOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{claimErr: errors.New("the store is down")}
		go func() {
			time.Sleep(time.Minute)
			q.mu.Lock()
			defer q.mu.Unlock()
			q.claimErr = nil
		}()
		runFor(t, q, 2*time.Minute, func(context.Context, *job.Run) (any, error) { return nil, nil }, 0)
		if got := q.told(); got != "end succeeded  fence 1" {
			t.Errorf("got %s", got)
		}
	})
}

// Wake makes an idle runner check the queue at once.
func TestWake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ran := make(chan time.Time, 1)
		q := &queue{}
		r := job.NewRunner(job.Config{
			Queue: q, Now: time.Now, Poll: time.Hour, Logger: slog.New(slog.DiscardHandler),
			Kinds: []job.Kind{{Name: "test", Run: func(context.Context, *job.Run) (any, error) {
				ran <- time.Now()
				return nil, nil
			}}},
		})
		r.Start(t.Context())
		defer r.Stop(t.Context())
		synctest.Wait()
		begun := time.Now()
		q.mu.Lock()
		q.job = &job.Job{Kind: "test", State: job.Queued}
		q.mu.Unlock()
		r.Wake()
		if waited := (<-ran).Sub(begun); waited > time.Second {
			t.Errorf("it ran after %s", waited)
		}
	})
}

func TestRetryAfterGrowsWithAge(t *testing.T) {
	t.Parallel()
	born := time.Unix(0, 0)
	last := time.Duration(0)
	for _, age := range []time.Duration{0, 5 * time.Second, 30 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour} {
		j := job.Job{CreatedAt: born, State: job.Running}
		got := j.RetryAfter(born.Add(age))
		if got < last || got < time.Second || got > time.Minute || got%time.Second != 0 {
			t.Errorf("at %s: %s after %s", age, got, last)
		}
		last = got
		j.State = job.Failed
		if j.RetryAfter(born.Add(age)) != 0 {
			t.Errorf("at %s, ended: not 0", age)
		}
	}
}

func TestHub(t *testing.T) {
	t.Parallel()
	var h job.Hub
	mine, stop := h.Watch("a", 1)
	defer stop()
	again, stopAgain := h.Watch("a", 1)
	others, stopOthers := h.Watch("b", 1)
	defer stopOthers()
	stopAgain()
	h.Changed(job.Job{TenantID: "a", Number: 2})
	select {
	case <-mine:
		t.Error("woken by another job")
	default:
	}
	h.Changed(job.Job{TenantID: "a", Number: 1})
	<-mine
	<-again
	select {
	case <-others:
		t.Error("woken by another member's job")
	default:
	}
}

// A runner without workers claims nothing, but Wake and Stop can still be called.
func TestRunnerWithoutWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{job: &job.Job{ID: "job_1", Kind: "test", State: job.Queued}}
		run := func(context.Context, *job.Run) (any, error) { return nil, nil }
		r := job.NewRunner(job.Config{
			Queue: q, Kinds: []job.Kind{{Name: "test", Run: run, Every: time.Hour}}, Workers: -1, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		})
		r.Start(t.Context())
		r.Wake()
		time.Sleep(time.Minute) // of the bubble's clock
		r.Stop(t.Context())
		if q.job.State != job.Queued || len(q.scheduled) > 0 {
			t.Errorf("the job is %s, scheduled %v", q.job.State, q.scheduled)
		}
	})
}
