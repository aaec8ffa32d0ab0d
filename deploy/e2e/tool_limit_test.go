package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTokenForNamedTools: a token that is limited to named tools lists and calls
// those alone; the others are refused and say why, and /agent/identity tells.
func TestTokenForNamedTools(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		ada := s.newMember(t)
		ada.agent(t).create(t, arguments{"name": "Grace Hopper"})
		out := s.operate(t, "", "token", "create", ada.username, "--name", "finder", "--tool", "search_connections", "--tool", "get_connection", "--expires", "30d")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		bearer := secrets.keep("personal token", lines[len(lines)-1])
		day := time.Now().UTC().Add(30 * 24 * time.Hour).Format(time.DateOnly)
		for _, words := range []string{"holds the scopes connections.", "It may call only search_connections, get_connection.", "It expires at " + day} {
			if !strings.Contains(out, words) {
				t.Errorf("no %q in %q", words, strings.Join(lines[:len(lines)-1], "\n"))
			}
		}
		limited := agent{s, pathCurrent, bearer}
		var names []string
		for _, tool := range limited.tools(t) {
			names = append(names, tool.Name)
		}
		if slices.Sort(names); !slices.Equal(names, []string{"get_connection", "search_connections"}) {
			t.Errorf("it lists %v", names)
		}
		if found := limited.find(t, "Grace Hopper"); len(found) != 1 {
			t.Errorf("it finds %v", found)
		}
		checkRefusal(t, limited, toolCall(t, "create_connection", arguments{"name": "Nobody"}), "limited_to_tools", nil)
		checkRefusal(t, limited, toolCall(t, "get_account", arguments{}), "limited_to_tools", nil)
		got := limited.post(t, toolCall(t, "get_account", arguments{}))
		if !strings.Contains(got.body, `"allowed_tools":["search_connections","get_connection"]`) {
			t.Errorf("got %s", got.body)
		}
		var who struct {
			Tools []string `json:"tools"`
		}
		identity := s.send(t, http.MethodPost, "/agent/identity", `{"type":"service_auth"}`, "Authorization: Bearer "+bearer, "Content-Type: application/json")
		if err := json.Unmarshal([]byte(identity.body), &who); err != nil || !slices.Equal(who.Tools, []string{"search_connections", "get_connection"}) {
			t.Errorf("/agent/identity: %s", identity.body)
		}
		jobs := s.send(t, http.MethodGet, "/api/jobs/1", "", "Authorization: Bearer "+bearer)
		if jobs.status != http.StatusForbidden || !strings.Contains(jobs.body, "limited to other tools: search_connections, get_connection") {
			t.Errorf("/api/jobs: %d %s", jobs.status, jobs.body)
		}
	})
}
