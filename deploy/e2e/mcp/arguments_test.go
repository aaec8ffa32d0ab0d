// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run 'TestBadArguments|TestAllViolationsAtOnce|TestHostileText'

package mcp

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// badCall is a tool call that breaks a rule, with the field that the answer must
// name. PERSON stands for the id of an existing connection.
type badCall struct {
	tool      string
	arguments harness.Arguments
	field     string
}

func badArguments() []badCall {
	long := func(n int) string { return strings.Repeat("x", n) }
	const person = "PERSON"
	return []badCall{
		{"search_connections", harness.Arguments{"min_score": 0.5}, "min_score"},
		{"search_connections", harness.Arguments{"country": "Atlantis"}, "country"},
		{"search_connections", harness.Arguments{"never_contacted": true, "last_contact_after": "2026-01-01"}, "never_contacted"},
		{"search_connections", harness.Arguments{"query": ""}, "query"},
		{"search_connections", harness.Arguments{"query": long(257)}, "query"},
		{"search_connections", harness.Arguments{"query": 7}, "query"},
		{"search_connections", harness.Arguments{"query": []string{"a"}}, "query"},
		{"search_connections", harness.Arguments{"query": "a", "limit": 0}, "limit"},
		{"search_connections", harness.Arguments{"query": "a", "limit": 51}, "limit"},
		{"search_connections", harness.Arguments{"query": "a", "limit": 1.5}, "limit"},
		{"search_connections", harness.Arguments{"query": "a", "limit": "many"}, "limit"},
		{"search_connections", harness.Arguments{"query": "a", "mode": "telepathy"}, "mode"},
		{"search_connections", harness.Arguments{"query": "a", "sort": "up"}, "sort"},
		{"search_connections", harness.Arguments{"query": "a", "has": []string{"fax"}}, "has"},
		{"search_connections", harness.Arguments{"query": "a", "last_contact_after": "yesterday"}, "last_contact_after"},
		{"search_connections", harness.Arguments{"query": "a", "last_contact_after": "2025-02-30"}, "last_contact_after"},
		{"search_connections", harness.Arguments{"query": "a", "cursor": "bm8"}, "cursor"},
		{"search_connections", harness.Arguments{"query": "a", "qwerty": 1}, "qwerty"},
		{"search_connections", harness.Arguments{"Query": "a"}, "Query"},
		{"get_connection", harness.Arguments{}, "id"},
		{"get_connection", harness.Arguments{"id": "con_1"}, "id"},
		{"get_connection", harness.Arguments{"id": "' OR 1=1 --"}, "id"},
		{"get_connection", harness.Arguments{"id": person, "include": []string{"secrets"}}, "include"},
		{"get_connection", harness.Arguments{"id": person, "ids": []string{person}}, "ids"},
		{"get_connection", harness.Arguments{"ids": []string{person, person}}, "ids"},
		{"create_connection", harness.Arguments{}, "name"},
		{"create_connection", harness.Arguments{"name": ""}, "name"},
		{"create_connection", harness.Arguments{"name": " \t"}, "name"},
		{"create_connection", harness.Arguments{"name": "\u200b"}, "name"},
		{"create_connection", harness.Arguments{"name": long(201)}, "name"},
		{"create_connection", harness.Arguments{"name": "A", "emails": []string{"nobody"}}, "emails"},
		{"create_connection", harness.Arguments{"name": "A", "emails": harness.Arguments{"work": "a@b.example"}}, "emails"},
		{"create_connection", harness.Arguments{"name": "A", "phones": []string{"call me"}}, "phones"},
		{"create_connection", harness.Arguments{"name": "A", "urls": []string{"javascript:alert(1)"}}, "urls"},
		{"create_connection", harness.Arguments{"name": "A", "met_on": "2025-13"}, "met_on"},
		{"create_connection", harness.Arguments{"name": "A", "met_on": "2025-02-30"}, "met_on"},
		{"create_connection", harness.Arguments{"name": "A", "on_duplicate": "shout"}, "on_duplicate"},
		{"create_connection", harness.Arguments{"name": "A", "starred": "yes"}, "starred"},
		{"create_connection", harness.Arguments{"name": "A", "tenant_id": "mem_x"}, "tenant_id"},
		{"update_connection", harness.Arguments{"name": "A"}, "id"},
		{"update_connection", harness.Arguments{"id": person, "name": ""}, "name"},
		{"update_connection", harness.Arguments{"id": person, "expected_version": 0}, "expected_version"},
		{"update_connection", harness.Arguments{"id": person, "add_emails": []string{"nobody"}}, "add_emails"},
		{"list_timeline", harness.Arguments{"connection_id": "x"}, "connection_id"},
		{"list_timeline", harness.Arguments{"since": "2025-02-30"}, "since"},
		{"list_timeline", harness.Arguments{"until": "soon"}, "until"},
		{"list_timeline", harness.Arguments{"kinds": []string{"duel"}}, "kinds"},
		{"list_timeline", harness.Arguments{"limit": -1}, "limit"},
		{"list_timeline", harness.Arguments{"cursor": "bm8"}, "cursor"},
		{"add_note", harness.Arguments{"body": "x"}, "connection_ids"},
		{"add_note", harness.Arguments{"connection_ids": []string{}, "body": "x"}, "connection_ids"},
		{"add_note", harness.Arguments{"connection_ids": []string{person, person}, "body": "x"}, "connection_ids"},
		{"add_note", harness.Arguments{"connection_ids": []string{person}}, "body"},
		{"add_note", harness.Arguments{"connection_ids": []string{person}, "body": " "}, "body"},
		{"add_note", harness.Arguments{"connection_ids": []string{person}, "body": long(20001)}, "body"},
		{"log_interaction", harness.Arguments{"connection_ids": []string{person}}, "kind"},
		{"log_interaction", harness.Arguments{"connection_ids": []string{person}, "kind": "duel"}, "kind"},
		{"log_interaction", harness.Arguments{"connection_ids": []string{person}, "kind": "call", "occurred_at": "today"}, "occurred_at"},
		{"log_interaction", harness.Arguments{"connection_ids": []string{person}, "kind": "call", "occurred_at": "2999-01-01T00:00:00Z"}, "occurred_at"},
		{"log_interaction", harness.Arguments{"connection_ids": []string{person}, "kind": "call", "occurred_at": "0001-01-01T00:00:00Z"}, "occurred_at"},
		{"log_interaction", harness.Arguments{"connection_ids": []string{person}, "kind": "call", "duration_minutes": -1}, "duration_minutes"},
		{"log_interaction", harness.Arguments{"connection_ids": []string{person}, "kind": "call", "duration_minutes": 1e10}, "duration_minutes"},
		{"update_interaction", harness.Arguments{}, "id"},
		{"update_interaction", harness.Arguments{"id": "int_zf775mk147", "kind": "duel"}, "kind"},
		{"delete_timeline_entry", harness.Arguments{}, "id"},
		{"delete_timeline_entry", harness.Arguments{"id": "rem_hl671kd125"}, "id"},
		{"update_reminder", harness.Arguments{}, "id"},
		{"update_reminder", harness.Arguments{"id": "rem_hl671kd125", "due_on": "tomorrow"}, "due_on"},
		{"get_account", harness.Arguments{"username": "demo"}, "username"},
		{"resolve_people", harness.Arguments{}, "entries"},
		{"resolve_people", harness.Arguments{"entries": strings.Split(long(51), "")}, "entries"},
		{"resolve_people", harness.Arguments{"entries": []string{""}}, "entries"},
		{"archive_connections", harness.Arguments{}, "ids"},
		{"archive_connections", harness.Arguments{"selection": "sel_AAAA"}, "selection"},
		{"archive_connections", harness.Arguments{"ids": []string{person, person}}, "ids"},
		{"delete_connection", harness.Arguments{"id": person}, "confirm_name"},
		{"delete_connection", harness.Arguments{"id": person, "confirm_name": "Another Name"}, "confirm_name"},
		{"find_duplicates", harness.Arguments{"min_score": 0.3}, "min_score"},
		{"find_duplicates", harness.Arguments{"limit": 51}, "limit"},
		{"merge_connections", harness.Arguments{"into_id": person}, "from_ids"},
		{"merge_connections", harness.Arguments{"into_id": person, "from_ids": []string{person}, "dry_run": false}, "from_ids"},
		{"merge_connections", harness.Arguments{"pairs": []harness.Arguments{{"keep_id": person, "merge_id": person}}, "dry_run": false}, "pairs"},
		{"merge_connections", harness.Arguments{"pairs": []harness.Arguments{{"keep_id": person}}}, "pairs[0].merge_id"},
		{"link_connections", harness.Arguments{"from_id": person, "to_id": person, "type": "friend"}, "to_id"},
		{"link_connections", harness.Arguments{"from_id": person, "to_id": person, "type": ""}, "type"},
		{"update_organization", harness.Arguments{"notes": "x"}, "name"},
		{"update_organization", harness.Arguments{"name": "x", "notes": long(4001)}, "notes"},
		{"export_connections", harness.Arguments{}, "format"},
		{"export_connections", harness.Arguments{"format": "pdf"}, "format"},
		{"export_connections", harness.Arguments{"format": "csv", "limit": 201}, "limit"},
		{"export_connections", harness.Arguments{"format": "csv", "cursor": "bm8"}, "cursor"},
		{"update_note", harness.Arguments{"id": "not_1", "body": "x"}, "id"},
		{"update_note", harness.Arguments{"body": "x"}, "id"},
		{"search_notes", harness.Arguments{}, "query"},
		{"count_interactions", harness.Arguments{"group_by": "weekday"}, "group_by"},
		{"count_interactions", harness.Arguments{"limit": 51}, "limit"},
		{"search_notes", harness.Arguments{"query": "x", "cursor": "bm8"}, "cursor"},
		{"list_groups", harness.Arguments{"name": "x"}, "name"},
		{"log_interactions", harness.Arguments{}, "interactions"},
		{"log_interactions", harness.Arguments{"interactions": []harness.Arguments{}}, "interactions"},
		{"log_interactions", harness.Arguments{"interactions": []harness.Arguments{{"connection_ids": []string{person}, "kind": "duel"}}}, "kind"},
		{"log_interactions", harness.Arguments{"interactions": []harness.Arguments{{"connection_ids": []string{person}, "kind": "call"}, {"connection_ids": []string{person}, "kind": "call", "occurred_at": "2999-01-01"}}}, "interactions[1].occurred_at"},
		{"delete_group", harness.Arguments{}, "group"},
		{"delete_group", harness.Arguments{"group": long(81)}, "group"},
		{"save_group", harness.Arguments{}, "name"},
		{"save_group", harness.Arguments{"name": long(81)}, "name"},
		{"save_group", harness.Arguments{"name": "\u200b"}, "name"},
		{"save_group", harness.Arguments{"name": "A", "cadence_days": 731}, "cadence_days"},
		{"update_membership", harness.Arguments{"add_tags": []string{"x"}}, "connection_ids"},
		{"rename_tag", harness.Arguments{"from": "x"}, "to"},
		{"rename_tag", harness.Arguments{"from": "no such tag", "to": "y"}, "from"},
		{"rename_tag", harness.Arguments{"from": "Café", "to": "cafe"}, "to"},
		{"update_membership", harness.Arguments{"connection_ids": []string{person}}, "add_groups"},
		{"update_membership", harness.Arguments{"connection_ids": []string{person}, "add_tags": []string{long(61)}}, "add_tags"},
		{"list_due", harness.Arguments{"days": 367}, "days"},
		{"list_due", harness.Arguments{"kinds": []string{"party"}}, "kinds"},
		{"list_due", harness.Arguments{"cursor": "bm8"}, "cursor"},
		{"create_reminder", harness.Arguments{"text": "x"}, "due_on"},
		{"create_reminder", harness.Arguments{"text": "x", "due_on": "2020-01-01"}, "due_on"},
		{"create_reminder", harness.Arguments{"text": "x", "due_on": "in 3 weeks"}, "due_on"},
		{"create_reminder", harness.Arguments{"text": "x", "due_on": "2025-02-30"}, "due_on"},
		{"create_reminder", harness.Arguments{"text": " ", "due_on": "2031-01-01"}, "text"},
		{"create_reminder", harness.Arguments{"text": "x", "due_on": "2031-01-01", "recurrence": "daily"}, "recurrence"},
		{"complete_reminder", harness.Arguments{}, "id"},
		{"complete_reminder", harness.Arguments{"id": "rem_hl671kd125", "outcome": "lost"}, "outcome"},
		{"set_cadence", harness.Arguments{"connection_ids": []string{person}}, "days"},
		{"set_cadence", harness.Arguments{"connection_ids": []string{person}, "days": 731}, "days"},
		{"set_cadence", harness.Arguments{"connection_ids": []string{person}, "snooze_until": "2025-02-30"}, "snooze_until"},
		{"find_people_at", harness.Arguments{}, "organization"},
		{"prepare_meeting", harness.Arguments{}, "connection_ids"},
		{"prepare_meeting", harness.Arguments{"connection_ids": []string{person}, "topic": ""}, "topic"},
		{"suggest_introductions", harness.Arguments{"limit": 21}, "limit"},
		{"find_similar_connections", harness.Arguments{}, "connection_id"},
		{"get_network_stats", harness.Arguments{"days": 30}, "days"},
		{"search_directory", harness.Arguments{"limit": 0}, "limit"},
		{"search_directory", harness.Arguments{"cursor": "bm8"}, "cursor"},
		{"get_member_profile", harness.Arguments{"username": "ab"}, "username"},
		{"update_my_profile", harness.Arguments{"hide": []string{"email"}}, "hide"},
		{"update_my_profile", harness.Arguments{"listed": true}, "listed"},
		{"update_my_profile", harness.Arguments{"headline": long(161)}, "headline"},
		{"update_my_settings", harness.Arguments{}, "timezone"},
		{"define_field", harness.Arguments{"name": "Club", "type": "choice"}, "choices"},
		{"define_field", harness.Arguments{"name": "Club", "type": "color"}, "yes_no"},
		{"define_field", harness.Arguments{"name": "Club", "remove": true}, "define_field makes one"},
		{"update_connection", harness.Arguments{"id": person, "set_fields": harness.Arguments{"Club": "Lions"}}, "define_field makes one"},
		{"update_connection", harness.Arguments{"id": person, "set_fields": harness.Arguments{"Club": []string{"Lions"}}}, "set_fields"},
		{"search_connections", harness.Arguments{"sort_field": "Club"}, "define_field makes one"},
		{"update_my_settings", harness.Arguments{"timezone": "Berlin"}, "Europe/Berlin"},
		{"update_my_settings", harness.Arguments{"timezone": "Local"}, "timezone"},
		{"update_my_settings", harness.Arguments{"locale": "German"}, "de-DE"},
		{"list_changes", harness.Arguments{"connection_id": "x"}, "connection_id"},
		{"list_changes", harness.Arguments{"since": "yesterday"}, "since"},
		{"list_changes", harness.Arguments{"cursor": "bm8"}, "cursor"},
		{"import_file", harness.Arguments{}, "no file waits"},
		{"import_file", harness.Arguments{"content": ""}, "content"},
		{"import_file", harness.Arguments{"content": long(1<<20 + 1)}, "content"},
		{"import_file", harness.Arguments{"content": "Name\nA", "content_base64": "TmFtZQpB"}, "content_base64"},
		{"import_file", harness.Arguments{"content": "nothing in a table"}, "columns"},
		{"import_file", harness.Arguments{"content_base64": "not in base64!"}, "content_base64"},
		{"import_file", harness.Arguments{"upload_id": "fil-1"}, "upload_id"},
		{"import_file", harness.Arguments{"upload_id": "fil_po958dq040"}, "fil_po958dq040"},
		{"import_file", harness.Arguments{"content": "Name\nA", "format": "pdf"}, "format"},
		{"import_file", harness.Arguments{"content": "Name\nA", "charset": "klingon"}, "charset"},
		{"import_file", harness.Arguments{"content": "Name\nA", "default_region": "Germany"}, "default_region"},
		{"import_file", harness.Arguments{"content": "Name\nA", "on_match": "shout"}, "on_match"},
		{"import_file", harness.Arguments{"content": "Name\nA", "filename": ""}, "filename"},
		{"import_file", harness.Arguments{"content": "Name\nA", "tags": []string{long(61)}}, "tags"},
		{"import_file", harness.Arguments{"content": "Name\nA", "wait_seconds": 21}, "wait_seconds"},
		{"embed_objects", harness.Arguments{"only_stale": "yes"}, "only_stale"},
		{"embed_objects", harness.Arguments{"ids": []string{person}}, "ids"},
		{"get_job", harness.Arguments{}, "task_id"},
		{"get_job", harness.Arguments{"task_id": 0}, "task_id"},
		{"get_job", harness.Arguments{"task_id": 1.5}, "task_id"},
		{"get_job", harness.Arguments{"task_id": 1}, "no job 1"},
		{"get_job", harness.Arguments{"task_id": 1, "wait_seconds": 21}, "wait_seconds"},
		{"cancel_job", harness.Arguments{}, "task_id"},
		{"cancel_job", harness.Arguments{"task_id": -1}, "task_id"},
		{"cancel_job", harness.Arguments{"task_id": 1}, "no job 1"},
		{"undo_change", harness.Arguments{}, "change_id"},
		{"undo_change", harness.Arguments{"change_id": "chg 1"}, "change_id"},
		{"undo_change", harness.Arguments{"change_id": "chg_lt796ft723", "import_id": "imp_ov084ub146"}, "import_id"},
	}
}

// TestBadArguments: the answer says which field broke which rule, and nothing is written.
func TestBadArguments(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		a := s.NewMember(t).Agent(t)
		person := a.Create(t, harness.Arguments{"name": "Original Name"})
		tests := badArguments()
		for _, tool := range a.Tools(t) {
			if !slices.ContainsFunc(tests, func(b badCall) bool { return b.tool == tool.Name }) {
				t.Errorf("%s: no case calls it with bad arguments", tool.Name)
			}
		}
		for _, test := range tests {
			body := strings.ReplaceAll(harness.Encode(t, test.arguments), "PERSON", person)
			t.Run(test.tool+" "+harness.Shorten(body), func(t *testing.T) {
				result := a.Try(t, test.tool, harness.RawJSON(body))
				text := result.Text()
				if !result.IsError || result.Structured != nil || !strings.Contains(text, test.field) {
					t.Errorf("got %s (isError %v), want %s in it", text, result.IsError, test.field)
				}
				if strings.Contains(text, "protovalidate") || strings.Contains(text, "internal") || strings.Contains(text, "our side") {
					t.Errorf("the text does not help the model: %s", text)
				}
			})
		}
		c := a.Call(t, "get_connection", harness.Arguments{"id": person, "include": []string{"notes", "interactions"}})
		if harness.At[string](t, c, "connection", "name") != "Original Name" || harness.At[float64](t, c, "connection", "version") != 1 {
			t.Errorf("the person was changed: %v", c)
		}
		if entries, _ := a.Call(t, "list_timeline", harness.Arguments{})["entries"].([]any); len(entries) != 0 {
			t.Errorf("something was added to the timeline: %v", entries)
		}
		if found := a.Find(t, "A"); len(found) != 0 {
			t.Errorf("a connection was created: %v", found)
		}
		if changes := harness.At[[]any](t, a.Call(t, "list_changes", harness.Arguments{}), "changes"); len(changes) != 1 {
			t.Errorf("a change was recorded: %v", changes)
		}
	})
}

// TestAllViolationsAtOnce: a call that breaks several rules is answered with all of them
// in plain words, including values that cannot be decoded.
func TestAllViolationsAtOnce(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		result := s.NewMember(t).Agent(t).Try(t, "search_connections", harness.Arguments{
			"quary": "x", "query": "", "limit": 99, "sort": "up", "has": 7, "last_contact_after": "soon",
		})
		lines := strings.Split(result.Text(), "\n")
		slices.Sort(lines[1:]) // an object's members have no order
		want := []string{
			"The arguments of search_connections are not valid:",
			`- "quary" is not an argument of this tool; did you mean "query"?`,
			"- has must be a list, not 7",
			"- last_contact_after must be a day such as 2026-11-20; today is " + time.Now().UTC().Format(time.DateOnly),
			"- limit must be between 1 and 50",
			"- query must not be empty; leave it out instead",
			"- sort must be one of relevance, name, family_name, last_contact, created, strength, next_due",
		}
		if !result.IsError || !slices.Equal(lines, want) {
			t.Errorf("got %q", lines)
		}
	})
}

// TestHostileText: unusual but legal text is returned as it was sent, or the field is
// refused by name; it never causes an internal error.
func TestHostileText(t *testing.T) {
	harness.EachTopology(t, func(t *testing.T, s *harness.Service) {
		a := s.NewMember(t).Agent(t)
		for name, text := range map[string]string{
			"SQL":                    `Robert'); DROP TABLE connections;--`,
			"a backslash and quotes": `Back\slash "quoted" 'single' \' ?? $1 :name`,
			"a template":             "{{.}} ${x} %s %d",
			"markup":                 `<script>alert(1)</script>&amp;`,
			"emoji":                  "👩‍👩‍👧 Zoë 🏳️‍🌈",
			"right to left":          "شيماء \u202emoc.live",
			"Japanese":               "山田 太郎",
			"decomposed":             "Ame\u0301lie",
			"200 runes":              strings.Repeat("é", 200),
		} {
			t.Run(name, func(t *testing.T) {
				id := a.Create(t, harness.Arguments{"name": text, "organization": text, "on_duplicate": "create"})
				a.Call(t, "add_note", harness.Arguments{"connection_ids": []string{id}, "body": text})
				a.Call(t, "search_connections", harness.Arguments{"query": text[:strings.LastIndexAny(text+" ", " ")], "company": text})
				c := a.Call(t, "get_connection", harness.Arguments{"id": id, "include": []string{"notes"}})
				if got := harness.At[string](t, c, "connection", "name"); strings.ToValidUTF8(got, "") != got || got == "" {
					t.Errorf("the name became %q", got)
				}
			})
		}
		for name, text := range map[string]string{"a NUL": "secret \x00 note", "a noncharacter": "\ufffe", "controls": "a\x01\x02\x7f\u0085b"} {
			t.Run(name, func(t *testing.T) {
				person := a.Create(t, harness.Arguments{"name": "Holder " + time.Now().String()})
				for tool, args := range map[string]harness.Arguments{
					"create_connection":  {"name": "x" + text, "bio": text, "location": text},
					"update_connection":  {"id": person, "bio": text, "nickname": text, "add_tags": []string{"t" + text}},
					"add_note":           {"connection_ids": []string{person}, "body": "x" + text},
					"log_interaction":    {"connection_ids": []string{person}, "kind": "call", "summary": text, "external_key": "k" + text},
					"search_connections": {"query": "x" + text, "company": "x" + text, "tag": []string{"t" + text}, "group": "g" + text},
					"search_notes":       {"query": "x" + text},
					"search_directory":   {"query": "x" + text},
					"resolve_people":     {"entries": []string{"x" + text, "x" + text + "@example.com"}},
					"save_group":         {"name": "g" + text, "description": text},
					"update_membership":  {"connection_ids": []string{person}, "add_tags": []string{"t" + text}, "remove_groups": []string{"g" + text}},
					"create_reminder":    {"text": "x" + text, "due_on": "2031-01-01"},
					"find_people_at":     {"organization": "x" + text},
					"prepare_meeting":    {"connection_ids": []string{person}, "topic": "x" + text},
					"update_my_profile":  {"headline": text, "bio": text, "skills": []string{"s" + text}},
					"get_member_profile": {"username": "xxx" + text},
					"update_my_settings": {"timezone": text, "locale": text},
					"define_field":       {"name": "f" + text},
					"export_connections": {"format": "vcard", "selection": "sel_" + text},
					"delete_connection":  {"id": person, "confirm_name": "x" + text},
				} {
					result := a.Try(t, tool, args)
					if result.IsError && strings.Contains(result.Text(), "our side") {
						t.Errorf("%s fails with an internal error: %s", tool, result.Text())
					}
				}
			})
		}
	})
}
