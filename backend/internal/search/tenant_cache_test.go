package search_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"pgregory.net/rapid"
)

// sum is the cached value in these tests: the sum of numbers that are added to a tenant.
type sum struct {
	of    tenant.ID
	total atomic.Int64
	size  int64
}

func (s *sum) Bytes() int64 { return s.size }

// tenants is tenants' data: number i was added at version i+1.
type tenants struct {
	mu      sync.Mutex
	numbers map[tenant.ID][]int64
	loads   int
	fail    error
}

func (w *tenants) add(t tenant.ID, number int64) (version int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.numbers[t] = append(w.numbers[t], number)
	return int64(len(w.numbers[t]))
}

func (w *tenants) load(_ context.Context, t tenant.ID, since int64, s *sum) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loads++
	if w.fail != nil {
		return 0, w.fail
	}
	if s.of != "" && s.of != t {
		return 0, fmt.Errorf("a value of %s is used for %s", s.of, t)
	}
	s.of, s.size = t, int64(len(w.numbers[t]))
	for _, number := range w.numbers[t][max(since, 0):] {
		s.total.Add(number)
	}
	return int64(len(w.numbers[t])), nil
}

func newCache(w *tenants, maxBytes int64) *search.Cache[*sum] {
	return search.NewCache(func() *sum { return &sum{} }, w.load, maxBytes)
}

// Values that take no memory, such as those of empty networks or of loads that failed, do not
// stay without limit.
func TestEntriesOfACacheAreBounded(t *testing.T) {
	t.Parallel()
	const room = 1 << 20
	for name, fail := range map[string]error{"empty": nil, "failed": errors.New("the database is down")} {
		w := &tenants{numbers: map[tenant.ID][]int64{}, fail: fail}
		cache := newCache(w, room)
		for i := range 5_000 {
			if _, err := cache.Get(t.Context(), tenant.ID(fmt.Sprint(i)), 0); !errors.Is(err, fail) {
				t.Fatal(err)
			}
		}
		if values, bytes := cache.Held(); values > room>>12 || bytes > room {
			t.Errorf("%s: holds %d values, %d bytes", name, values, bytes)
		}
	}
}

// For any order of writes and reads, each tenant gets all of its own data as of the
// requested version or later, nothing is loaded without need, and the memory stays within
// bounds.
func TestValuesFollowTheData(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &tenants{numbers: map[tenant.ID][]int64{}}
		bound := rapid.Int64Range(1, 60).Draw(t, "bound")
		cache := newCache(w, bound)
		totals, versions, seen := map[tenant.ID]int64{}, map[tenant.ID]int64{}, map[tenant.ID]int64{}
		tenants := rapid.SampledFrom([]tenant.ID{"a", "b", "c", "d"})
		for range rapid.IntRange(1, 80).Draw(t, "acts") {
			who := tenants.Draw(t, "who")
			if rapid.Bool().Draw(t, "writes") {
				number := rapid.Int64Range(1, 1000).Draw(t, "number")
				versions[who] = w.add(who, number)
				totals[who] += number
				continue
			}
			before := w.loads
			got, err := cache.Get(t.Context(), who, versions[who])
			if err != nil || got.total.Load() != totals[who] || len(w.numbers[who]) > 0 && got.of != who {
				t.Fatalf("%s gets %d of %s, not %d: %v", who, got.total.Load(), got.of, totals[who], err)
			}
			if at, ok := seen[who]; w.loads > before+1 || ok && at == versions[who] && len(seen) == 1 && w.loads > before {
				t.Fatalf("%d loads", w.loads-before)
			}
			seen[who] = versions[who]
			held, bytes := cache.Held()
			if held < 1 || held > len(seen) || bytes > bound && held > 1 {
				t.Fatalf("%d are held, %d bytes of %d", held, bytes, bound)
			}
		}
	})
}

// A request for an older version than the loaded one needs no load. After a failed load
// the old value stays, and the next request loads again.
func TestOldVersionsAndErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("outage")
	for name, c := range map[string]struct {
		atLeast int64
		fail    error
		total   int64
		loads   int
	}{
		"what is there":     {atLeast: 1, total: 5, loads: 1},
		"an older version":  {atLeast: 0, total: 5, loads: 1},
		"a newer version":   {atLeast: 2, total: 12, loads: 2},
		"an outage":         {atLeast: 2, fail: broken, total: 5, loads: 2},
		"no need in outage": {atLeast: 1, fail: broken, total: 5, loads: 1},
	} {
		w := &tenants{numbers: map[tenant.ID][]int64{}}
		cache := newCache(w, 100)
		w.add("a", 5)
		first, err := cache.Get(t.Context(), "a", 1)
		if err != nil {
			t.Fatal(err)
		}
		w.add("a", 7)
		w.fail = c.fail
		_, err = cache.Get(t.Context(), "a", c.atLeast)
		if wantErr := c.fail != nil && c.loads > 1; errors.Is(err, broken) != wantErr || first.total.Load() != c.total || w.loads != c.loads {
			t.Errorf("%s: %d after %d loads, %v", name, first.total.Load(), w.loads, err)
		}
		w.fail = nil
		if again, err := cache.Get(t.Context(), "a", 2); err != nil || again.total.Load() != 12 || again != first {
			t.Errorf("%s, later: %+v, %v", name, again, err)
		}
	}
}

// Concurrent requests for a newer version share one load, and one that gives up does not
// affect the others.
func TestLoadsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &tenants{numbers: map[tenant.ID][]int64{}}
		version := w.add("a", 5)
		release := make(chan struct{})
		cache := search.NewCache(func() *sum { return &sum{} }, func(ctx context.Context, id tenant.ID, since int64, s *sum) (int64, error) {
			<-release
			return w.load(ctx, id, since, s)
		}, 100)
		leaving, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var left, answered atomic.Int32
		ask := func(ctx context.Context, tally *atomic.Int32, want error) {
			all.Go(func() {
				got, err := cache.Get(ctx, "a", version)
				if errors.Is(err, want) && (want != nil || got.total.Load() == 5) {
					tally.Add(1)
				}
			})
		}
		ask(leaving, &left, context.Canceled)
		synctest.Wait()
		for range 20 {
			ask(t.Context(), &answered, nil)
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		if left.Load() != 1 {
			t.Error("a cancelled call still waits")
		}
		close(release)
		all.Wait()
		if answered.Load() != 20 || w.loads != 1 {
			t.Errorf("%d were answered, with %d loads", answered.Load(), w.loads)
		}
	})
}

// Prepare loads in the background, once, and Get waits for that load. If the load fails,
// Get returns the error.
func TestPrepare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &tenants{numbers: map[tenant.ID][]int64{}}
		version := w.add("a", 5)
		release := make(chan struct{})
		cache := search.NewCache(func() *sum { return &sum{} }, func(ctx context.Context, id tenant.ID, since int64, s *sum) (int64, error) {
			<-release
			return w.load(ctx, id, since, s)
		}, 100)
		ctx, leave := context.WithCancel(t.Context())
		cache.Prepare(ctx, "a", version)
		cache.Prepare(ctx, "a", version)
		leave()
		go func() {
			synctest.Wait()
			close(release)
		}()
		if got, err := cache.Get(t.Context(), "a", version); err != nil || got.total.Load() != 5 || w.loads != 1 {
			t.Errorf("%d loads, %v", w.loads, err)
		}
		cache.Prepare(t.Context(), "a", version)
		synctest.Wait()
		if w.loads != 1 {
			t.Error("a loaded value was loaded again")
		}
		w.fail = errors.New("the store is down")
		version = w.add("a", 6)
		cache.Prepare(t.Context(), "a", version)
		synctest.Wait()
		if _, err := cache.Get(t.Context(), "a", version); !errors.Is(err, w.fail) {
			t.Errorf("got %v", err)
		}
	})
}

// A panic in a load becomes its callers' error, and does not end the process.
func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	panics := true
	cache := search.NewCache(func() *sum { return &sum{} }, func(context.Context, tenant.ID, int64, *sum) (int64, error) {
		if panics {
			panic("broken")
		}
		return 1, nil
	}, 100)
	if _, err := cache.Get(t.Context(), "a", 1); err == nil {
		t.Error("a panic in a load gave no error")
	}
	panics = false
	if _, err := cache.Get(t.Context(), "a", 1); err != nil {
		t.Error(err)
	}
}

// The least recently used values are evicted, one by one, while there is too much.
func TestLeastRecentlyUsedGiveWay(t *testing.T) {
	t.Parallel()
	w := &tenants{numbers: map[tenant.ID][]int64{}}
	cache := newCache(w, 6)
	get := func(id tenant.ID) (loaded bool) {
		t.Helper()
		before := w.loads
		if _, err := cache.Get(t.Context(), id, 1); err != nil {
			t.Fatal(err)
		}
		return w.loads > before
	}
	for _, id := range []tenant.ID{"a", "b", "c"} {
		w.add(id, 1)
		w.add(id, 1)
		get(id)
	}
	get("a") // b is now the least recently used
	for range 3 {
		w.add("d", 1)
	}
	if !get("d") {
		t.Error("d was there")
	}
	want := map[tenant.ID]bool{"a": false, "d": false} // they need no load
	got := map[tenant.ID]bool{"a": get("a"), "d": get("d")}
	if held, bytes := cache.Held(); !maps.Equal(got, want) || held != 2 || bytes != 5 {
		t.Errorf("%v were loaded again; %d held, %d bytes", got, held, bytes)
	}
	if !get("b") {
		t.Error("b is still there")
	}
}
