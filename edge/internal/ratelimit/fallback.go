package ratelimit

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of FallbackConfig.
const (
	DefaultBudget   = 50 * time.Millisecond
	DefaultFailures = 3
	DefaultProbe    = 500 * time.Millisecond
)

// State says which store a Fallback uses.
type State uint8

// The states.
const (
	// StateShared uses the shared store, and the local one for calls that fail there.
	StateShared State = iota
	// StateLocal uses only the local store, until the shared one answers a probe.
	StateLocal
)

// String returns the state's name for logs and metrics.
func (s State) String() string {
	if s == StateLocal {
		return "local"
	}
	return "shared"
}

// FallbackConfig configures a Fallback. The zero value works for a single edge.
type FallbackConfig struct {
	// Nodes is how many edges share the quotas. The local store divides each quota by it, but
	// admits at least one hit. Defaults to 1.
	Nodes int
	// Budget is how long one call, or all calls of a request (see NewContext), may
	// wait for the shared store. Defaults to DefaultBudget.
	Budget time.Duration
	// Failures in a row change the state to StateLocal. Defaults to DefaultFailures.
	Failures int
	// Probe is the pause between attempts to reach the shared store again.
	// Defaults to DefaultProbe.
	Probe time.Duration
	// OnState is called with every change of the state, in order, and with the error that
	// caused it; the error is nil when the shared store works again. It must return quickly
	// and must not call the Fallback. It may be nil.
	OnState func(State, error)
}

// Fallback uses a shared store while it answers in time, otherwise a local one with smaller
// quotas, so limits apply during an outage of Redis too. However often Redis fails and recovers,
// its windows and the local ones together admit at most about twice the quota, or four times if
// Redis also loses its data. An outage does not stop the service, and delays an answer by at most
// Budget.
type Fallback struct {
	shared, local Store
	config        FallbackConfig

	open     atomic.Bool  // the state is StateLocal
	failures atomic.Int32 // in a row

	mu     sync.Mutex // orders the changes of the state
	closed bool
	done   context.Context // ends the probes
	stop   context.CancelFunc
	probes sync.WaitGroup
}

// NewFallback returns a store in StateShared. It owns both stores, and starts
// nothing until the shared one fails.
func NewFallback(shared, local Store, c FallbackConfig) *Fallback {
	c.Nodes = positive(c.Nodes, 1)
	c.Budget = positive(c.Budget, DefaultBudget)
	c.Failures = positive(c.Failures, DefaultFailures)
	c.Probe = positive(c.Probe, DefaultProbe)
	if c.OnState == nil {
		c.OnState = func(State, error) {}
	}
	f := &Fallback{shared: shared, local: local, config: c}
	f.done, f.stop = context.WithCancel(context.Background())
	return f
}

// State returns the current state.
func (f *Fallback) State() State {
	if f.open.Load() {
		return StateLocal
	}
	return StateShared
}

// Take implements Store. It ignores the end of ctx: a request counts even if its caller
// disconnects.
func (f *Fallback) Take(ctx context.Context, p Policy, key string, n int) (Taken, error) {
	if err := checkTake(p, n); err != nil {
		return Taken{}, err
	}
	if f.State() == StateShared {
		if taken, ok := f.ask(ctx, p, key, n); ok {
			return taken, nil
		}
	}
	p.Quota = max(1, p.Quota/f.config.Nodes)
	return f.local.Take(ctx, p, key, n)
}

// ask calls the shared store within the rest of the budget.
func (f *Fallback) ask(ctx context.Context, p Policy, key string, n int) (Taken, bool) {
	state := fromContext(ctx)
	left := f.config.Budget - time.Duration(state.spent.Load())
	if left <= 0 {
		return Taken{}, false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), left)
	defer cancel()
	start := time.Now()
	taken, err := f.shared.Take(ctx, p, key, n)
	state.spent.Add(int64(time.Since(start)))
	if err != nil {
		f.failed(err)
		return Taken{}, false
	}
	if f.failures.Load() != 0 {
		f.failures.Store(0)
	}
	return taken, true
}

// failed counts a failure, and changes to StateLocal after Failures in a row.
func (f *Fallback) failed(err error) {
	if int(f.failures.Add(1)) < f.config.Failures {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.open.Load() {
		return
	}
	f.open.Store(true)
	f.config.OnState(StateLocal, err)
	f.probes.Go(f.probe)
}

// probe calls the shared store at intervals, until it answers or Close is called.
func (f *Fallback) probe() {
	ticker := time.NewTicker(f.config.Probe)
	defer ticker.Stop()
	for {
		select {
		case <-f.done.Done():
			return
		case <-ticker.C:
			if f.answers() {
				f.recovered()
				return
			}
		}
	}
}

// answers reports whether the shared store can count a hit of a test key. A Redis that answers PING
// may still fail to count.
func (f *Fallback) answers() bool {
	ctx, cancel := context.WithTimeout(f.done, f.config.Budget)
	defer cancel()
	_, err := f.shared.Take(ctx, Policy{Name: "probe", Quota: 1, Window: time.Second}, "probe", 1)
	return err == nil
}

func (f *Fallback) recovered() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures.Store(0)
	f.open.Store(false)
	f.config.OnState(StateShared, nil)
}

// Close ends the probes and closes both stores.
func (f *Fallback) Close() error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.stop()
	f.probes.Wait()
	return errors.Join(f.shared.Close(), f.local.Close())
}
