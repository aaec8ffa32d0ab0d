package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

var errDown = errors.New("down")

// fakeShared is a memory store whose answers can be delayed or fail.
type fakeShared struct {
	*ratelimit.Memory

	mu    sync.Mutex
	delay time.Duration
	err   error
	calls int
}

func (f *fakeShared) set(delay time.Duration, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay, f.err = delay, err
}

func (f *fakeShared) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *fakeShared) Take(ctx context.Context, p ratelimit.Policy, key string, n int) (ratelimit.Taken, error) {
	f.mu.Lock()
	f.calls++
	delay, err := f.delay, f.err
	f.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return ratelimit.Taken{}, err
	}
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ratelimit.Taken{}, ctx.Err()
		}
	}
	if err != nil {
		return ratelimit.Taken{}, err
	}
	return f.Memory.Take(ctx, p, key, n)
}

// hangs is longer than any timeout.
const hangs = 24 * time.Hour

// fallbackBundle is a Fallback in a synctest bubble.
type fallbackBundle struct {
	*ratelimit.Fallback

	shared *fakeShared
	states []string
}

func setupFallback(t *testing.T, c ratelimit.FallbackConfig) *fallbackBundle {
	b := &fallbackBundle{shared: &fakeShared{Memory: ratelimit.NewMemory(ratelimit.MemoryConfig{})}}
	c.OnState = func(s ratelimit.State, err error) { b.states = append(b.states, fmt.Sprint(s, " ", err)) }
	b.Fallback = ratelimit.NewFallback(b.shared, ratelimit.NewMemory(ratelimit.MemoryConfig{}), c)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// took returns the duration of a hit.
func (b *fallbackBundle) took(ctx context.Context, t *testing.T) time.Duration {
	t.Helper()
	start := time.Now()
	if _, err := b.Take(ctx, perMinute, "k", 1); err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

func TestFallbackBoundsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupFallback(t, ratelimit.FallbackConfig{})
		b.shared.set(hangs, nil)
		for i, want := range []time.Duration{ratelimit.DefaultBudget, ratelimit.DefaultBudget, ratelimit.DefaultBudget, 0, 0} {
			if got := b.took(t.Context(), t); got != want {
				t.Errorf("hit %d took %s, not %s", i, got, want)
			}
		}
		if want := []string{"local context deadline exceeded"}; !slices.Equal(b.states, want) {
			t.Errorf("states %q, want %q", b.states, want)
		}
	})
}

func TestFallbackBoundsTheWaitOfARequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupFallback(t, ratelimit.FallbackConfig{})
		b.shared.set(30*time.Millisecond, nil)
		ctx := ratelimit.NewContext(t.Context())
		var all time.Duration
		for range 5 {
			all += b.took(ctx, t)
		}
		if all != ratelimit.DefaultBudget {
			t.Errorf("a request that counts five times waited %s", all)
		}
		if got := b.took(t.Context(), t); got != 30*time.Millisecond {
			t.Errorf("another request waited %s", got)
		}
		if len(b.states) != 0 {
			t.Errorf("a slow store was treated as an outage: %q", b.states)
		}
	})
}

func TestFallbackStillLimits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ quota, nodes, want int }{{10, 1, 10}, {10, 4, 2}, {3, 4, 1}, {1, 1, 1}} {
		t.Run(fmt.Sprintf("%d for %d nodes", test.quota, test.nodes), func(t *testing.T) {
			t.Parallel()
			b := setupFallback(t, ratelimit.FallbackConfig{Nodes: test.nodes})
			b.shared.set(0, errDown)
			p := perMinute
			p.Quota = test.quota
			admitted := 0
			for range 20 {
				admitted += take(t, b, p, "k", 1).Admitted
			}
			if admitted != test.want {
				t.Errorf("admitted %d, not %d", admitted, test.want)
			}
		})
	}
}

func TestFallbackRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupFallback(t, ratelimit.FallbackConfig{})
		b.shared.set(0, errDown)
		for range 100 {
			take(t, b, perMinute, "k", 1)
		}
		if n := b.shared.count(); n != ratelimit.DefaultFailures || b.State() != ratelimit.StateLocal {
			t.Errorf("%s after %d calls", b.State(), n)
		}
		time.Sleep(10*ratelimit.DefaultProbe + 1)
		if n := b.shared.count(); n != ratelimit.DefaultFailures+10 || b.State() != ratelimit.StateLocal {
			t.Errorf("%s after %d calls", b.State(), n)
		}
		b.shared.set(0, nil)
		time.Sleep(ratelimit.DefaultProbe)
		synctest.Wait()
		if b.State() != ratelimit.StateShared {
			t.Error("it did not recover")
		}
		want(t, take(t, b, perMinute, "k", 1), 1, 1)
		if want := []string{"local down", "shared <nil>"}; !slices.Equal(b.states, want) {
			t.Errorf("states %q, want %q", b.states, want)
		}

		// It fails and recovers again.
		b.shared.set(0, errDown)
		for range 3 {
			take(t, b, perMinute, "k", 1)
		}
		b.shared.set(0, nil)
		time.Sleep(ratelimit.DefaultProbe)
		synctest.Wait()
		if len(b.states) != 4 || b.State() != ratelimit.StateShared {
			t.Errorf("states %q", b.states)
		}
	})
}

func TestFallbackIgnoresSingleFailures(t *testing.T) {
	t.Parallel()
	b := setupFallback(t, ratelimit.FallbackConfig{})
	for range 10 {
		b.shared.set(0, errDown)
		take(t, b, perMinute, "k", 1)
		take(t, b, perMinute, "k", 1)
		b.shared.set(0, nil)
		take(t, b, perMinute, "k", 1)
	}
	if len(b.states) != 0 {
		t.Errorf("states %q", b.states)
	}
}

// The hit of a caller that disconnects is counted, and not treated as an outage.
func TestFallbackCountsCancelledCallers(t *testing.T) {
	t.Parallel()
	b := setupFallback(t, ratelimit.FallbackConfig{})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		if _, err := b.Take(gone, perMinute, "k", 1); err != nil {
			t.Fatal(err)
		}
	}
	want(t, take(t, b, perMinute, "k", 1), 0, 0)
	if len(b.states) != 0 {
		t.Errorf("states %q", b.states)
	}
}

func TestFallbackCloseEndsTheProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setupFallback(t, ratelimit.FallbackConfig{})
		b.shared.set(hangs, nil)
		for range 3 {
			take(t, b, perMinute, "k", 1)
		}
		time.Sleep(ratelimit.DefaultProbe + 1) // a probe is under way when Close is called
	})
}
