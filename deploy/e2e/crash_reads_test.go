package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// readers search until the service dies, and remember what was left after each answer.
type readers struct {
	mu       sync.Mutex
	left     map[int]bool
	answered int
	twice    []int
	wait     sync.WaitGroup
}

func (r *readers) start(a agent, n int) {
	for range n {
		r.wait.Go(func() {
			for {
				left, alive := trySearch(a)
				if !alive {
					return
				}
				r.mu.Lock()
				if r.left[left] {
					r.twice = append(r.twice, left)
				}
				r.left[left] = true
				r.answered++
				r.mu.Unlock()
			}
		})
	}
}

func (r *readers) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.answered
}

// trySearch searches, and reports what the call left of the credits, or false when
// no answer came.
func trySearch(a agent) (left int, alive bool) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_connections","arguments":{"query":"Ana"}}}`
	req, err := http.NewRequest(http.MethodPost, a.service.base+a.path, strings.NewReader(body))
	if err != nil {
		return 0, false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+a.bearer)
	res, err := browser.Do(req)
	if err != nil {
		return 0, false
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Result struct {
			Meta struct {
				Credits struct{ Charged, Remaining int }
			} `json:"_meta"`
		}
	}
	if json.NewDecoder(res.Body).Decode(&answer) != nil || answer.Result.Meta.Credits.Charged != 1 {
		return 0, false
	}
	return answer.Result.Meta.Credits.Remaining, true
}

// TestReadsThroughCrashes: kill -9 in the middle of metered reads, and of posting
// what they cost to the ledger, loses no credit of a read that was answered and
// invents none: what is charged besides are reads whose answers were on their way.
func TestReadsThroughCrashes(t *testing.T) {
	t.Parallel()
	for _, way := range topologies() {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			const callers, reads, crashes = 8, 150, 4
			s := newService(t, way)
			s.settings["KITH_CREDITS_FREE"] = "100000"
			s.start()
			a := s.newMember(t).agent(t)
			a.create(t, arguments{"name": "Ana Reyes"})
			before := s.ledger(t)
			r := readers{left: map[int]bool{}}
			for n := 1; n <= crashes; n++ {
				r.start(a, callers)
				eventually(t, "reads are being answered", func() bool { return r.count() >= n*reads })
				s.core.kill()
				r.wait.Wait()
				s.restart()
			}
			db := s.openDatabase(t)
			eventually(t, "what the last life left is posted", func() bool {
				lines := -1
				if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM credit_journal").Scan(&lines); err != nil {
					t.Error(err)
				}
				return lines == 0
			})
			after := s.ledger(t)
			if spent := after.spent - before.spent; spent < r.answered || spent > r.answered+callers*crashes || after.calls-before.calls != spent {
				t.Errorf("%d reads were answered, %d calls cost %d", r.answered, after.calls-before.calls, spent)
			}
			if after.balance != after.entries || len(r.twice) > 0 {
				t.Errorf("%+v; left after two reads each: %v", after, r.twice)
			}
		})
	}
}
