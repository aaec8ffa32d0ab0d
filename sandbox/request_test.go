package sandbox_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/sandbox"
)

// rpc is the body of a ready-made request to the MCP server.
type rpc struct {
	Version string `json:"jsonrpc"`
	ID      int    `json:"id"`
	Method  string `json:"method"`
	Params  struct {
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
	} `json:"params"`
}

func TestRequestsAreWellFormed(t *testing.T) {
	t.Parallel()
	tools := map[string]map[string]any{}
	var paths []string
	for _, try := range sandbox.Requests() {
		if try.Title == "" || try.Accept == "" || !strings.HasPrefix(try.Path, "/sandbox/") {
			t.Errorf("incomplete: %+v", try)
		}
		if try.Method == "GET" {
			paths = append(paths, try.Path)
			continue
		}
		var body rpc
		if err := json.Unmarshal([]byte(try.Body), &body); err != nil || body.Version != "2.0" || try.Path != "/sandbox/mcp/v1" {
			t.Errorf("%+v: %v", try, err)
		}
		tools[body.Method+" "+body.Params.Name] = body.Params.Arguments
	}
	if want := []string{"/sandbox/api/human/demo", "/sandbox/api/human/demo.md", "/sandbox/api/network/members?q=climate&per_page=5"}; !slices.Equal(paths, want) {
		t.Errorf("got %v, want %v", paths, want)
	}
	for _, want := range []string{"tools/list ", "tools/call search_connections", "tools/call get_connection", "tools/call list_timeline", "tools/call get_account"} {
		if _, there := tools[want]; !there {
			t.Errorf("there is no %s", want)
		}
	}
	id := tools["tools/call get_connection"]["id"]
	if timeline := tools["tools/call list_timeline"]; timeline["connection_id"] != id || timeline["limit"] != 5.0 {
		t.Errorf("list_timeline has %v", timeline)
	}
	d := sandbox.Build(someDay)
	counts := map[string]int{}
	for _, i := range d.Interactions {
		for _, c := range i.ConnectionIDs {
			counts[c]++
		}
	}
	busiest := slices.MaxFunc(d.Connections, func(x, y sandbox.Connection) int { return counts[x.ID] - counts[y.ID] })
	if id != busiest.ID || counts[busiest.ID] < 5 {
		t.Errorf("the requests are about %v; %s has the most interactions, %d", id, busiest.ID, counts[busiest.ID])
	}
}

// TestSearchesMatch checks that the two searches find members by their public fields, and people by
// their current organization.
func TestSearchesMatch(t *testing.T) {
	t.Parallel()
	d := sandbox.Build(someDay)
	tries := sandbox.Requests()

	u, err := url.Parse(tries[2].Path)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query().Get("q")
	members := count(d.Members, func(m sandbox.Member) bool {
		return m.Profile.Listed && slices.Contains(m.Profile.PublicFields, "skills") && slices.Contains(m.Profile.Skills, q)
	})
	if members < 6 {
		t.Errorf("%d listed members have the skill %q, want more than one page of 5", members, q)
	}

	var body rpc
	if err := json.Unmarshal([]byte(tries[4].Body), &body); err != nil {
		t.Fatal(err)
	}
	query, _ := body.Params.Arguments["query"].(string)
	people := 0
	for _, c := range d.Connections {
		people += count(c.Positions, func(p sandbox.Position) bool {
			return p.Current && strings.Contains(strings.ToLower(p.Organization), query)
		})
	}
	if query == "" || people == 0 {
		t.Errorf("%q matches the organization of %d people", query, people)
	}
}
