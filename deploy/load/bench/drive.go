package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"
)

// callers is the number of concurrent clients of a target.
const callers = 16

// warm is how long a target runs before it is measured, unless that is more than twice as long as it is
// measured.
const warm = 400 * time.Millisecond

// usage is the processor time of a service and of its database server.
type usage struct{ service, database time.Duration }

// since returns what was used after before.
func (u usage) since(before usage) usage {
	return usage{u.service - before.service, u.database - before.database}
}

// target is a kind of request to a service.
type target struct {
	name string
	addr string
	// next returns the n-th request; it is called once for each n.
	next func(n int) call
	// used returns the processor time so far.
	used func() (usage, error)
	// ready is the number of requests after which it is warm, such as one per member.
	ready int
	// instead replaces the measurement with another one; it may be nil.
	instead func(window time.Duration) (sample, error)

	people  int    // the size of the network, if known
	counted counts // of one call, if people is known
	peer    bool   // another program than Kith
	failed  bool

	made atomic.Int64
}

// sample is one measurement of a target, per call. SQLite runs in the service.
type sample struct {
	Calls    int     `json:"calls"`
	Service  float64 `json:"service_us"`
	Database float64 `json:"database_us"`
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
	Bytes    int     `json:"answer_bytes"`
}

// sampleOf returns the sample of calls with these latencies and this processor time in total.
func sampleOf(took []float64, used usage, bytes int) sample {
	n := len(took)
	return sample{
		Calls: n, Service: micros(used.service) / float64(n), Database: micros(used.database) / float64(n),
		P50: quantile(0.5, took), P99: quantile(0.99, took), Bytes: bytes / n,
	}
}

func micros(d time.Duration) float64 { return float64(d) / 1e3 }

// quantile returns a quantile of values in any order; 0 of none.
func quantile(p float64, values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stat.Quantile(p, stat.Empirical, slices.Sorted(slices.Values(values)), nil)
}

// measure keeps all connections of the target busy for the window.
func (t *target) measure(ctx context.Context, window time.Duration) (sample, error) {
	if t.instead != nil {
		return t.instead(window)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		counts atomic.Bool
		mu     sync.Mutex
		took   []float64
		bytes  int
	)
	group, busy := errgroup.WithContext(ctx)
	for range callers {
		group.Go(func() error {
			for busy.Err() == nil {
				next := t.next(int(t.made.Add(1) - 1))
				start := time.Now()
				body, _, err := next.send(t.addr)
				if err != nil {
					return fmt.Errorf("%s: %w", t.name, err)
				}
				if counts.Load() {
					mu.Lock()
					took, bytes = append(took, micros(time.Since(start))), bytes+len(body)
					mu.Unlock()
				}
			}
			return nil
		})
	}
	enough := t.made.Load() + int64(t.ready)
	for pause(busy, min(warm, 2*window)); t.made.Load() < enough && busy.Err() == nil; {
		pause(busy, warm/10)
	}
	before, err := t.used()
	counts.Store(true)
	pause(busy, window)
	counts.Store(false)
	after, usedErr := t.used()
	cancel()
	if err := errors.Join(group.Wait(), err, usedErr); err != nil {
		return sample{}, err
	}
	if len(took) == 0 {
		return sample{}, fmt.Errorf("%s: no answer within %s", t.name, window)
	}
	return sampleOf(took, after.since(before), bytes), nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// each makes n calls, some at a time, and returns the latencies of those that succeed, in milliseconds, and
// the number of the others and the first error.
func each(n, atATime int, send func(i int) error) (took []float64, failed int, err error) {
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(atATime)
	for i := range n {
		group.Go(func() error {
			start := time.Now()
			failure := send(i)
			mu.Lock()
			defer mu.Unlock()
			if failure != nil {
				failed, err = failed+1, cmp.Or(err, failure)
				return nil
			}
			took = append(took, micros(time.Since(start))/1e3)
			return nil
		})
	}
	return took, failed, cmp.Or(group.Wait(), err)
}

// comparison is a ratio of the processor time of two targets, with its aim. Without a second target, it only
// measures the first.
type comparison struct {
	what   string
	of, to *target
	aim    float64 // 0 for none
	// times multiplies the cost of to: 20 to compare a batch with 20 single reads.
	times float64
}

// compare measures all targets, round after round, and reports the ratios.
func (b *bench) compare(ctx context.Context, name string, list []comparison) error {
	targets := targetsOf(list)
	samples := map[*target][]sample{}
	for round := range b.rounds {
		fmt.Fprintf(os.Stderr, "%s: round %d of %d, load %s\n", name, round+1, b.rounds, load())
		for _, t := range targets {
			if t.failed {
				continue
			}
			s, err := t.measure(ctx, b.windowOf(t))
			switch {
			case err == nil:
				samples[t] = append(samples[t], s)
			case (t.people > 0 || t.peer) && ctx.Err() == nil: // the other targets can still be measured
				b.report.missing(name, err) // the error names the target
				t.failed = true
			default:
				return err
			}
		}
		slices.Reverse(targets) // so that a drift of the machine cancels out
	}
	for _, t := range targets {
		if !t.failed {
			b.report.addTarget(name, t, samples[t])
		}
	}
	for _, c := range list {
		if c.to != nil && !c.to.failed && !c.of.failed {
			b.report.addRatio(name, c, samples[c.of], samples[c.to])
		}
	}
	return nil
}

// windowOf returns how long a target is measured in a round.
func (b *bench) windowOf(t *target) time.Duration {
	if t.people > 0 {
		return b.window / 5
	}
	return b.window
}

// targetsOf returns each target once.
func targetsOf(list []comparison) (targets []*target) {
	for _, c := range list {
		for _, t := range []*target{c.to, c.of} {
			if t != nil && !slices.Contains(targets, t) {
				targets = append(targets, t)
			}
		}
	}
	return targets
}
