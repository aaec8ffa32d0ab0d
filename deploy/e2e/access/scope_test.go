// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/access -run 'TestMissingScope|TestWriteScopeAlone|TestSandboxRefusesEveryWrite'

package access

import (
	"net/http"
	"slices"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// checkRefusal fails the test unless a valid credential is refused with the reason.
func checkRefusal(t *testing.T, a harness.Agent, body, reason string, scopes []string) {
	t.Helper()
	got := a.Post(t, body)
	checkRefused(t, got, reason, scopes)
	if id := string(got.Reply(t).ID); id != "1" {
		t.Errorf("the id is %s", id)
	}
}

// checkRefused fails the test unless the error refuses the call with this reason and
// lists the scopes that it needs.
func checkRefused(t *testing.T, got harness.Response, reason string, scopes []string) {
	t.Helper()
	r := got.Reply(t)
	if r.Error == nil {
		t.Fatalf("got %d %s, want %d", got.Status, got.Body, harness.CodeRefused)
	}
	type refusal struct {
		Status, Code          int
		Reason                string
		Scopes                []string
		Result                string
		Challenge, RetryAfter string
	}
	harness.CheckSame(t, "the refusal", refusal{
		got.Status, r.Error.Code, r.Error.Data.Reason, append([]string{}, r.Error.Data.RequiredScopes...), string(r.Result),
		got.Header.Get("WWW-Authenticate"), got.Header.Get("Retry-After"),
	}, refusal{Status: http.StatusOK, Code: harness.CodeRefused, Reason: reason, Scopes: append([]string{}, scopes...)})
	harness.CheckJSONBody(t, got)
}

// TestMissingScope: each tool needs the scope of its group; a writing tool needs `write`
// as well.
func TestMissingScope(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		without := func(missing ...string) harness.Agent {
			var held []string
			for _, scope := range []string{"connections", "timeline", "organize", "reminders", "insights", "imports", "directory", "account", "write"} {
				if !slices.Contains(missing, scope) {
					held = append(held, scope)
				}
			}
			return s.Agent(harness.PathCurrent, ada.Token(t, held...).Bearer)
		}
		noWrite := without("write")
		groups := map[string]harness.Agent{}
		good := map[string]harness.Arguments{"get_account": {}, "get_job": {"task_id": ada.Agent(t).Call(t, "embed_objects", harness.Arguments{})["task_id"]}}
		listed := noWrite.Tools(t)
		for _, tool := range s.Agent(harness.PathCurrent, "").Tools(t) {
			t.Run(tool.Name, func(t *testing.T) {
				writes := slices.Contains(tool.Meta.Scopes, "write")
				if writes == tool.Annotations.ReadOnly {
					t.Errorf("scopes %v, but readOnlyHint %v", tool.Meta.Scopes, tool.Annotations.ReadOnly)
				}
				if known := slices.ContainsFunc(listed, func(one harness.ListedTool) bool { return one.Name == tool.Name }); known == writes {
					t.Errorf("tools/list of a token without write has it: %v", known)
				}
				// The scope is checked before the arguments.
				if writes {
					checkRefusal(t, noWrite, harness.ToolCall(t, tool.Name, harness.Arguments{"bogus": 1}), "missing_scope", tool.Meta.Scopes)
				}
				if len(tool.Meta.Scopes) == 0 { // any live credential will do
					s.Agent(harness.PathCurrent, ada.Token(t, "directory").Bearer).Call(t, tool.Name, good[tool.Name])
					return
				}
				if _, made := groups[tool.Meta.Group]; !made {
					groups[tool.Meta.Group] = without(tool.Meta.Group)
				}
				checkRefusal(t, groups[tool.Meta.Group], harness.ToolCall(t, tool.Name, harness.Arguments{}), "missing_scope", tool.Meta.Scopes)
			})
		}
	})
}

// TestWriteScopeAlone: `write` without a group gives access to no tool of a group.
func TestWriteScopeAlone(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		a := s.Agent(harness.PathCurrent, s.NewMember(t).Token(t, "write").Bearer)
		checkRefusal(t, a, harness.ToolCall(t, "create_connection", harness.Arguments{"name": "Nobody"}), "missing_scope", []string{"connections", "write"})
		checkRefusal(t, a, harness.ToolCall(t, "search_connections", harness.Arguments{"query": "nobody"}), "missing_scope", []string{"connections"})
	})
}

// TestSandboxRefusesEveryWrite: the sandbox refuses writes with good and bad arguments,
// and with a token that may write to its own member's data.
func TestSandboxRefusesEveryWrite(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		member := s.NewMember(t).Token(t).Bearer
		for _, path := range []string{harness.PathSandbox, harness.PathSandboxOld} {
			for _, bearer := range []string{"", member} {
				visitor := s.Agent(path, bearer)
				writing := 0
				for _, tool := range visitor.Tools(t) {
					if tool.Annotations.ReadOnly {
						continue
					}
					writing++
					checkRefusal(t, visitor, harness.ToolCall(t, tool.Name, harness.Arguments{}), "read_only_account", tool.Meta.Scopes)
				}
				if writing < 19 {
					t.Errorf("%s lists %d writing tools", path, writing)
				}
				checkRefusal(t, visitor, harness.ToolCall(t, "create_connection", harness.Arguments{"name": "Zebedee Quux"}), "read_only_account", []string{"connections", "write"})
				if found := visitor.Find(t, "Zebedee Quux"); len(found) != 0 {
					t.Errorf("%s: the refused write is found: %v", path, found)
				}
			}
		}
	})
}
