// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/access -run 'TestReadOnlyCredentialWritesNothing|TestOneGroupOpensItsTools|TestGrantOfBefore'

package access

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
	"github.com/kith-crm/kith/proto/catalog"
)

// TestReadOnlyCredentialWritesNothing: a credential with every scope but `write`
// cannot run a writing tool: not on any path, with any spelling, or by bypassing the
// MCP server. The member's stored data is byte for byte the same after each attempt.
func TestReadOnlyCredentialWritesNothing(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		full := ada.Agent(t)
		reader := s.Agent(harness.PathCurrent, ada.Token(t, readingScopes(t)...).Bearer)
		good := goodWrites(t, full)
		kept := newKeep(t, s, ada.Username)
		for _, tool := range writingTools(t) {
			name := tool.Tool.Name
			t.Run(name, func(t *testing.T) {
				arguments, known := good[name]
				if !known {
					t.Fatalf("add arguments to goodWrites with which %s writes something", name)
				}
				before := kept.read(t)
				for _, try := range tricks(t, s, tool, harness.Encode(t, arguments)) {
					got := try.play(t, s, reader.Bearer)
					try.check(t, tool, got)
					after := kept.read(t)
					changed := without(after, before)
					if try.keyed && len(changed) == 1 && strings.HasPrefix(changed[0], "idempotency_keys ") {
						before = after // the refusal, which its key repeats
					}
					if !slices.Equal(before, after) {
						t.Fatalf("%s changed the member's data; new rows:\n%s", try.name, strings.Join(changed, "\n"))
					}
				}
				// The same arguments do write with a credential that has the scope.
				wrote := full.Call(t, name, arguments)
				if slices.Equal(before, kept.read(t)) {
					t.Errorf("%s writes nothing with %v, so the test proves nothing", name, arguments)
				}
				if task := wrote["task_id"]; task != nil { // wait, so that its writes are not taken for the next tool's
					full.AwaitJob(t, task)
				}
			})
		}
	})
}

// TestOneGroupOpensItsTools: a credential with one group and `write` can call the tools
// of that group and no others; without `write`, only the reading tools of the group.
func TestOneGroupOpensItsTools(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada := s.NewMember(t)
		for _, group := range readingScopes(t) {
			for _, held := range [][]string{{group}, {group, catalog.ScopeWrite}} {
				a := s.Agent(harness.PathCurrent, ada.Token(t, held...).Bearer)
				for _, tool := range tools(t) {
					checkReach(t, a, tool, held)
				}
			}
		}
	})
}

// checkReach checks that a tool is callable or refused as the catalogue says. The
// arguments suit few tools, so a permitted call may still fail because of them.
func checkReach(t *testing.T, a harness.Agent, tool *catalog.RPC, held []string) {
	t.Helper()
	name, body := tool.Tool.Name, harness.ToolCall(t, tool.Tool.Name, harness.Arguments{})
	if len(tool.Missing(held)) > 0 {
		checkRefusal(t, a, body, "missing_scope", tool.Scopes)
	} else if got := a.Post(t, body); got.Status != http.StatusOK || got.Reply(t).Error != nil {
		t.Errorf("%s is refused to a credential with %v: %d %s", name, held, got.Status, got.Body)
	}
	if writes := slices.Contains(tool.Scopes, catalog.ScopeWrite); writes != tool.Writes || !slices.Contains(tool.Scopes, tool.Tool.Group) && len(tool.Scopes) > 0 {
		t.Errorf("%s is of the group %s, writes: %v, and needs %v", name, tool.Tool.Group, tool.Writes, tool.Scopes)
	}
}

// TestGrantOfBefore: a grant keeps the scopes that were requested when it was made.
// Tools of groups that were added later are refused, and the refusal names the scopes
// to request; a refresh does not add scopes.
func TestGrantOfBefore(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		held := []string{"connections", "timeline", "account", "write"} // all scopes of the first release
		g := s.NewGrant(t, s.NewPerson(t), strings.Join(held, " "))
		for range 2 {
			later := 0
			for _, tool := range tools(t) {
				checkReach(t, g.Agent(), tool, held)
				later += min(1, len(tool.Missing(held)))
			}
			if later < 10 {
				t.Errorf("only %d tools need other scopes", later)
			}
			g.Refresh(t, "")
		}
	})
}

func tools(t *testing.T) []*catalog.RPC {
	t.Helper()
	all, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return all.Tools()
}

func writingTools(t *testing.T) []*catalog.RPC {
	t.Helper()
	return slices.DeleteFunc(tools(t), func(tool *catalog.RPC) bool { return !tool.Writes })
}

// readingScopes returns all scopes except write.
func readingScopes(t *testing.T) []string {
	t.Helper()
	all, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all.Scopes(), func(scope string) bool { return scope == catalog.ScopeWrite })
}

// goodWrites returns, for each writing tool, arguments with which it writes. No two
// tools work on the same objects.
func goodWrites(t *testing.T, a harness.Agent) map[string]harness.Arguments {
	t.Helper()
	person := func() string {
		return a.Create(t, harness.Arguments{"name": harness.NewWord(), "emails": []string{harness.NewWord() + "@mail.example"}})
	}
	note := func() map[string]any {
		return a.Call(t, "add_note", harness.Arguments{"connection_ids": []string{person()}, "body": harness.NewWord()})
	}
	doomed := harness.NewWord()
	reminder := a.Call(t, "create_reminder", harness.Arguments{"text": harness.NewWord(), "due_on": "2031-01-01"})
	moved := a.Call(t, "create_reminder", harness.Arguments{"text": harness.NewWord(), "due_on": "2031-01-01"})
	met := a.Call(t, "log_interaction", harness.Arguments{"connection_ids": []string{person()}, "kind": "call"})
	group, tag, employer := harness.NewWord(), harness.NewWord(), harness.NewWord()
	a.Create(t, harness.Arguments{"name": harness.NewWord(), "tags": []string{tag}, "organization": employer})
	a.Call(t, "save_group", harness.Arguments{"name": group})
	spare := harness.NewWord()
	a.Call(t, "save_group", harness.Arguments{"name": spare})
	return map[string]harness.Arguments{
		"create_connection":     {"name": harness.NewWord()},
		"update_connection":     {"id": person(), "bio": harness.NewWord()},
		"archive_connections":   {"ids": []string{person()}},
		"delete_connection":     {"id": a.Create(t, harness.Arguments{"name": doomed}), "confirm_name": doomed},
		"merge_connections":     {"into_id": person(), "from_ids": []string{person()}, "dry_run": false},
		"link_connections":      {"from_id": person(), "to_id": person(), "type": "friend"},
		"add_note":              {"connection_ids": []string{person()}, "body": harness.NewWord()},
		"log_interaction":       {"connection_ids": []string{person()}, "kind": "call"},
		"log_interactions":      {"interactions": []harness.Arguments{{"connection_ids": []string{person()}, "kind": "call"}, {"connection_ids": []string{person()}, "kind": "email"}}},
		"update_interaction":    {"id": harness.At[string](t, met, "interaction", "id"), "summary": harness.NewWord()},
		"delete_timeline_entry": {"id": harness.At[string](t, note(), "note", "id")},
		"update_note":           {"id": harness.At[string](t, note(), "note", "id"), "body": harness.NewWord()},
		"save_group":            {"name": harness.NewWord()},
		"delete_group":          {"group": spare},
		"update_membership":     {"connection_ids": []string{person()}, "add_groups": []string{group}},
		"update_organization":   {"name": employer, "notes": harness.NewWord()},
		"rename_tag":            {"from": tag, "to": harness.NewWord()},
		"create_reminder":       {"text": harness.NewWord(), "due_on": "2031-01-01"},
		"update_reminder":       {"id": harness.At[string](t, moved, "reminder", "id"), "due_on": "2031-01-02"},
		"complete_reminder":     {"id": harness.At[string](t, reminder, "reminder", "id")},
		"set_cadence":           {"connection_ids": []string{person()}, "days": 30},
		"update_my_profile":     {"headline": harness.NewWord()},
		"define_field":          {"name": harness.NewWord()},
		"update_my_settings":    {"timezone": "Asia/Tokyo"},
		"undo_change":           {"change_id": harness.At[string](t, note(), "change_id")},
		"import_file":           {"content": "Name,E-mail\n" + harness.NewWord() + ",somebody@mail.example\n"},
		"embed_objects":         {},
		"cancel_job":            {"task_id": a.ParkedJob(t)},
	}
}

// keep reads all of a member's rows from the database, where every write is visible.
type keep struct {
	read func(t *testing.T) []string
}

func newKeep(t *testing.T, s *harness.Service, username string) keep {
	t.Helper()
	db := s.OpenDatabase(t)
	query := "SELECT m.name, p.name FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE m.type = 'table'"
	if s.Topology.Postgres {
		query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
	}
	rows := func(t *testing.T, query string, width int) [][]string {
		t.Helper()
		found, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		defer func() { _ = found.Close() }()
		var out [][]string
		for found.Next() {
			row := make([]string, width)
			targets := make([]any, width)
			for i := range row {
				targets[i] = &row[i]
			}
			if err := found.Scan(targets...); err != nil {
				t.Fatal(err)
			}
			out = append(out, row)
		}
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
		return out
	}
	columns := map[string][]string{}
	for _, row := range rows(t, query, 2) {
		columns[row[0]] = append(columns[row[0]], row[1])
	}
	var parts []string
	for _, table := range slices.Sorted(maps.Keys(columns)) {
		// Rows of a member have a tenant column; credentials record when they were last used.
		owner := ""
		for _, name := range []string{"tenant_id", "member_id"} {
			if slices.Contains(columns[table], name) && table != "personal_tokens" {
				owner = name
			}
		}
		if owner == "" {
			continue
		}
		row := "to_jsonb(x)::text"
		if !s.Topology.Postgres {
			row = `quote("` + strings.Join(columns[table], `") || ' ' || quote("`) + `")`
		}
		parts = append(parts, fmt.Sprintf(`SELECT '%s ' || %s FROM "%s" AS x WHERE %s = (SELECT id FROM members WHERE username = '%s')`, table, row, table, owner, username))
	}
	if len(parts) < 20 {
		t.Fatalf("only %d tables have rows of members", len(parts))
	}
	everything := strings.Join(parts, " UNION ALL ")
	return keep{read: func(t *testing.T) []string {
		t.Helper()
		var out []string
		for _, row := range rows(t, everything, 1) {
			out = append(out, row[0])
		}
		slices.Sort(out)
		return out
	}}
}

// without returns the rows of one snapshot that are not in the other.
func without(rows, others []string) []string {
	return slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return slices.Contains(others, row) })
}

// trick is an attempt to run a tool with a credential that lacks the scope.
type trick struct {
	name, method, path, body string
	headers                  []string
	// reason is the reason that the refusal must have when the tool is recognised;
	// empty when the request itself is refused.
	reason string
	// harmless tricks do not ask for the tool, so they are answered.
	harmless bool
	// direct tricks go to the backend, as an internal caller.
	direct bool
	// keyed tricks have an idempotency key, so their refusal is stored.
	keyed bool
}

func (try trick) play(t *testing.T, s *harness.Service, bearer string) harness.Response {
	t.Helper()
	method := try.method
	if method == "" {
		method = http.MethodPost
	}
	headers := slices.Clone(try.headers)
	if !slices.ContainsFunc(headers, func(line string) bool { return strings.HasPrefix(line, "Content-Type: ") }) {
		headers = append(headers, harness.JSONType)
	}
	if try.direct {
		backend := *s
		backend.Base = "http://" + s.BackendAddr
		s = &backend
	}
	return s.Send(t, method, try.path, try.body, append(headers, "Authorization: Bearer "+bearer)...)
}

// check fails the test unless the answer is a refusal.
func (try trick) check(t *testing.T, tool *catalog.RPC, got harness.Response) {
	t.Helper()
	if try.reason != "" {
		r := got.Reply(t)
		if got.Status != http.StatusOK || r.Error == nil {
			t.Fatalf("%s: got %d %s, want -32001 %s", try.name, got.Status, got.Body, try.reason)
		}
		harness.CheckSame(t, try.name, []any{r.Error.Code, r.Error.Data.Reason, r.Error.Data.RequiredScopes}, []any{harness.CodeRefused, try.reason, tool.Scopes})
		return
	}
	if got.Status >= http.StatusBadRequest || try.harmless {
		return
	}
	var outcome struct {
		Error     json.RawMessage
		Responses []struct{ Status int }
	}
	if err := json.Unmarshal([]byte(got.Body), &outcome); err != nil {
		t.Fatalf("%s: got %d %s", try.name, got.Status, got.Body)
	}
	refused := outcome.Error != nil || len(outcome.Responses) > 0
	for _, item := range outcome.Responses {
		refused = refused && item.Status >= http.StatusBadRequest
	}
	if !refused {
		t.Errorf("%s: got %d %s, want a refusal", try.name, got.Status, got.Body)
	}
}
