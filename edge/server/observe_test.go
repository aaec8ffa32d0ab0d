package server

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// notes records the calls of observers.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

type rateNotes struct{ *notes }

func (n rateNotes) Observe(policy string, admitted, refused int) {
	n.add("%s %d %d", policy, admitted, refused)
}
func (n rateNotes) Fallback(active bool) { n.add("fallback %v", active) }

type batchNotes struct{ *notes }

func (n batchNotes) Observe(statuses map[int]int) { n.add("batch %v", statuses) }

type backendNotes struct{ *notes }

func (n backendNotes) Observe(outcome string) { n.add("backend %s", outcome) }

func (n *notes) want(t *testing.T, line string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.lines, line) {
		t.Errorf("%q was not logged, but %q", line, n.lines)
	}
}

func TestObserversAreCalled(t *testing.T) {
	t.Parallel()
	told := &notes{}
	c := testConfig(backendtest.New())
	c.Rates, c.Batches, c.Backend = rateNotes{told}, batchNotes{told}, backendNotes{told}
	c.RateLimits["batch"], c.RateLimits["directory"] = "1/60", "off"
	s := start(t, newServer(t, c))
	const items = `{"requests":[{"id":"1","path":"/api/network/members"},{"id":"2","path":"/nothing"}]}`
	for _, status := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if got := raw(t, s, post("/api/batch", items)); got.status != status {
			t.Fatalf("got %d %s", got.status, got.body)
		}
	}
	told.want(t, "batch 1 0")
	told.want(t, "batch 0 1")
	told.want(t, "backend answered")
	told.want(t, "batch map[200:1 403:1]")
	if s.Concurrency().Bound() <= 0 || s.Concurrency().Refused() != 0 {
		t.Errorf("bound %d, refused %d", s.Concurrency().Bound(), s.Concurrency().Refused())
	}
}

// TestFallbackIsObserved: while Redis does not answer, the edge counts alone.
func TestFallbackIsObserved(t *testing.T) {
	t.Parallel()
	told := &notes{}
	c := testConfig(backendtest.New())
	c.Rates, c.RedisURL = rateNotes{told}, "redis://127.0.0.1:1/0"
	c.RateLimits["directory"] = "100/60"
	s := start(t, newServer(t, c))
	for range 10 {
		if got := raw(t, s, get("/api/network/members")); got.status != http.StatusOK {
			t.Fatalf("got %d %s", got.status, got.body)
		}
	}
	told.want(t, "directory 1 0")
	told.want(t, "fallback true")
}
