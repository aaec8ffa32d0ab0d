package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

// listedTool is what tools/list tells of a tool, as far as these tests care.
type listedTool struct {
	Name        string `json:"name"`
	Annotations struct {
		ReadOnly bool `json:"readOnlyHint"`
	} `json:"annotations"`
	Meta struct {
		Group   string   `json:"kith/group"`
		Scopes  []string `json:"kith/scopes"`
		InScope *bool    `json:"kith/in_scope"`
	} `json:"_meta"`
}

func (a agent) tools(t *testing.T) []listedTool {
	t.Helper()
	var list struct {
		Tools []listedTool `json:"tools"`
	}
	if err := json.Unmarshal(a.post(t, request(t, "tools/list", nil)).reply(t).Result, &list); err != nil || len(list.Tools) == 0 {
		t.Fatalf("there are no tools: %v", err)
	}
	return list.Tools
}

// checkRefusal wants the error for a live credential that may not do this.
func checkRefusal(t *testing.T, a agent, body, reason string, scopes []string) {
	t.Helper()
	got := a.post(t, body)
	r := got.reply(t)
	if got.status != http.StatusOK || r.Error == nil || r.Error.Code != codeRefused {
		t.Fatalf("got %d %s, want -32001", got.status, got.body)
	}
	if r.Error.Data.Reason != reason || !slices.Equal(r.Error.Data.RequiredScopes, scopes) {
		t.Errorf("data is %+v, want %s %v", r.Error.Data, reason, scopes)
	}
	if string(r.ID) != "1" || r.Result != nil || got.header.Get("WWW-Authenticate") != "" || got.header.Get("Retry-After") != "" {
		t.Errorf("got %s with %v", got.body, got.header)
	}
	checkJSONBody(t, got)
}

// TestMissingScope: each tool needs its group, and a writing one `write` as well.
func TestMissingScope(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		ada := s.newMember(t)
		without := func(missing ...string) agent {
			var held []string
			for _, scope := range []string{"connections", "timeline", "organize", "reminders", "insights", "imports", "directory", "account", "write"} {
				if !slices.Contains(missing, scope) {
					held = append(held, scope)
				}
			}
			return agent{s, pathCurrent, ada.token(t, held...).bearer}
		}
		noWrite := without("write")
		groups := map[string]agent{}
		good := map[string]arguments{"get_account": {}, "get_job": ada.agent(t).call(t, "embed_objects", arguments{})}
		for _, tool := range noWrite.tools(t) {
			t.Run(tool.Name, func(t *testing.T) {
				writes := slices.Contains(tool.Meta.Scopes, "write")
				if writes == tool.Annotations.ReadOnly {
					t.Errorf("scopes %v, but readOnlyHint %v", tool.Meta.Scopes, tool.Annotations.ReadOnly)
				}
				if known := tool.Meta.InScope == nil || *tool.Meta.InScope; known == writes {
					t.Errorf("tools/list says in_scope %v to a token without write", known)
				}
				// Not even the arguments are looked at before the scope is.
				if writes {
					checkRefusal(t, noWrite, toolCall(t, tool.Name, arguments{"bogus": 1}), "missing_scope", tool.Meta.Scopes)
				}
				if len(tool.Meta.Scopes) == 0 { // any live credential will do
					agent{s, pathCurrent, ada.token(t, "directory").bearer}.call(t, tool.Name, good[tool.Name])
					return
				}
				if _, made := groups[tool.Meta.Group]; !made {
					groups[tool.Meta.Group] = without(tool.Meta.Group)
				}
				checkRefusal(t, groups[tool.Meta.Group], toolCall(t, tool.Name, arguments{}), "missing_scope", tool.Meta.Scopes)
			})
		}
	})
}

// TestWriteScopeAlone: `write` by itself opens nothing.
func TestWriteScopeAlone(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		a := agent{s, pathCurrent, s.newMember(t).token(t, "write").bearer}
		checkRefusal(t, a, toolCall(t, "create_connection", arguments{"name": "Nobody"}), "missing_scope", []string{"connections", "write"})
		checkRefusal(t, a, toolCall(t, "search_connections", arguments{"query": "nobody"}), "missing_scope", []string{"connections"})
	})
}

// TestSandboxRefusesEveryWrite: with good arguments, bad ones, and even with the
// token of a member who could write at home.
func TestSandboxRefusesEveryWrite(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		member := s.newMember(t).token(t).bearer
		for _, path := range []string{pathSandbox, pathSandboxOld} {
			for _, bearer := range []string{"", member} {
				visitor := agent{s, path, bearer}
				writing := 0
				for _, tool := range visitor.tools(t) {
					if tool.Annotations.ReadOnly {
						continue
					}
					writing++
					checkRefusal(t, visitor, toolCall(t, tool.Name, arguments{}), "read_only_account", tool.Meta.Scopes)
				}
				if writing < 19 {
					t.Errorf("%s lists %d writing tools", path, writing)
				}
				checkRefusal(t, visitor, toolCall(t, "create_connection", arguments{"name": "Zebedee Quux"}), "read_only_account", []string{"connections", "write"})
				if found := visitor.find(t, "Zebedee Quux"); len(found) != 0 {
					t.Errorf("%s: the refused write is found: %v", path, found)
				}
			}
		}
	})
}
