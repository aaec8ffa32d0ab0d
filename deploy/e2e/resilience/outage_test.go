// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/resilience -run 'TestStoreOutage|TestBackendOutage'

package resilience

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestStoreOutage: while the database is down every call gets a 503; when it is back, the
// service recovers without a restart.
func TestStoreOutage(t *testing.T) {
	harness.EachOwnThat(t, harness.IsPostgres, func(t *testing.T, s *harness.Service) {
		set := s.RestartOverProxy(t)
		a := s.NewMember(t).Agent(t)
		a.Call(t, "get_account", harness.Arguments{})
		set(true)
		checkOneLine(t, s, a.Post(t, harness.ToolCall(t, "search_connections", harness.Arguments{"query": "x"})))
		checkOneLine(t, s, s.Send(t, http.MethodGet, "/settings/exports/job_x", "", "Authorization: Bearer "+a.Bearer))
		set(false)
		checkOutage(t, s, a, set)
	})
}

// checkOneLine: each process has one line about a failed call, above the level info, and the line of the process with the
// database says why the call failed.
func checkOneLine(t *testing.T, s *harness.Service, failed harness.Response) {
	t.Helper()
	request := failed.Header.Get("X-Request-Id")
	about := func(p *harness.Program) (lines []string) {
		for line := range strings.Lines(p.Stderr.String()) {
			if strings.Contains(line, request) && !strings.Contains(strings.ToLower(line), "debug") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	harness.Eventually(t, "the call is in the log", func() bool { return len(about(s.Edge)) > 0 && len(about(s.Backend)) > 0 })
	for _, p := range s.Programs() {
		if lines := about(p); len(lines) != 1 || strings.Contains(lines[0], "level=INFO") || strings.Contains(lines[0], `"INFO"`) {
			t.Errorf("%s says of a failed call:\n%s", p.Name, strings.Join(lines, ""))
		}
	}
	if why := about(s.Backend)[0]; !strings.Contains(why, "cannot be reached") {
		t.Errorf("the log does not say why: %s", why)
	}
}

// TestBackendOutage: the same for an edge without its backend.
func TestBackendOutage(t *testing.T) {
	harness.EachOwnThat(t, harness.IsSplit, func(t *testing.T, s *harness.Service) {
		a := s.NewMember(t).Agent(t)
		checkOutage(t, s, a, func(cut bool) {
			if cut {
				s.Backend.Kill()
			} else {
				s.StartBackend()
			}
		})
	})
}

func checkOutage(t *testing.T, s *harness.Service, a harness.Agent, set func(cut bool)) {
	t.Helper()
	set(true)
	harness.CheckUnavailable(t, "a read", a.Post(t, harness.ToolCall(t, "search_connections", harness.Arguments{"query": "x"})))
	harness.CheckUnavailable(t, "a write", a.Post(t, harness.ToolCall(t, "create_connection", harness.Arguments{"name": "X"})))
	harness.CheckUnavailable(t, "a list with a token", a.Post(t, harness.Request(t, "tools/list", nil)))
	harness.CheckUnavailable(t, "a call with an unknown token", s.Agent(harness.PathCurrent, "kith_pat_unknown").Post(t, harness.ToolCall(t, "get_account", harness.Arguments{})))
	harness.CheckUnavailable(t, "the sandbox", s.SandboxAgent().Post(t, harness.ToolCall(t, "get_account", harness.Arguments{})))
	harness.CheckUnavailable(t, "the directory", s.Send(t, http.MethodGet, "/api/network/members?q=z", ""))
	harness.CheckUnavailable(t, "a profile", s.Send(t, http.MethodGet, "/api/human/nobody-here", ""))
	harness.CheckUnavailable(t, "the sandbox's description", s.Send(t, http.MethodGet, "/sandbox", ""))
	if got := (s.Agent(harness.PathCurrent, "")).Post(t, harness.Request(t, "ping", nil)); got.Status != http.StatusOK {
		t.Errorf("ping needs no store: got %d %s", got.Status, got.Body)
	}
	set(false)
	body := harness.ToolCall(t, "get_account", harness.Arguments{})
	harness.Eventually(t, "the service is back", func() bool {
		got := a.Post(t, body)
		back := got.Status == http.StatusOK && !strings.Contains(got.Body, `"isError":true`)
		if !back {
			harness.CheckUnavailable(t, "a read until then", got)
		}
		return back || t.Failed()
	})
	a.Create(t, harness.Arguments{"name": "After The Storm"})
	if found := a.Find(t, "storm"); len(found) != 1 {
		t.Errorf("found %v", found)
	}
}
