package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

const (
	one   tenant.ID = "mem_1"
	two   tenant.ID = "mem_2"
	three tenant.ID = "mem_3"
)

const plenty = 1 << 30

// source is a fake of the store: it holds the documents of tenants and counts loads.
type source struct {
	mu      sync.Mutex
	version map[tenant.ID]int64
	docs    map[tenant.ID]map[string]versioned
	loads   []load
	// before, if set, is called at the beginning of each load.
	before func(ctx context.Context, t tenant.ID) error
}

type versioned struct {
	doc index.Document
	at  int64
}

type load struct {
	tenant tenant.ID
	since  int64
}

func newSource() *source {
	return &source{version: map[tenant.ID]int64{}, docs: map[tenant.ID]map[string]versioned{}}
}

// put writes people in one transaction and returns the tenant's data version.
func (s *source) put(t tenant.ID, docs ...index.Document) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version[t]++
	if s.docs[t] == nil {
		s.docs[t] = map[string]versioned{}
	}
	for _, d := range docs {
		s.docs[t][d.ID] = versioned{doc: d, at: s.version[t]}
	}
	return s.version[t]
}

// load implements search.Source.
func (s *source) load(ctx context.Context, t tenant.ID, since int64) (search.Documents, error) {
	s.mu.Lock()
	s.loads = append(s.loads, load{t, since})
	before := s.before
	s.mu.Unlock()
	if before != nil {
		if err := before(ctx, t); err != nil {
			return search.Documents{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := search.Documents{Version: s.version[t]}
	for _, d := range s.docs[t] {
		if d.at > since {
			out.Changed = append(out.Changed, d.doc)
		}
	}
	return out, nil
}

func (s *source) wantLoads(t *testing.T, want ...load) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.loads, want) {
		t.Errorf("loads %v, want %v", s.loads, want)
	}
}

// find searches for all people and returns the ids, in order.
func find(t *testing.T, f *search.IndexCache, of tenant.ID, atLeast int64) []string {
	t.Helper()
	ids, err := try(t.Context(), f, of, atLeast)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func try(ctx context.Context, f *search.IndexCache, of tenant.ID, atLeast int64) ([]string, error) {
	result, err := f.Search(ctx, of, atLeast, index.Query{Limit: 100})
	var ids []string
	for _, hit := range result.Hits {
		ids = append(ids, hit.ID)
	}
	slices.Sort(ids)
	return ids, err
}

func wantIDs(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

func person(id string) index.Document { return index.Document{ID: id, Name: "Person " + id} }

func TestSearchIsOfOneTenant(t *testing.T) {
	t.Parallel()
	s := newSource()
	v1, v2 := s.put(one, person("a"), person("b")), s.put(two, person("c"))
	f := search.NewIndexCache(s.load, plenty)
	wantIDs(t, find(t, f, one, v1), "a", "b")
	wantIDs(t, find(t, f, two, v2), "c")
	wantIDs(t, find(t, f, three, 0))
	s.wantLoads(t, load{one, -1}, load{two, -1}, load{three, -1})
}

func TestSearchPassesTheQueryOn(t *testing.T) {
	t.Parallel()
	s := newSource()
	v := s.put(one, index.Document{ID: "a", Name: "Ana"}, index.Document{ID: "b", Name: "Bob"})
	result, err := search.NewIndexCache(s.load, plenty).Search(t.Context(), one, v, index.Query{Text: "bob"})
	if err != nil || result.Total != 1 || result.Hits[0].ID != "b" {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestCurrentIndexIsNotLoadedAgain(t *testing.T) {
	t.Parallel()
	s := newSource()
	v := s.put(one, person("a"))
	f := search.NewIndexCache(s.load, plenty)
	for _, atLeast := range []int64{v, v, v - 1, 0} {
		wantIDs(t, find(t, f, one, atLeast), "a")
	}
	s.wantLoads(t, load{one, -1})
}

// An empty tenant has version 0; its index is current after one read.
func TestEmptyTenantIsLoadedOnce(t *testing.T) {
	t.Parallel()
	s := newSource()
	f := search.NewIndexCache(s.load, plenty)
	for range 3 {
		wantIDs(t, find(t, f, one, 0))
	}
	s.wantLoads(t, load{one, -1})
}

func TestNewerVersionsAreSeen(t *testing.T) {
	t.Parallel()
	s := newSource()
	v := s.put(one, person("a"), person("b"))
	f := search.NewIndexCache(s.load, plenty)
	wantIDs(t, find(t, f, one, v), "a", "b")

	added := s.put(one, person("c"))
	wantIDs(t, find(t, f, one, v), "a", "b") // not asked for yet
	wantIDs(t, find(t, f, one, added), "a", "b", "c")

	gone := person("a")
	gone.Archived = true
	wantIDs(t, find(t, f, one, s.put(one, gone)), "b", "c")
	s.wantLoads(t, load{one, -1}, load{one, v}, load{one, added})
}

// A deleted connection leaves no document that says so: the source returns all that are
// left, and the index drops the others.
func TestWholeDocumentsReplaceTheIndex(t *testing.T) {
	t.Parallel()
	left := search.Documents{Version: 1, Changed: []index.Document{person("a"), person("b")}, Whole: true}
	f := search.NewIndexCache(func(context.Context, tenant.ID, int64) (search.Documents, error) { return left, nil }, plenty)
	wantIDs(t, find(t, f, one, 1), "a", "b")
	left = search.Documents{Version: 2, Changed: []index.Document{person("b"), person("c")}, Whole: true}
	wantIDs(t, find(t, f, one, 2), "b", "c")
	left = search.Documents{Version: 3, Changed: []index.Document{person("d")}}
	wantIDs(t, find(t, f, one, 3), "b", "c", "d")
	left = search.Documents{Version: 4, Whole: true}
	wantIDs(t, find(t, f, one, 4))
}

// The store may be ahead of the requested version; the version that it returned counts.
func TestLoadedVersionCounts(t *testing.T) {
	t.Parallel()
	s := newSource()
	v := s.put(one, person("a"))
	latest := s.put(one, person("b"))
	f := search.NewIndexCache(s.load, plenty)
	wantIDs(t, find(t, f, one, v), "a", "b")
	wantIDs(t, find(t, f, one, latest), "a", "b")
	s.wantLoads(t, load{one, -1})
}

func TestConcurrentSearchesShareOneLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		v := s.put(one, person("a"))
		release := make(chan struct{})
		s.before = func(context.Context, tenant.ID) error { <-release; return nil }
		f := search.NewIndexCache(s.load, plenty)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if ids, err := try(t.Context(), f, one, v); err != nil || !slices.Equal(ids, []string{"a"}) {
					t.Errorf("found %v, %v", ids, err)
				}
			})
		}
		synctest.Wait() // one loads, the others wait for it
		s.wantLoads(t, load{one, -1})
		close(release)
		wg.Wait()
		s.wantLoads(t, load{one, -1})
	})
}

func TestSlowLoadDelaysNoOtherTenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		v1, v2 := s.put(one, person("a")), s.put(two, person("b"))
		f := search.NewIndexCache(s.load, plenty)
		wantIDs(t, find(t, f, one, v1), "a")
		newer := s.put(one, person("c"))
		release := make(chan struct{})
		s.before = func(_ context.Context, of tenant.ID) error {
			if of == one {
				<-release
			}
			return nil
		}
		var wg sync.WaitGroup
		wg.Go(func() { wantIDs(t, find(t, f, one, newer), "a", "c") })
		synctest.Wait()
		wantIDs(t, find(t, f, two, v2), "b") // another tenant
		wantIDs(t, find(t, f, one, v1), "a") // the same tenant, for which the loaded version is enough
		close(release)
		wg.Wait()
	})
}

func TestErrorOfTheSourceIsReturnedAndRetried(t *testing.T) {
	t.Parallel()
	s := newSource()
	v := s.put(one, person("a"))
	broken := errors.New("broken")
	s.before = func(context.Context, tenant.ID) error { return broken }
	f := search.NewIndexCache(s.load, plenty)
	for range 2 {
		if _, err := try(t.Context(), f, one, v); !errors.Is(err, broken) {
			t.Fatalf("got %v", err)
		}
	}
	s.before = nil
	wantIDs(t, find(t, f, one, v), "a")
	s.wantLoads(t, load{one, -1}, load{one, -1}, load{one, -1})

	s.before = func(context.Context, tenant.ID) error { return broken }
	newer := s.put(one, person("b"))
	if _, err := try(t.Context(), f, one, newer); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	wantIDs(t, find(t, f, one, v), "a") // loaded data stays
	s.before = nil
	wantIDs(t, find(t, f, one, newer), "a", "b")
}

// A network may be so large that no caller waits until its first load ends.
func TestLoadGoesOnWhenItsCallerGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		v := s.put(one, person("a"))
		s.before = slow
		f := search.NewIndexCache(s.load, plenty)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := try(ctx, f, one, v); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		wantIDs(t, find(t, f, one, v), "a") // from the load of the earlier caller
		s.wantLoads(t, load{one, -1})
	})
}

func TestCancelledSearchStopsWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		v := s.put(one, person("a"))
		release := make(chan struct{})
		s.before = func(context.Context, tenant.ID) error { <-release; return nil }
		f := search.NewIndexCache(s.load, plenty)
		var wg sync.WaitGroup
		wg.Go(func() { wantIDs(t, find(t, f, one, v), "a") })
		synctest.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := try(ctx, f, one, v); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting: got %v", err)
		}
		close(release)
		wg.Wait()
		s.wantLoads(t, load{one, -1})
	})
}

func TestPanicWhileLoadingIsAnError(t *testing.T) {
	t.Parallel()
	s := newSource()
	v := s.put(one, person("a"))
	s.before = func(context.Context, tenant.ID) error { panic("broken") }
	f := search.NewIndexCache(s.load, plenty)
	if _, err := try(t.Context(), f, one, v); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("got %v", err)
	}
	s.before = nil
	wantIDs(t, find(t, f, one, v), "a")
}

// A search whose caller gives up while it loads does not cancel those that wait for the
// same data.
func TestWaitingSearchSharesTheLoadOfOneWhoLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSource()
		v := s.put(one, person("a"))
		s.before = slow
		f := search.NewIndexCache(s.load, plenty)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := try(ctx, f, one, v); !errors.Is(err, context.Canceled) {
				t.Errorf("the cancelled search: %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() { wantIDs(t, find(t, f, one, v), "a") })
		synctest.Wait()
		cancel()
		wg.Wait()
		s.wantLoads(t, load{one, -1})
	})
}

// slow takes a minute, unless it is cancelled.
func slow(ctx context.Context, _ tenant.ID) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Minute):
		return nil
	}
}

// many returns n documents that take some memory.
func many(n int) []index.Document {
	docs := make([]index.Document, n)
	for i := range docs {
		docs[i] = index.Document{ID: fmt.Sprintf("%04d", i), Name: fmt.Sprintf("Name%d Family%d", i, i), Notes: []string{fmt.Sprint("note ", i)}}
	}
	return docs
}

// sizeOf returns the bytes of an index of the documents.
func sizeOf(t *testing.T, docs []index.Document) int64 {
	t.Helper()
	s := newSource()
	f := search.NewIndexCache(s.load, plenty)
	find(t, f, one, s.put(one, docs...))
	indexes, bytes := f.Held()
	if indexes != 1 || bytes <= 0 {
		t.Fatalf("%d indexes of %d bytes", indexes, bytes)
	}
	return bytes
}

func wantHeld(t *testing.T, f *search.IndexCache, want int, atMost int64) {
	t.Helper()
	if indexes, bytes := f.Held(); indexes != want || bytes > atMost || bytes <= 0 {
		t.Errorf("%d indexes of %d bytes; want %d of %d at most", indexes, bytes, want, atMost)
	}
}

func TestLeastRecentlySearchedGivesWay(t *testing.T) {
	t.Parallel()
	docs := many(200)
	size := sizeOf(t, docs)
	budget := size * 5 / 2
	s := newSource()
	version := map[tenant.ID]int64{}
	for _, of := range []tenant.ID{one, two, three} {
		version[of] = s.put(of, docs...)
	}
	f := search.NewIndexCache(s.load, budget)
	search := func(of tenant.ID) {
		t.Helper()
		if ids := find(t, f, of, version[of]); len(ids) != 100 { // a full page
			t.Errorf("found %d", len(ids))
		}
	}
	search(one)
	search(two)
	wantHeld(t, f, 2, budget)
	search(one) // two is now the least recent
	search(three)
	wantHeld(t, f, 2, budget)
	s.wantLoads(t, load{one, -1}, load{two, -1}, load{three, -1})
	search(one) // still held
	s.wantLoads(t, load{one, -1}, load{two, -1}, load{three, -1})
	search(two) // built again, from the beginning; three goes
	wantHeld(t, f, 2, budget)
	search(one)
	s.wantLoads(t, load{one, -1}, load{two, -1}, load{three, -1}, load{two, -1})
}

func TestOneIndexIsAlwaysHeld(t *testing.T) {
	t.Parallel()
	s := newSource()
	v1, v2 := s.put(one, many(50)...), s.put(two, many(50)...)
	f := search.NewIndexCache(s.load, 1)
	find(t, f, one, v1)
	find(t, f, one, v1)
	wantHeld(t, f, 1, plenty)
	find(t, f, two, v2)
	find(t, f, two, v2)
	wantHeld(t, f, 1, plenty)
	s.wantLoads(t, load{one, -1}, load{two, -1})
}

func TestGrownIndexIsCountedAnew(t *testing.T) {
	t.Parallel()
	docs := many(400)
	s := newSource()
	f := search.NewIndexCache(s.load, plenty)
	find(t, f, one, s.put(one, docs[:1]...))
	_, small := f.Held()
	find(t, f, one, s.put(one, docs[1:]...))
	if _, grown := f.Held(); grown <= small {
		t.Errorf("%d bytes grew to %d", small, grown)
	}
}

func TestChangedIndexIsCountedOnce(t *testing.T) {
	t.Parallel()
	docs := many(200)
	s := newSource()
	f := search.NewIndexCache(s.load, plenty)
	find(t, f, one, s.put(one, docs...))
	_, before := f.Held()
	for range 20 {
		find(t, f, one, s.put(one, docs[0]))
	}
	if _, after := f.Held(); after > 2*before {
		t.Errorf("%d bytes became %d, though nothing was added", before, after)
	}
}

// While the indexes of many tenants evict each other, the bytes that Held counts stay right, and no
// search fails or returns another tenant's people.
func TestConcurrentEviction(t *testing.T) {
	t.Parallel()
	docs := many(50)
	budget := sizeOf(t, docs) * 3
	s := newSource()
	f := search.NewIndexCache(s.load, budget)
	tenants := make([]tenant.ID, 8)
	for i := range tenants {
		tenants[i] = tenant.ID(fmt.Sprintf("mem_%d", i))
		s.put(tenants[i], append(many(50), index.Document{ID: string(tenants[i]), Name: "Only Mine"})...)
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 60 {
				of := tenants[(i*7+w)%len(tenants)]
				version := int64(1)
				if i%20 == 0 {
					version = s.put(of, index.Document{ID: "0000", Name: fmt.Sprint("Changed ", i)})
				}
				found, err := f.Search(t.Context(), of, version, index.Query{Text: "only mine"})
				if err != nil || found.Total != 1 || found.Hits[0].ID != string(of) {
					t.Errorf("%s: %+v, %v", of, found, err)
				}
			}
		})
	}
	wg.Wait()
	find(t, f, tenants[0], s.put(tenants[0], person("last"))) // counts the memory and evicts once more
	indexes, bytes := f.Held()
	if bytes > budget || bytes <= 0 || indexes < 1 || indexes > 3 {
		t.Errorf("%d indexes of %d bytes, budget %d", indexes, bytes, budget)
	}
}
