// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/access -run TestTokenForNamedTools

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
// those; calls of other tools are refused with the reason, and /agent/identity shows the
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
		if slices.Sort(names); !slices.Equal(names, []string{"get_connection", "search_connections"}) {
			t.Errorf("it lists %v", names)
		}
		if found := limited.Find(t, "Grace Hopper"); len(found) != 1 {
			t.Errorf("it finds %v", found)
		}
		checkRefusal(t, limited, harness.ToolCall(t, "create_connection", harness.Arguments{"name": "Nobody"}), "limited_to_tools", nil)
		checkRefusal(t, limited, harness.ToolCall(t, "get_account", harness.Arguments{}), "limited_to_tools", nil)
		got := limited.Post(t, harness.ToolCall(t, "get_account", harness.Arguments{}))
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
		jobs := s.Send(t, http.MethodGet, "/api/jobs/1", "", "Authorization: Bearer "+bearer)
		if jobs.Status != http.StatusForbidden || !strings.Contains(jobs.Body, "limited to other tools: search_connections, get_connection") {
			t.Errorf("/api/jobs: %d %s", jobs.Status, jobs.Body)
		}
	})
}
