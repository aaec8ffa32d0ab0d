package publicapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/page"
)

// counting is a backend with one member that counts its calls.
type counting struct {
	Backend

	calls atomic.Int64
	hold  chan struct{} // if not nil, calls wait until it is closed
}

func (c *counting) BatchGetProfiles(_ context.Context, usernames ...string) ([]*directoryv1.Profile, error) {
	c.calls.Add(1)
	if c.hold != nil {
		<-c.hold
	}
	if usernames[0] == "nobody" {
		return nil, nil
	}
	return []*directoryv1.Profile{{Username: usernames[0], Name: new("Amara Okafor"), Bio: new("I build microgrids.")}}, nil
}

func countingAPI(t testing.TB, backend Backend, ttl time.Duration, now func() time.Time) *API {
	t.Helper()
	pages, err := page.New("https://kith.example", "/assets/docs.css")
	if err != nil {
		t.Fatal(err)
	}
	api, err := New(Options{
		Backend: backend, Problems: httpapi.NewProblems("https://kith.example"), Pages: pages, Logger: slog.New(slog.DiscardHandler),
		BaseURL: "https://kith.example", CacheTTL: ttl, Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func TestProfilesAreCached(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	backend := &counting{}
	api := countingAPI(t, backend, time.Second, func() time.Time { return now })
	read := func(username string, f format, wantCalls int64) {
		t.Helper()
		w := httptest.NewRecorder()
		api.serveProfile(w, httptest.NewRequest("GET", "/", nil), username, f)
		if got := backend.calls.Load(); got != wantCalls {
			t.Errorf("%d calls, want %d", got, wantCalls)
		}
	}
	read("amara", asJSON, 1)
	read("Amara", asJSON, 1)
	read("amara", asMarkdown, 2)
	read("other", asJSON, 3)
	read("amara", asPage, 4)
	read("amara", asPage, 4)
	now = now.Add(999 * time.Millisecond)
	read("amara", asJSON, 4)
	now = now.Add(time.Millisecond)
	read("amara", asJSON, 5)
	read("nobody", asJSON, 6)
	read("nobody", asJSON, 7)
}

func TestNoCacheWithoutTTL(t *testing.T) {
	t.Parallel()
	backend := &counting{}
	api := countingAPI(t, backend, 0, nil)
	for range 2 {
		api.serveProfile(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil), "amara", asJSON)
	}
	if got := backend.calls.Load(); got != 2 {
		t.Errorf("%d calls", got)
	}
}

// Simultaneous requests for one profile make one call of the backend.
func TestConcurrentMissesAreOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backend := &counting{hold: make(chan struct{})}
		api := countingAPI(t, backend, time.Second, nil)
		var wg sync.WaitGroup
		statuses := make([]int, 20)
		for i := range statuses {
			wg.Go(func() {
				w := httptest.NewRecorder()
				api.serveProfile(w, httptest.NewRequest("GET", "/", nil), "amara", asJSON)
				statuses[i] = w.Code
			})
		}
		synctest.Wait()
		close(backend.hold)
		wg.Wait()
		for _, status := range statuses {
			if status != 200 {
				t.Errorf("statuses %v", statuses)
				break
			}
		}
		if got := backend.calls.Load(); got != 1 {
			t.Errorf("%d calls", got)
		}
	})
}

func BenchmarkCacheHit(b *testing.B) {
	api := countingAPI(b, &counting{}, time.Hour, nil)
	for i := range maxCached {
		if _, err := api.profiles.read(b.Context(), profileKey{username: fmt.Sprint("member-", i)}); err != nil {
			b.Fatal(err)
		}
	}
	key := profileKey{username: "member-1234"}
	b.ReportAllocs()
	for b.Loop() {
		if document, err := api.profiles.read(b.Context(), key); document == nil || err != nil {
			b.Fatal("miss", err)
		}
	}
}
