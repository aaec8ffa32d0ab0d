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
// the ledger, loses no charge of an answered read and adds none: additional charges are for
// reads whose answers were in transit.
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
			var r readers
			for n := 1; n <= crashes; n++ {
				r.start(a, callers)
				harness.Eventually(t, "reads are answered", func() bool { return r.count() >= n*reads })
				s.Backend.Kill()
				r.wait.Wait()
				s.Restart()
			}
			after := s.ReadLedger(t)
			answered := len(r.left)
			if spent := after.Spent - before.Spent; spent < answered || spent > answered+callers*crashes || after.Calls-before.Calls != spent {
				t.Errorf("%d reads were answered, %d calls cost %d", answered, after.Calls-before.Calls, spent)
			}
			slices.Sort(r.left)
			if after.Balance != after.Entries || len(slices.Compact(r.left)) != answered {
				t.Errorf("%+v; the reads left %v", after, r.left)
			}
		})
	}
}
