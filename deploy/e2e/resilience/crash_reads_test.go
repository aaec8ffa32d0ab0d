// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/resilience -run TestReadsThroughCrashes

package resilience

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// readers search until the service is killed, and record the remaining credits of each
// answer.
type readers struct {
	mu   sync.Mutex
	left []int
	wait sync.WaitGroup
}

func (r *readers) start(a harness.Agent, n int) {
	for range n {
		r.wait.Go(func() {
			for {
				left, alive := trySearch(a)
				if !alive {
					return
				}
				r.mu.Lock()
				r.left = append(r.left, left)
				r.mu.Unlock()
			}
		})
	}
}

func (r *readers) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.left)
}

// trySearch searches and returns the remaining credits, or false without an answer.
func trySearch(a harness.Agent) (left int, alive bool) {
	text, alive := tryCall(a, "search_connections", `{"query":"Ana"}`)
	var answer struct {
		Result struct {
			Meta struct {
				Credits struct{ Charged, Remaining int }
			} `json:"_meta"`
		}
	}
	err := json.Unmarshal([]byte(text), &answer)
	credits := answer.Result.Meta.Credits
	return credits.Remaining, alive && err == nil && credits.Charged == 1
}

// TestReadsThroughCrashes: kill -9 during metered reads, and while their cost is posted to
// the ledger, loses the charges of at most the reads that were answered since the last time
// they were written, and adds none: additional charges are for reads whose answers were in
// transit. A stop loses none.
func TestReadsThroughCrashes(t *testing.T) {
	t.Parallel()
	for _, way := range harness.Topologies() {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			const callers, reads, crashes = 8, 150, 4
			s := harness.NewService(t, way)
			s.Settings["KITH_CREDITS_FREE"] = "100000"
			s.Start()
			a := s.NewMember(t).Agent(t)
			a.Create(t, harness.Arguments{"name": "Ana Reyes"})
			before := s.ReadLedger(t)
			spent := func() int { return s.ReadLedger(t).Spent - before.Spent }
			answered, lost := 0, 0
			for range crashes {
				var r readers
				r.start(a, callers)
				harness.Eventually(t, "reads are answered", func() bool { return r.count() >= reads })
				written := r.count()
				harness.Eventually(t, "their charges are written", func() bool { return spent() >= answered-lost+written })
				s.Backend.Kill()
				r.wait.Wait()
				s.Restart()
				slices.Sort(r.left)
				if got := len(r.left); len(slices.Compact(r.left)) != got {
					t.Errorf("two of the %d reads of a process left the same credits: %v", got, r.left)
				}
				answered += r.count()
				lost = max(lost, answered-spent())
			}
			const more = 20
			for range more {
				if _, alive := trySearch(a); !alive {
					t.Fatal("a search failed")
				}
			}
			s.Backend.Stop()
			after := s.ReadLedger(t)
			if got := after.Spent - before.Spent; got < answered-lost+more || got > answered+more+callers*crashes || after.Calls-before.Calls != got {
				t.Errorf("%d reads were answered, %d of them lost; %d calls cost %d", answered+more, lost, after.Calls-before.Calls, got)
			}
			if after.Balance != after.Entries {
				t.Errorf("%+v", after)
			}
			t.Logf("of %d reads before crashes, %d are not charged", answered, lost)
		})
	}
}
