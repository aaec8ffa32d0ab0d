package ratelimit_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// model is the simplest correct window: it stores the times of the admitted hits.
type model struct {
	policy   ratelimit.Policy
	admitted []time.Time
	anchor   time.Time // of a fixed window; zero before the first hit
}

func (m *model) take(n int, now time.Time) ratelimit.Taken {
	if !m.policy.Sliding && !now.Before(m.anchor.Add(m.policy.Window)) {
		m.anchor = now
	}
	used, oldest := 0, now
	for i := len(m.admitted) - 1; i >= 0 && m.counts(m.admitted[i], now); i-- {
		used++
		oldest = m.admitted[i]
	}
	if !m.policy.Sliding {
		oldest = m.anchor
	}
	admitted := min(n, m.policy.Quota-used)
	for range admitted {
		m.admitted = append(m.admitted, now)
	}
	return ratelimit.Taken{
		Admitted: admitted, Remaining: m.policy.Quota - used - admitted,
		Reset: oldest.Add(m.policy.Window).Sub(now),
	}
}

func (m *model) counts(hit, now time.Time) bool {
	if m.policy.Sliding {
		return now.Sub(hit) < m.policy.Window
	}
	return !hit.Before(m.anchor)
}

// most returns the maximum number of hits in any period of that length.
func (m *model) most(length time.Duration) int {
	most, first := 0, 0
	for i, hit := range m.admitted {
		for hit.Sub(m.admitted[first]) >= length {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// A window admits as many hits as the model, for any sequence of hits.
func TestWindows(t *testing.T) {
	t.Parallel()
	t.Run("memory, sliding", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) { checkWindow(t, true, memoryAt) })
	})
	t.Run("memory, fixed", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) { checkWindow(t, false, memoryAt) })
	})
	t.Run("redis, sliding", func(t *testing.T) {
		t.Parallel()
		address, ok := redisAddress(t)
		if !ok {
			return
		}
		r, c := openRedis(t, patient(t, address), newPrefix()), newClock()
		r.SetClock(c.Now)
		runs := 0
		rapid.Check(t, func(t *rapid.T) {
			runs++
			checkWindow(t, true, func() (ratelimit.Store, *clock, string) { return r, c, fmt.Sprint("key ", runs) })
		})
	})
}

func memoryAt() (ratelimit.Store, *clock, string) {
	c := newClock()
	return ratelimit.NewMemory(ratelimit.MemoryConfig{Now: c.Now}), c, "key"
}

func checkWindow(t *rapid.T, sliding bool, open func() (ratelimit.Store, *clock, string)) {
	store, c, key := open()
	p := ratelimit.Policy{
		Name: "p", By: ratelimit.Address, Sliding: sliding,
		Quota:  rapid.IntRange(1, 12).Draw(t, "quota"),
		Window: time.Duration(rapid.IntRange(1, 3).Draw(t, "window")) * time.Second,
	}
	m := &model{policy: p}
	// Quarters of a second hit the windows' ends exactly, microseconds miss them.
	step := rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 8), func(n int) time.Duration { return time.Duration(n) * 250 * time.Millisecond }),
		rapid.Map(rapid.IntRange(0, 1_500_000), func(n int) time.Duration { return time.Duration(n) * time.Microsecond }),
	)
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		c.Add(step.Draw(t, "pause"))
		n := rapid.IntRange(1, 15).Draw(t, "hits")
		got, err := store.Take(t.Context(), p, key, n)
		if want := m.take(n, c.Now()); err != nil || got != want {
			t.Fatalf("take %d: got %+v (%v), want %+v", n, got, err, want)
		}
	}
	limit := p.Quota
	if !sliding {
		limit = 2*p.Quota - 1 // the end of one window and the start of the next
	}
	if most := m.most(p.Window); most > limit {
		t.Fatalf("a period of %s has %d hits, the quota is %d", p.Window, most, p.Quota)
	}
}
