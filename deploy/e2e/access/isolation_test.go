// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/access -run 'TestTwoMembers|TestMembersAtOnce'

package access

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestTwoMembers: no tool shows one member another member's data, neither its text
// nor whether it exists.
func TestTwoMembers(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		ada, eve := s.NewMember(t), s.NewMember(t)
		owner := ada.Agent(t)
		kept := newKeepsake(t, owner, ada.Username)
		intruder := eve.Agent(t)
		own := intruder.Create(t, harness.Arguments{"name": "Mallory Own"})
		attempts := kept.attempts(own)
		for _, tool := range intruder.Tools(t) {
			if !slices.ContainsFunc(attempts, func(a attempt) bool { return a.tool == tool.Name }) {
				t.Errorf("%s: no attempt reads another member's data with this tool; add one", tool.Name)
			}
		}
		for _, try := range attempts {
			kept.checkAttempt(t, intruder, try)
		}
		for _, tool := range []string{"get_job", "cancel_job"} {
			if result := intruder.Try(t, tool, harness.Arguments{"task_id": kept.task}); !result.IsError {
				t.Errorf("%s answers %s", tool, result.Text())
			}
		}
		kept.checkUntouched(t, owner)
	})
}

// keepsake is the data that the first member stores.
type keepsake struct {
	member, person, second, name, email, text, summary, tag, organization, externalKey, cursor string
	note, interaction, group, groupName, selection, reminder, reminderText, change             string
	importID                                                                                   string
	task                                                                                       int   // number of the import's job
	changes                                                                                    []any // recorded ones
}

func newKeepsake(t *testing.T, a harness.Agent, member string) keepsake {
	t.Helper()
	k := keepsake{
		member: member, name: "Wilhelmina Quagmire", email: "wilhelmina@quagmire.example", organization: "Quagmire Holdings", tag: "confidant",
		text: harness.Secrets.Text("note"), summary: harness.Secrets.Text("summary"), externalKey: "calendar-7781", groupName: "Inner Circle", reminderText: harness.Secrets.Text("reminder"),
	}
	k.person = a.Create(t, harness.Arguments{
		"name": k.name, "emails": []string{k.email}, "organization": k.organization, "tags": []string{k.tag}, "phones": []string{"+49 30 1234567"},
	})
	k.second = a.Create(t, harness.Arguments{"name": "Second Quagmire", "organization": k.organization})
	people := []string{k.person}
	note := a.Call(t, "add_note", harness.Arguments{"connection_ids": people, "body": k.text})
	k.note, k.change = harness.At[string](t, note, "note", "id"), harness.At[string](t, note, "change_id")
	k.interaction = harness.At[string](t, a.Call(t, "log_interaction", harness.Arguments{
		"connection_ids": people, "kind": "call", "summary": k.summary, "external_key": k.externalKey,
	}), "interaction", "id")
	k.group = harness.At[string](t, a.Call(t, "save_group", harness.Arguments{"name": k.groupName}), "group", "id")
	k.selection = harness.At[string](t, a.Call(t, "search_connections", harness.Arguments{"tag": []string{k.tag}}), "selection")
	a.Call(t, "update_membership", harness.Arguments{"connection_ids": people, "add_groups": []string{k.group}})
	k.reminder = harness.At[string](t, a.Call(t, "create_reminder", harness.Arguments{"text": k.reminderText, "due_on": time.Now().UTC().Format(time.DateOnly), "connection_id": k.person}), "reminder", "id")
	a.Call(t, "link_connections", harness.Arguments{"from_id": k.person, "to_id": k.second, "type": "colleague"})
	for _, start := range []harness.Arguments{{"content": "Name\nThird Quagmire\n", "dry_run": true}, {"content": "Name\nNobody\n", "dry_run": true}, {"content": "Name\nThird Quagmire\n"}} {
		job := a.AwaitJob(t, a.Call(t, "import_file", start)["task_id"])
		k.task, k.importID = int(harness.At[float64](t, job, "job_id")), harness.At[string](t, job, "result", "import_id")
	}
	k.cursor = harness.At[string](t, a.Call(t, "search_connections", harness.Arguments{"query": "quagmire", "limit": 1}), "next_cursor")
	k.changes = harness.At[[]any](t, a.Call(t, "list_changes", harness.Arguments{"limit": 50}), "changes")
	return k
}

// traces are texts from the keepsake; an answer that has one leaks it.
func (k keepsake) traces() []string {
	return []string{
		k.importID, "Third Quagmire", k.person, k.second, k.note, k.interaction, k.group, k.reminder, k.change, "Wilhelmina", "Second Quagmire", "wilhelmina@", k.text, k.summary,
		k.tag, k.organization, "1234567", k.groupName, k.reminderText, k.member,
	}
}

// creditsLeft matches what an answer says about the caller's own credits.
var creditsLeft = regexp.MustCompile(`"remaining":\d+`)

// attempt is a tool call with which another member tries to reach the data.
type attempt struct {
	tool      string
	arguments harness.Arguments
	foreign   string // the other member's id or username in the arguments; empty if there is none
	silent    bool   // the call is not refused; its answer is empty
}

// checkAttempt fails the test if the answer shows any of the data, or differs from the
// answer for an id that does not exist.
func (k keepsake) checkAttempt(t *testing.T, intruder harness.Agent, try attempt) {
	t.Helper()
	sent := harness.Encode(t, try.arguments)
	got := intruder.Post(t, harness.ToolCall(t, try.tool, try.arguments))
	for _, trace := range k.traces() {
		if strings.Contains(got.Body, trace) && !strings.Contains(sent, trace) {
			t.Errorf("%s %s shows %q: %s", try.tool, sent, trace, got.Body)
		}
	}
	if try.foreign == "" {
		return
	}
	// Another member's id and an id that does not exist get the same answer.
	unknownID := try.foreign[:4] + strings.Repeat("0", len(try.foreign)-4)
	other := intruder.Post(t, harness.ToolCall(t, try.tool, harness.RawJSON(strings.ReplaceAll(sent, try.foreign, unknownID))))
	is, want := creditsLeft.ReplaceAllString(got.Body, ""), creditsLeft.ReplaceAllString(strings.ReplaceAll(other.Body, unknownID, try.foreign), "")
	if is != want || strings.Contains(is, `"isError":true`) == try.silent {
		t.Errorf("%s %s shows that the data exists:\n%s\n%s", try.tool, sent, is, want)
	}
}

func (k keepsake) attempts(own string) []attempt {
	var list []attempt
	for _, query := range []string{k.name, "wilhelmina", "wil", "quagmire", k.email, k.text, k.summary, k.tag, k.organization, "+49 30 1234567", k.person} {
		list = append(list,
			attempt{tool: "search_connections", arguments: harness.Arguments{"query": query}},
			attempt{tool: "search_notes", arguments: harness.Arguments{"query": query}},
			attempt{tool: "resolve_people", arguments: harness.Arguments{"entries": []string{query}}},
			attempt{tool: "search_directory", arguments: harness.Arguments{"query": query}},
		)
	}
	list = append(list, k.wholes()...)
	list = append(list, k.intrusions(own)...)
	return append(list, k.foreignWrites(own)...)
}

// wholes are calls that list or search everything.
func (k keepsake) wholes() []attempt {
	return []attempt{
		{tool: "search_connections", arguments: harness.Arguments{"query": "quagmire", "limit": 1, "cursor": k.cursor}},
		{tool: "search_connections", arguments: harness.Arguments{"query": "a", "company": "quagmire"}},
		{tool: "search_connections", arguments: harness.Arguments{"query": "a", "tag": []string{k.tag}}},
		{tool: "search_connections", arguments: harness.Arguments{"query": "a", "group": k.groupName}},
		{tool: "get_account", arguments: harness.Arguments{}},
		{tool: "list_timeline", arguments: harness.Arguments{}},
		{tool: "count_interactions", arguments: harness.Arguments{"group_by": "person"}},
		{tool: "search_connections", arguments: harness.Arguments{"group_by": "tag"}},
		{tool: "list_timeline", arguments: harness.Arguments{"limit": 50, "kinds": []string{"note", "call"}}},
		{tool: "find_duplicates", arguments: harness.Arguments{"min_score": 0.5, "limit": 50}},
		{tool: "export_connections", arguments: harness.Arguments{"format": "json", "limit": 200}},
		{tool: "export_connections", arguments: harness.Arguments{"format": "csv", "selection": k.selection}},
		{tool: "archive_connections", arguments: harness.Arguments{"selection": k.selection}},
		{tool: "rename_tag", arguments: harness.Arguments{"from": k.tag, "to": "mine"}},
		{tool: "update_organization", arguments: harness.Arguments{"name": k.organization, "new_name": "mine"}},
		{tool: "list_groups", arguments: harness.Arguments{}},
		{tool: "list_due", arguments: harness.Arguments{"days": 366, "limit": 50}},
		{tool: "find_people_at", arguments: harness.Arguments{"organization": k.organization}},
		{tool: "find_people_at", arguments: harness.Arguments{"organization": "quagmire.example"}},
		{tool: "suggest_introductions", arguments: harness.Arguments{"limit": 20}},
		{tool: "get_network_stats", arguments: harness.Arguments{}},
		{tool: "search_directory", arguments: harness.Arguments{"limit": 50}},
		{tool: "search_directory", arguments: harness.Arguments{"query": k.member}},
		{tool: "list_changes", arguments: harness.Arguments{"limit": 50}},
		{tool: "create_connection", arguments: harness.Arguments{"name": "Some One", "emails": []string{k.email}}},
		{tool: "create_connection", arguments: harness.Arguments{"name": "Other One", "emails": []string{"x" + k.email}, "on_duplicate": "error"}},
		{tool: "save_group", arguments: harness.Arguments{"name": k.groupName}},
		{tool: "update_my_profile", arguments: harness.Arguments{"headline": "Nobody in particular"}},
		{tool: "define_field", arguments: harness.Arguments{"name": k.groupName}},
		{tool: "update_my_settings", arguments: harness.Arguments{"timezone": "Asia/Tokyo"}},
		{tool: "import_file", arguments: harness.Arguments{"content": "Name,E-mail\nAny One," + k.email + "\n"}},
		{tool: "embed_objects", arguments: harness.Arguments{}},
		{tool: "get_job", arguments: harness.Arguments{"task_id": 1, "wait_seconds": 20}},
		{tool: "get_job", arguments: harness.Arguments{"task_id": 2, "wait_seconds": 20}},
		{tool: "get_job", arguments: harness.Arguments{"task_id": k.task}},
		{tool: "search_connections", arguments: harness.Arguments{"query": k.name, "mode": "semantic"}},
	}
}

// intrusions are calls that read another member's data by its id.
func (k keepsake) intrusions(own string) []attempt {
	return []attempt{
		{tool: "get_connection", arguments: harness.Arguments{"id": k.person, "include": []string{"notes", "interactions", "positions"}}, foreign: k.person},
		{tool: "get_connection", arguments: harness.Arguments{"ids": []string{own, k.person}, "include": []string{"notes"}}, foreign: k.person, silent: true},
		{tool: "search_connections", arguments: harness.Arguments{"query": "a", "group": k.group}, foreign: k.group},
		{tool: "list_timeline", arguments: harness.Arguments{"connection_id": k.person}, foreign: k.person},
		{tool: "count_interactions", arguments: harness.Arguments{"connection_ids": []string{k.person}}, foreign: k.person},
		{tool: "search_notes", arguments: harness.Arguments{"query": "likes", "connection_id": k.person}, foreign: k.person},
		{tool: "list_due", arguments: harness.Arguments{"connection_id": k.person, "days": 366}, foreign: k.person},
		{tool: "find_duplicates", arguments: harness.Arguments{"connection_id": k.person}, foreign: k.person},
		{tool: "export_connections", arguments: harness.Arguments{"format": "json", "ids": []string{k.person}}, foreign: k.person},
		{tool: "export_connections", arguments: harness.Arguments{"format": "json", "ids": []string{own, k.person}}, foreign: k.person},
		{tool: "search_connections", arguments: harness.Arguments{"group": k.group}, foreign: k.group},
		{tool: "prepare_meeting", arguments: harness.Arguments{"connection_ids": []string{k.person}}, foreign: k.person},
		{tool: "prepare_meeting", arguments: harness.Arguments{"connection_ids": []string{own, k.person}}, foreign: k.person},
		{tool: "suggest_introductions", arguments: harness.Arguments{"connection_id": k.person}, foreign: k.person},
		{tool: "find_similar_connections", arguments: harness.Arguments{"connection_id": k.person}, foreign: k.person},
		{tool: "get_member_profile", arguments: harness.Arguments{"username": k.member}, foreign: k.member},
		{tool: "list_changes", arguments: harness.Arguments{"connection_id": k.person}, foreign: k.person, silent: true},
		{tool: "list_changes", arguments: harness.Arguments{"change_id": k.change}, foreign: k.change, silent: true},
		{tool: "undo_change", arguments: harness.Arguments{"change_id": k.change, "dry_run": true}, foreign: k.change},
		{tool: "merge_connections", arguments: harness.Arguments{"into_id": own, "from_ids": []string{k.person}}, foreign: k.person},
	}
}

// foreignWrites are calls that change another member's data or link it to the caller's own.
func (k keepsake) foreignWrites(own string) []attempt {
	theirs, both := []string{k.person}, []string{own, k.person}
	return []attempt{
		{tool: "log_interaction", arguments: harness.Arguments{"connection_ids": []string{own}, "kind": "call", "external_key": k.externalKey}},
		{tool: "update_connection", arguments: harness.Arguments{"id": k.person, "name": "Stolen"}, foreign: k.person},
		{tool: "update_connection", arguments: harness.Arguments{"id": k.person, "expected_version": 1, "bio": "Stolen"}, foreign: k.person},
		{tool: "add_note", arguments: harness.Arguments{"connection_ids": theirs, "body": "stolen"}, foreign: k.person},
		{tool: "add_note", arguments: harness.Arguments{"connection_ids": both, "body": "stolen"}, foreign: k.person},
		{tool: "update_note", arguments: harness.Arguments{"id": k.note, "body": "stolen"}, foreign: k.note},
		{tool: "update_interaction", arguments: harness.Arguments{"id": k.interaction, "summary": "stolen"}, foreign: k.interaction},
		{tool: "delete_timeline_entry", arguments: harness.Arguments{"id": k.note}, foreign: k.note, silent: true},
		{tool: "delete_timeline_entry", arguments: harness.Arguments{"id": k.interaction}, foreign: k.interaction, silent: true},
		{tool: "log_interaction", arguments: harness.Arguments{"connection_ids": theirs, "kind": "call"}, foreign: k.person},
		{tool: "log_interaction", arguments: harness.Arguments{"connection_ids": both, "kind": "call"}, foreign: k.person},
		{tool: "log_interactions", arguments: harness.Arguments{"interactions": []harness.Arguments{{"connection_ids": []string{own}, "kind": "call", "external_key": k.externalKey}}}},
		{tool: "log_interactions", arguments: harness.Arguments{"interactions": []harness.Arguments{{"connection_ids": []string{own}, "kind": "call"}, {"connection_ids": both, "kind": "call"}}}, foreign: k.person},
		{tool: "archive_connections", arguments: harness.Arguments{"ids": theirs}, foreign: k.person},
		{tool: "archive_connections", arguments: harness.Arguments{"ids": both}, foreign: k.person},
		{tool: "delete_connection", arguments: harness.Arguments{"id": k.person, "confirm_name": k.name}, foreign: k.person, silent: true},
		{tool: "merge_connections", arguments: harness.Arguments{"into_id": own, "from_ids": theirs, "dry_run": false}, foreign: k.person},
		{tool: "merge_connections", arguments: harness.Arguments{"into_id": k.person, "from_ids": []string{own}, "dry_run": false}, foreign: k.person},
		{tool: "merge_connections", arguments: harness.Arguments{"pairs": []harness.Arguments{{"keep_id": own, "merge_id": k.person}}, "dry_run": false}, foreign: k.person},
		{tool: "link_connections", arguments: harness.Arguments{"from_id": own, "to_id": k.person, "type": "friend"}, foreign: k.person},
		{tool: "link_connections", arguments: harness.Arguments{"from_id": k.person, "to_id": own, "type": "friend"}, foreign: k.person},
		{tool: "link_connections", arguments: harness.Arguments{"from_id": k.person, "to_id": k.second, "type": "colleague", "remove": true}, foreign: k.person},
		{tool: "save_group", arguments: harness.Arguments{"id": k.group, "name": "Stolen"}, foreign: k.group},
		{tool: "delete_group", arguments: harness.Arguments{"group": k.group}, foreign: k.group},
		{tool: "update_membership", arguments: harness.Arguments{"connection_ids": theirs, "add_tags": []string{"stolen"}}, foreign: k.person},
		{tool: "update_membership", arguments: harness.Arguments{"connection_ids": both, "remove_tags": []string{k.tag}}, foreign: k.person},
		{tool: "update_membership", arguments: harness.Arguments{"connection_ids": []string{own}, "add_groups": []string{k.group}}, foreign: k.group},
		{tool: "create_reminder", arguments: harness.Arguments{"text": "stolen", "due_on": "2031-01-01", "connection_id": k.person}, foreign: k.person},
		{tool: "update_reminder", arguments: harness.Arguments{"id": k.reminder, "text": "stolen"}, foreign: k.reminder},
		{tool: "complete_reminder", arguments: harness.Arguments{"id": k.reminder}, foreign: k.reminder},
		{tool: "set_cadence", arguments: harness.Arguments{"connection_ids": []string{k.person}, "days": 1}, foreign: k.person},
		{tool: "undo_change", arguments: harness.Arguments{"change_id": k.change}, foreign: k.change},
		{tool: "undo_change", arguments: harness.Arguments{"import_id": k.importID}, foreign: k.importID},
		{tool: "cancel_job", arguments: harness.Arguments{"task_id": k.task}},
	}
}

func (k keepsake) checkUntouched(t *testing.T, owner harness.Agent) {
	t.Helper()
	if changes := harness.At[[]any](t, owner.Call(t, "list_changes", harness.Arguments{"limit": 50}), "changes"); harness.Encode(t, changes) != harness.Encode(t, k.changes) {
		t.Errorf("the other member's calls recorded changes: %v", changes)
	}
	c := owner.Call(t, "get_connection", harness.Arguments{"id": k.person, "include": []string{"notes", "interactions"}})
	notes, interactions := harness.At[[]any](t, c, "notes"), harness.At[[]any](t, c, "interactions")
	if len(notes) == 0 {
		t.Fatalf("the note is gone: %v", c)
	}
	harness.CheckSame(t, "the stored data", []any{
		harness.At[string](t, c, "connection", "name"), harness.At[float64](t, c, "connection", "version"), harness.At[string](t, notes[0], "body"),
		len(notes), len(interactions), len(harness.At[[]any](t, c, "connection", "relationships")),
	}, []any{k.name, 1.0, k.text, 1, 1, 1})
	due := harness.At[[]any](t, owner.Call(t, "list_due", harness.Arguments{}), "items")
	if len(due) != 1 || harness.At[string](t, due[0], "reminder_id") != k.reminder {
		t.Errorf("list_due changed: %v", due)
	}
	if found := owner.Find(t, "stolen"); len(found) != 0 {
		t.Errorf("the other member added something: %v", found)
	}
}

// TestMembersAtOnce: concurrent calls by many members over the same pooled connections
// each see only their own member's data.
func TestMembersAtOnce(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		const members, rounds = 6, 25
		for range members {
			m := s.NewMember(t)
			a := m.Agent(t)
			id := a.Create(t, harness.Arguments{"name": "Friend of " + m.Username})
			t.Run(m.Username, func(t *testing.T) {
				t.Parallel()
				for range rounds {
					if name := harness.At[string](t, a.Call(t, "get_account", harness.Arguments{}), "member", "username"); name != m.Username {
						t.Fatalf("this is the account of %s", name)
					}
					if found := a.Find(t, "Friend"); !slices.Equal(found, []string{id}) {
						t.Fatalf("found %v, want %s", found, id)
					}
					a.Call(t, "log_interaction", harness.Arguments{"connection_ids": []string{id}, "kind": "message", "summary": "hello"})
				}
			})
		}
	})
}
