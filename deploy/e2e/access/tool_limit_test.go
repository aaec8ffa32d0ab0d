// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/access -run 'TestTokenForNamedTools|TestJobsOfATokenForOneTool'

package access

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestTokenForNamedTools: a token that is limited to named tools lists and calls only
// those, get_account and get_job; calls of other tools are refused with the reason, and /agent/identity shows the
// limit.
func TestTokenForNamedTools(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		ada.Agent(t).Create(t, harness.Arguments{"name": "Grace Hopper"})
		out := s.Operate(t, "", "token", "create", ada.Username, "--name", "finder", "--tool", "search_connections", "--tool", "get_connection", "--expires", "30d")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		bearer := harness.Secrets.Keep("personal token", lines[len(lines)-1])
		day := time.Now().UTC().Add(30 * 24 * time.Hour).Format(time.DateOnly)
		for _, words := range []string{"holds the scopes connections.", "It may call only search_connections, get_connection.", "It expires at " + day} {
			if !strings.Contains(out, words) {
				t.Errorf("no %q in %q", words, strings.Join(lines[:len(lines)-1], "\n"))
			}
		}
		limited := s.Agent(harness.PathCurrent, bearer)
		var names []string
		for _, tool := range limited.Tools(t) {
			names = append(names, tool.Name)
		}
		if slices.Sort(names); !slices.Equal(names, []string{"get_account", "get_connection", "get_job", "search_connections"}) {
			t.Errorf("it lists %v", names)
		}
		if found := limited.Find(t, "Grace Hopper"); len(found) != 1 {
			t.Errorf("it finds %v", found)
		}
		checkRefusal(t, limited, harness.ToolCall(t, "create_connection", harness.Arguments{"name": "Nobody"}), "limited_to_tools", nil)
		limited.Call(t, "get_account", harness.Arguments{})
		got := limited.Post(t, harness.ToolCall(t, "create_connection", harness.Arguments{"name": "Nobody"}))
		if !strings.Contains(got.Body, `"allowed_tools":["search_connections","get_connection"]`) {
			t.Errorf("got %s", got.Body)
		}
		var who struct {
			Tools []string `json:"tools"`
		}
		identity := s.Send(t, http.MethodPost, "/agent/identity", `{"type":"service_auth"}`, "Authorization: Bearer "+bearer, "Content-Type: application/json")
		if err := json.Unmarshal([]byte(identity.Body), &who); err != nil || !slices.Equal(who.Tools, []string{"search_connections", "get_connection"}) {
			t.Errorf("/agent/identity: %s", identity.Body)
		}
		start := limited.StartJob(t, "embed_objects")
		if start.Status != http.StatusForbidden || !strings.Contains(start.Body, "limited to other tools: search_connections, get_connection") {
			t.Errorf("POST /api/jobs: %d %s", start.Status, start.Body)
		}
		if job := s.Send(t, http.MethodGet, "/api/jobs/1", "", "Authorization: Bearer "+bearer); job.Status != http.StatusNotFound {
			t.Errorf("the refused start left a job: %d %s", job.Status, job.Body)
		}
	})
}

// TestJobsOfATokenForOneTool: a token that is limited to the tool of a kind starts a job over plain HTTP
// and follows it; the start is charged once.
func TestJobsOfATokenForOneTool(t *testing.T) {
	harness.EachPlain(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		out := s.Operate(t, "", "token", "create", ada.Username, "--name", "embedder", "--tool", "embed_objects")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		agent := s.Agent(harness.PathCurrent, harness.Secrets.Keep("personal token", lines[len(lines)-1]))
		start := agent.StartJob(t, "embed_objects")
		if start.Status != http.StatusAccepted || start.Header.Get("Location") != s.Base+"/api/jobs/1" || start.Header.Get("Retry-After") == "" {
			t.Fatalf("%d %s", start.Status, start.Body)
		}
		if job := agent.AwaitJob(t, 1); job["state"] != "succeeded" {
			t.Errorf("the job is %v", job)
		}
		if used := harness.At[float64](t, agent.Call(t, "get_account", harness.Arguments{}), "credits", "used"); used != 2 {
			t.Errorf("%v credits are used, want 2", used)
		}
	})
}
