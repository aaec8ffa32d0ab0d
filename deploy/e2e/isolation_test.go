package e2e

import (
	"slices"
	"strings"
	"testing"
)

// TestTwoMembers: whatever the one keeps, the other finds it by no tool; not its
// text, not that it exists.
func TestTwoMembers(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		ada, eve := s.newMember(t), s.newMember(t)
		owner := ada.agent(t)
		kept := newKeepsake(t, owner)
		thief := eve.agent(t)
		own := thief.create(t, arguments{"name": "Mallory Own"})
		attempts := kept.attempts(own)
		for _, tool := range thief.tools(t) {
			if !slices.ContainsFunc(attempts, func(a attempt) bool { return a.tool == tool.Name }) {
				t.Errorf("%s: nobody tried to get at another member's data with this tool; add an attempt", tool.Name)
			}
		}
		for _, try := range attempts {
			got := thief.post(t, toolCall(t, try.tool, try.arguments))
			for _, trace := range append(kept.traces(), ada.username) {
				if strings.Contains(got.body, trace) && !strings.Contains(encode(t, try.arguments), trace) {
					t.Errorf("%s %v shows %q: %s", try.tool, try.arguments, trace, got.body)
				}
			}
			if try.stranger == "" {
				continue
			}
			// An id of somebody else's and one of nobody's are answered alike.
			nobodys := strings.ReplaceAll(encode(t, try.arguments), try.stranger, "con_00000000000000000000000000")
			other := thief.post(t, toolCall(t, try.tool, rawJSON(nobodys)))
			if want := strings.ReplaceAll(other.body, "con_00000000000000000000000000", try.stranger); got.body != want || !strings.Contains(got.body, `"isError":true`) {
				t.Errorf("%s tells that the person exists:\n%s\n%s", try.tool, got.body, want)
			}
		}
		kept.checkUntouched(t, owner)
	})
}

// keepsake is what the first member keeps.
type keepsake struct {
	person, name, email, note, summary, tag, organization, externalKey, cursor string
}

func newKeepsake(t *testing.T, a agent) keepsake {
	t.Helper()
	k := keepsake{
		name: "Wilhelmina Quagmire", email: "wilhelmina@quagmire.example", organization: "Quagmire Holdings", tag: "confidant",
		note: secrets.text("note"), summary: secrets.text("summary"), externalKey: "calendar-7781",
	}
	k.person = a.create(t, arguments{
		"name": k.name, "emails": []string{k.email}, "organization": k.organization, "tags": []string{k.tag}, "phones": []string{"+49 30 1234567"},
	})
	a.create(t, arguments{"name": "Second Quagmire", "organization": k.organization})
	a.call(t, "add_note", arguments{"connection_ids": []string{k.person}, "body": k.note})
	a.call(t, "log_interaction", arguments{"connection_ids": []string{k.person}, "kind": "call", "summary": k.summary, "external_key": k.externalKey})
	k.cursor = at[string](t, a.call(t, "search_connections", arguments{"query": "quagmire", "limit": 1}), "next_cursor")
	return k
}

// traces are the texts that give the keepsake away.
func (k keepsake) traces() []string {
	return []string{k.person, "Wilhelmina", "wilhelmina@", k.note, k.summary, k.tag, k.organization, "1234567"}
}

// attempt is a tool call by which somebody else might get at it. stranger is the
// id in it that is not the caller's, if it must be refused.
type attempt struct {
	tool      string
	arguments arguments
	stranger  string
}

func (k keepsake) attempts(own string) []attempt {
	var list []attempt
	for _, query := range []string{k.name, "wilhelmina", "wil", "quagmire", k.email, k.note, k.summary, k.tag, k.organization, "+49 30 1234567", k.person} {
		list = append(list, attempt{tool: "search_connections", arguments: arguments{"query": query}})
	}
	return append(list,
		attempt{tool: "search_connections", arguments: arguments{"query": "quagmire", "limit": 1, "cursor": k.cursor}},
		attempt{tool: "search_connections", arguments: arguments{"query": "a", "company": "quagmire"}},
		attempt{tool: "search_connections", arguments: arguments{"query": "a", "tag": k.tag}},
		attempt{tool: "get_account", arguments: arguments{}},
		attempt{tool: "list_timeline", arguments: arguments{}},
		attempt{tool: "list_timeline", arguments: arguments{"limit": 50, "kinds": []string{"note", "call"}}},
		attempt{tool: "list_timeline", arguments: arguments{"connection_id": k.person}},
		attempt{tool: "create_connection", arguments: arguments{"name": "Some One", "emails": []string{k.email}}},
		attempt{tool: "create_connection", arguments: arguments{"name": "Other One", "emails": []string{"x" + k.email}, "on_duplicate": "error"}},
		attempt{tool: "log_interaction", arguments: arguments{"connection_ids": []string{own}, "kind": "call", "external_key": k.externalKey}},
		attempt{tool: "get_connection", arguments: arguments{"id": k.person, "include": []string{"notes", "interactions", "positions"}}, stranger: k.person},
		attempt{tool: "update_connection", arguments: arguments{"id": k.person, "name": "Stolen"}, stranger: k.person},
		attempt{tool: "update_connection", arguments: arguments{"id": k.person, "expected_version": 1, "bio": "Stolen"}, stranger: k.person},
		attempt{tool: "add_note", arguments: arguments{"connection_ids": []string{k.person}, "body": "stolen"}, stranger: k.person},
		attempt{tool: "add_note", arguments: arguments{"connection_ids": []string{own, k.person}, "body": "stolen"}, stranger: k.person},
		attempt{tool: "log_interaction", arguments: arguments{"connection_ids": []string{k.person}, "kind": "call"}, stranger: k.person},
		attempt{tool: "log_interaction", arguments: arguments{"connection_ids": []string{own, k.person}, "kind": "call"}, stranger: k.person},
	)
}

func (k keepsake) checkUntouched(t *testing.T, owner agent) {
	t.Helper()
	c := owner.call(t, "get_connection", arguments{"id": k.person, "include": []string{"notes", "interactions"}})
	if at[string](t, c, "connection", "name") != k.name || at[float64](t, c, "connection", "version") != 1 ||
		len(at[[]any](t, c, "notes")) != 1 || len(at[[]any](t, c, "interactions")) != 1 {
		t.Errorf("the other member changed it: %v", c)
	}
	if found := owner.find(t, "stolen"); len(found) != 0 {
		t.Errorf("the other member wrote into it: %v", found)
	}
}

// TestMembersAtOnce: calls of many members at the same time, over the same pooled
// connections, are never mixed up.
func TestMembersAtOnce(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		const members, rounds = 6, 25
		for range members {
			m := s.newMember(t)
			a := m.agent(t)
			id := a.create(t, arguments{"name": "Friend of " + m.username})
			t.Run(m.username, func(t *testing.T) {
				t.Parallel()
				for range rounds {
					if name := at[string](t, a.call(t, "get_account", arguments{}), "member", "username"); name != m.username {
						t.Fatalf("this is the account of %s", name)
					}
					if found := a.find(t, "Friend"); !slices.Equal(found, []string{id}) {
						t.Fatalf("found %v, want %s", found, id)
					}
					a.call(t, "log_interaction", arguments{"connection_ids": []string{id}, "kind": "message", "summary": "hello"})
				}
			})
		}
	})
}
