// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/resilience -run TestCrash

package resilience

import (
	"crypto/rand"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// writers create connections until the service is killed, and record the acknowledged
// ones.
type writers struct {
	mu           sync.Mutex
	acknowledged map[string]string // id to name
	wait         sync.WaitGroup
}

// start starts n concurrent writers.
func (w *writers) start(a harness.Agent, n int) {
	w.acknowledged = map[string]string{}
	for range n {
		w.wait.Go(func() {
			for {
				name := "Person " + rand.Text()
				id, alive := tryCreate(a, name)
				if !alive {
					return
				}
				w.mu.Lock()
				w.acknowledged[id] = name
				w.mu.Unlock()
			}
		})
	}
}

func (w *writers) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acknowledged)
}

// tryCreate creates a connection. It returns false without an acknowledgement.
func tryCreate(a harness.Agent, name string) (id string, alive bool) {
	text, alive := tryCall(a, "create_connection", `{"name":"`+name+`"}`)
	_, rest, found := strings.Cut(text, `"connection":{"id":"`)
	id, _, _ = strings.Cut(rest, `"`)
	return id, alive && found
}

// tryCall calls a tool. It returns false without a complete, successful answer.
func tryCall(a harness.Agent, tool, arguments string) (text string, alive bool) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
	req, err := http.NewRequest(http.MethodPost, a.Service.Base+a.Path, strings.NewReader(body))
	if err != nil {
		return "", false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+a.Bearer)
	res, err := harness.Client.Do(req)
	if err != nil {
		return "", false
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	text = string(answer)
	return text, err == nil && res.StatusCode == http.StatusOK && strings.Contains(text, `"isError":false`)
}

// TestCrash: kill -9 during writes loses no acknowledged write.
func TestCrash(t *testing.T) {
	harness.EachOwn(t, func(t *testing.T, s *harness.Service) {
		const callers, writes, crashes = 4, 40, 2
		a := s.NewMember(t).Agent(t)
		for range crashes {
			var w writers
			w.start(a, callers)
			harness.Eventually(t, "connections are created", func() bool { return w.count() >= writes })
			s.Backend.Kill()
			w.wait.Wait()
			s.Restart()
			if n := w.count(); n < writes {
				t.Fatalf("only %d writes were acknowledged", n)
			}
			for id, name := range w.acknowledged {
				c := a.Call(t, "get_connection", harness.Arguments{"id": id})
				if got := harness.At[string](t, c, "connection", "name"); got != name {
					t.Errorf("%s is %q, want %q", id, got, name)
				}
			}
			for id, name := range w.acknowledged {
				if found := a.Find(t, name); len(found) == 0 || found[0] != id {
					t.Errorf("the search for %q finds %v, not %s", name, found, id)
				}
			}
		}
	})
}
