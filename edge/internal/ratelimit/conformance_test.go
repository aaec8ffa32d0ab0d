package ratelimit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// subject is a store under test and its clock.
type subject struct {
	store ratelimit.Store
	// second is another store that shares the windows; nil for a store that cannot share them.
	second ratelimit.Store
	// window is a window length that the test can wait for.
	window time.Duration
	now    func() time.Time
	// pass waits for a short time, or moves the clock.
	pass func()
}

// TestConformance runs one suite on every store, with each kind of window.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, store := range []struct {
		name string
		open func(t *testing.T) (subject, bool)
	}{
		{"memory", memorySubject},
		{"redis", redisSubject},
		{"fallback, shared", fallbackSubject},
		{"fallback, local", localSubject},
	} {
		for _, kind := range []struct {
			name    string
			sliding bool
		}{{"fixed", false}, {"sliding", true}} {
			t.Run(store.name+"/"+kind.name, func(t *testing.T) {
				t.Parallel()
				s, ok := store.open(t)
				if !ok {
					return
				}
				conform(t, s, kind.sliding)
			})
		}
	}
}

func memorySubject(*testing.T) (subject, bool) {
	c := newClock()
	return subject{
		store: ratelimit.NewMemory(ratelimit.MemoryConfig{Now: c.Now}), window: time.Minute,
		now: c.Now, pass: func() { c.Add(100 * time.Millisecond) },
	}, true
}

// redisSubject waits in real time, because the expiry of keys in Redis uses the server's clock.
func redisSubject(t *testing.T) (subject, bool) {
	address, ok := redisAddress(t)
	if !ok {
		return subject{}, false
	}
	address, prefix := patient(t, address), newPrefix()
	return subject{
		store: openRedis(t, address, prefix), second: openRedis(t, address, prefix), window: 200 * time.Millisecond,
		now: time.Now, pass: func() { <-time.After(5 * time.Millisecond) },
	}, true
}

func fallbackSubject(t *testing.T) (subject, bool) {
	s, ok := redisSubject(t)
	if ok {
		s.store, s.second = newFallback(t, s.store), newFallback(t, s.second)
	}
	return s, ok
}

func newFallback(t *testing.T, shared ratelimit.Store) *ratelimit.Fallback {
	return ratelimit.NewFallback(shared, ratelimit.NewMemory(ratelimit.MemoryConfig{}), ratelimit.FallbackConfig{
		Nodes: 2, Budget: time.Minute,
		OnState: func(s ratelimit.State, err error) { t.Errorf("the state changed to %s: %v", s, err) },
	})
}

// localSubject is the store of a single edge that has never reached Redis.
func localSubject(t *testing.T) (subject, bool) {
	s, _ := memorySubject(t)
	f := ratelimit.NewFallback(broken{}, s.store, ratelimit.FallbackConfig{Probe: time.Hour})
	t.Cleanup(func() { _ = f.Close() })
	s.store = f
	return s, true
}

// broken is a store that always fails.
type broken struct{}

func (broken) Take(context.Context, ratelimit.Policy, string, int) (ratelimit.Taken, error) {
	return ratelimit.Taken{}, errors.New("broken")
}

func (broken) Close() error { return nil }

func conform(t *testing.T, s subject, sliding bool) {
	policy := func(name string, quota int) ratelimit.Policy {
		return ratelimit.Policy{Name: name, Quota: quota, Window: time.Minute, By: ratelimit.Address, Sliding: sliding}
	}
	t.Run("hits are admitted up to the quota", func(t *testing.T) {
		p := policy("up-to-quota", 3)
		want(t, take(t, s.store, p, "k", 1), 1, 2)
		want(t, take(t, s.store, p, "k", 1), 1, 1)
		want(t, take(t, s.store, p, "k", 1), 1, 0)
		want(t, take(t, s.store, p, "k", 1), 0, 0)
	})
	t.Run("the first of several are admitted", func(t *testing.T) {
		p := policy("several", 5)
		want(t, take(t, s.store, p, "k", 3), 3, 2)
		want(t, take(t, s.store, p, "k", 4), 2, 0)
		want(t, take(t, s.store, p, "k", 2), 0, 0)
		want(t, take(t, s.store, p, "all at once", 100), 5, 0)
	})
	t.Run("keys and policies are counted apart", func(t *testing.T) {
		p := policy("apart", 1)
		other, longer, kind := p, p, p
		other.Name, longer.Window, kind.Sliding = "apart-too", 2*p.Window, !p.Sliding
		for _, p := range []ratelimit.Policy{p, other, longer, kind} {
			for _, key := range []string{"k", "k2", ""} {
				want(t, take(t, s.store, p, key, 1), 1, 0)
			}
		}
	})
	t.Run("another quota keeps the counts", func(t *testing.T) {
		want(t, take(t, s.store, policy("changed", 4), "k", 3), 3, 1)
		want(t, take(t, s.store, policy("changed", 2), "k", 1), 0, 0)
	})
	t.Run("invalid arguments are refused", func(t *testing.T) {
		endless := policy("senseless", 1)
		endless.Window = 0
		for _, call := range []struct {
			p ratelimit.Policy
			n int
		}{{policy("senseless", 1), 0}, {policy("senseless", 1), -1}, {policy("senseless", 0), 1}, {endless, 1}} {
			if _, err := s.store.Take(t.Context(), call.p, "k", call.n); !errors.Is(err, ratelimit.ErrTake) {
				t.Errorf("take %d under %+v: %v", call.n, call.p, err)
			}
		}
	})
	t.Run("exactly the quota at once", func(t *testing.T) { exactlyAtOnce(t, policy("at-once", 40), s.store) })
	t.Run("two stores share one budget", func(t *testing.T) {
		if s.second == nil {
			return // a memory store does not share its windows
		}
		exactlyAtOnce(t, policy("two-stores", 40), s.store, s.second)
	})
	t.Run("a window ends", func(t *testing.T) {
		p := policy("ends", 3)
		p.Window = s.window
		windowEnds(t, s, p)
	})
}

// exactlyAtOnce takes ten times the quota concurrently.
func exactlyAtOnce(t *testing.T, p ratelimit.Policy, stores ...ratelimit.Store) {
	t.Helper()
	var admitted, free atomic.Int64
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range 10 * p.Quota {
		all.Go(func() {
			<-start
			taken, err := stores[i%len(stores)].Take(t.Context(), p, "k", 1)
			if err != nil || taken.Reset <= 0 || taken.Reset > p.Window || taken.Remaining < 0 {
				t.Errorf("took %+v, %v", taken, err)
			}
			admitted.Add(int64(taken.Admitted))
			free.Add(int64(taken.Remaining))
		})
	}
	close(start)
	all.Wait()
	if got := int(admitted.Load()); got != p.Quota {
		t.Errorf("admitted %d of %d", got, p.Quota)
	}
	if got, sum := int(free.Load()), p.Quota*(p.Quota-1)/2; got != sum {
		t.Errorf("the remaining hits add up to %d, not %d: two callers got the same number", got, sum)
	}
}

// windowEnds takes hits until the window ends. It must end on time: refused hits do not prolong
// it, and it does not end early.
func windowEnds(t *testing.T, s subject, p ratelimit.Policy) {
	t.Helper()
	start := s.now()
	want(t, take(t, s.store, p, "k", p.Quota), p.Quota, 0)
	end := start.Add(p.Window)
	for deadline := start.Add(100 * p.Window); s.now().Before(deadline); {
		before := s.now()
		taken := take(t, s.store, p, "k", 1)
		if taken.Admitted == 0 {
			want(t, taken, 0, 0)
			if left := end.Sub(before); taken.Reset > left+s.now().Sub(start) {
				t.Errorf("with %s left the reset is in %s", left, taken.Reset)
			}
			s.pass()
			continue
		}
		want(t, taken, 1, p.Quota-1)
		// Redis counts in milliseconds, on a clock that it does not read for each command.
		if early := end.Sub(s.now()); early > 5*time.Millisecond {
			t.Errorf("the window ended %s early", early)
		}
		return
	}
	t.Error("the window did not end")
}
