package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// badCall is a tool call that breaks a rule, with the field that the answer must
// name. PERSON stands for the id of a person on file.
type badCall struct {
	tool      string
	arguments arguments
	field     string
}

func badArguments() []badCall {
	long := func(n int) string { return strings.Repeat("x", n) }
	const person = "PERSON"
	return []badCall{
		{"search_connections", arguments{}, "query"},
		{"search_connections", arguments{"query": ""}, "query"},
		{"search_connections", arguments{"query": long(257)}, "query"},
		{"search_connections", arguments{"query": 7}, "query"},
		{"search_connections", arguments{"query": []string{"a"}}, "query"},
		{"search_connections", arguments{"query": "a", "limit": 0}, "limit"},
		{"search_connections", arguments{"query": "a", "limit": 51}, "limit"},
		{"search_connections", arguments{"query": "a", "limit": 1.5}, "limit"},
		{"search_connections", arguments{"query": "a", "limit": "many"}, "limit"},
		{"search_connections", arguments{"query": "a", "mode": "telepathy"}, "mode"},
		{"search_connections", arguments{"query": "a", "sort": "up"}, "sort"},
		{"search_connections", arguments{"query": "a", "has": []string{"fax"}}, "has"},
		{"search_connections", arguments{"query": "a", "last_contact_after": "yesterday"}, "last_contact_after"},
		{"search_connections", arguments{"query": "a", "last_contact_after": "2025-02-30"}, "last_contact_after"},
		{"search_connections", arguments{"query": "a", "cursor": "bm8"}, "cursor"},
		{"search_connections", arguments{"query": "a", "qwerty": 1}, "qwerty"},
		{"search_connections", arguments{"Query": "a"}, "Query"},
		{"get_connection", arguments{}, "id"},
		{"get_connection", arguments{"id": "con_1"}, "id"},
		{"get_connection", arguments{"id": "' OR 1=1 --"}, "id"},
		{"get_connection", arguments{"id": person, "include": []string{"secrets"}}, "include"},
		{"create_connection", arguments{}, "name"},
		{"create_connection", arguments{"name": ""}, "name"},
		{"create_connection", arguments{"name": " \t"}, "name"},
		{"create_connection", arguments{"name": "\u200b"}, "name"},
		{"create_connection", arguments{"name": long(201)}, "name"},
		{"create_connection", arguments{"name": "A", "emails": []string{"nobody"}}, "emails"},
		{"create_connection", arguments{"name": "A", "emails": "a@b.example"}, "emails"},
		{"create_connection", arguments{"name": "A", "phones": []string{"call me"}}, "phones"},
		{"create_connection", arguments{"name": "A", "urls": []string{"javascript:alert(1)"}}, "urls"},
		{"create_connection", arguments{"name": "A", "met_on": "2025-13"}, "met_on"},
		{"create_connection", arguments{"name": "A", "met_on": "2025-02-30"}, "met_on"},
		{"create_connection", arguments{"name": "A", "on_duplicate": "shout"}, "on_duplicate"},
		{"create_connection", arguments{"name": "A", "starred": "yes"}, "starred"},
		{"create_connection", arguments{"name": "A", "tenant_id": "mem_x"}, "tenant_id"},
		{"update_connection", arguments{"name": "A"}, "id"},
		{"update_connection", arguments{"id": person, "name": ""}, "name"},
		{"update_connection", arguments{"id": person, "expected_version": 0}, "expected_version"},
		{"update_connection", arguments{"id": person, "add_emails": []string{"nobody"}}, "add_emails"},
		{"list_timeline", arguments{"connection_id": "x"}, "connection_id"},
		{"list_timeline", arguments{"since": "2025-02-30"}, "since"},
		{"list_timeline", arguments{"until": "soon"}, "until"},
		{"list_timeline", arguments{"kinds": []string{"duel"}}, "kinds"},
		{"list_timeline", arguments{"limit": -1}, "limit"},
		{"list_timeline", arguments{"cursor": "bm8"}, "cursor"},
		{"add_note", arguments{"body": "x"}, "connection_ids"},
		{"add_note", arguments{"connection_ids": []string{}, "body": "x"}, "connection_ids"},
		{"add_note", arguments{"connection_ids": []string{person, person}, "body": "x"}, "connection_ids"},
		{"add_note", arguments{"connection_ids": []string{person}}, "body"},
		{"add_note", arguments{"connection_ids": []string{person}, "body": " "}, "body"},
		{"add_note", arguments{"connection_ids": []string{person}, "body": long(20001)}, "body"},
		{"log_interaction", arguments{"connection_ids": []string{person}}, "kind"},
		{"log_interaction", arguments{"connection_ids": []string{person}, "kind": "duel"}, "kind"},
		{"log_interaction", arguments{"connection_ids": []string{person}, "kind": "call", "occurred_at": "today"}, "occurred_at"},
		{"log_interaction", arguments{"connection_ids": []string{person}, "kind": "call", "occurred_at": "2999-01-01T00:00:00Z"}, "occurred_at"},
		{"log_interaction", arguments{"connection_ids": []string{person}, "kind": "call", "occurred_at": "0001-01-01T00:00:00Z"}, "occurred_at"},
		{"log_interaction", arguments{"connection_ids": []string{person}, "kind": "call", "duration_minutes": -1}, "duration_minutes"},
		{"log_interaction", arguments{"connection_ids": []string{person}, "kind": "call", "duration_minutes": 1e10}, "duration_minutes"},
		{"get_account", arguments{"username": "demo"}, "username"},
		{"resolve_people", arguments{}, "entries"},
		{"resolve_people", arguments{"entries": strings.Split(long(51), "")}, "entries"},
		{"resolve_people", arguments{"entries": []string{""}}, "entries"},
		{"archive_connections", arguments{}, "ids"},
		{"archive_connections", arguments{"ids": []string{person, person}}, "ids"},
		{"delete_connection", arguments{"id": person}, "confirm_name"},
		{"delete_connection", arguments{"id": person, "confirm_name": "Another Name"}, "confirm_name"},
		{"find_duplicates", arguments{"min_score": 0.3}, "min_score"},
		{"find_duplicates", arguments{"limit": 51}, "limit"},
		{"merge_connections", arguments{"into_id": person}, "from_ids"},
		{"merge_connections", arguments{"into_id": person, "from_ids": []string{person}, "dry_run": false}, "from_ids"},
		{"link_connections", arguments{"from_id": person, "to_id": person, "type": "friend"}, "to_id"},
		{"link_connections", arguments{"from_id": person, "to_id": person, "type": "enemy"}, "type"},
		{"export_connections", arguments{}, "format"},
		{"export_connections", arguments{"format": "pdf"}, "format"},
		{"export_connections", arguments{"format": "csv", "limit": 201}, "limit"},
		{"export_connections", arguments{"format": "csv", "cursor": "bm8"}, "cursor"},
		{"update_note", arguments{"id": "not_1", "body": "x"}, "id"},
		{"update_note", arguments{"body": "x"}, "id"},
		{"search_notes", arguments{}, "query"},
		{"search_notes", arguments{"query": "x", "cursor": "bm8"}, "cursor"},
		{"list_groups", arguments{"name": "x"}, "name"},
		{"save_group", arguments{}, "name"},
		{"save_group", arguments{"name": long(81)}, "name"},
		{"save_group", arguments{"name": "\u200b"}, "name"},
		{"save_group", arguments{"name": "A", "cadence_days": 731}, "cadence_days"},
		{"update_membership", arguments{"add_tags": []string{"x"}}, "connection_ids"},
		{"update_membership", arguments{"connection_ids": []string{person}}, "add_groups"},
		{"update_membership", arguments{"connection_ids": []string{person}, "add_tags": []string{long(61)}}, "add_tags"},
		{"list_due", arguments{"days": 367}, "days"},
		{"list_due", arguments{"kinds": []string{"party"}}, "kinds"},
		{"list_due", arguments{"cursor": "bm8"}, "cursor"},
		{"create_reminder", arguments{"text": "x"}, "due_on"},
		{"create_reminder", arguments{"text": "x", "due_on": "2025-02-30"}, "due_on"},
		{"create_reminder", arguments{"text": " ", "due_on": "2026-01-01"}, "text"},
		{"create_reminder", arguments{"text": "x", "due_on": "2026-01-01", "recurrence": "daily"}, "recurrence"},
		{"complete_reminder", arguments{}, "id"},
		{"complete_reminder", arguments{"id": "rem_00000000000000000000000000", "outcome": "lost"}, "outcome"},
		{"set_cadence", arguments{"connection_id": person}, "days"},
		{"set_cadence", arguments{"connection_id": person, "days": 731}, "days"},
		{"set_cadence", arguments{"connection_id": person, "snooze_until": "2025-02-30"}, "snooze_until"},
		{"find_people_at", arguments{}, "organization"},
		{"prepare_meeting", arguments{}, "connection_ids"},
		{"prepare_meeting", arguments{"connection_ids": []string{person}, "topic": ""}, "topic"},
		{"suggest_introductions", arguments{"limit": 21}, "limit"},
		{"find_similar_connections", arguments{}, "connection_id"},
		{"get_network_stats", arguments{"days": 30}, "days"},
		{"search_directory", arguments{"limit": 0}, "limit"},
		{"search_directory", arguments{"cursor": "bm8"}, "cursor"},
		{"get_member_profile", arguments{"username": "ab"}, "username"},
		{"update_my_profile", arguments{"hide": []string{"email"}}, "hide"},
		{"update_my_profile", arguments{"listed": true}, "listed"},
		{"update_my_profile", arguments{"headline": long(161)}, "headline"},
		{"list_changes", arguments{"object_id": "x"}, "object_id"},
		{"list_changes", arguments{"cursor": "bm8"}, "cursor"},
		{"import_file", arguments{}, "no file waits"},
		{"import_file", arguments{"content": ""}, "content"},
		{"import_file", arguments{"content": long(1<<20 + 1)}, "content"},
		{"import_file", arguments{"content": "Name\nA", "content_base64": "TmFtZQpB"}, "content_base64"},
		{"import_file", arguments{"content": "nothing in a table"}, "columns"},
		{"import_file", arguments{"content_base64": "not in base64!"}, "content_base64"},
		{"import_file", arguments{"upload_id": "fil_1"}, "upload_id"},
		{"import_file", arguments{"upload_id": "fil_00000000000000000000000000"}, "fil_0000"},
		{"import_file", arguments{"content": "Name\nA", "format": "pdf"}, "format"},
		{"import_file", arguments{"content": "Name\nA", "charset": "klingon"}, "charset"},
		{"import_file", arguments{"content": "Name\nA", "default_region": "Germany"}, "default_region"},
		{"import_file", arguments{"content": "Name\nA", "on_match": "shout"}, "on_match"},
		{"import_file", arguments{"content": "Name\nA", "filename": ""}, "filename"},
		{"import_file", arguments{"content": "Name\nA", "tags": []string{long(61)}}, "tags"},
		{"embed_objects", arguments{"only_stale": "yes"}, "only_stale"},
		{"embed_objects", arguments{"ids": []string{person}}, "ids"},
		{"get_job", arguments{}, "task_id"},
		{"get_job", arguments{"task_id": 0}, "task_id"},
		{"get_job", arguments{"task_id": 1.5}, "task_id"},
		{"get_job", arguments{"task_id": 1}, "no job 1"},
		{"get_job", arguments{"task_id": 1, "wait_seconds": 21}, "wait_seconds"},
		{"cancel_job", arguments{}, "task_id"},
		{"cancel_job", arguments{"task_id": -1}, "task_id"},
		{"cancel_job", arguments{"task_id": 1}, "no job 1"},
		{"undo_change", arguments{}, "change_id"},
		{"undo_change", arguments{"change_id": "chg_1"}, "change_id"},
		{"undo_change", arguments{"change_id": "chg_00000000000000000000000000", "import_id": "imp_00000000000000000000000000"}, "import_id"},
	}
}

// TestBadArguments: a model learns which field broke which rule, and nothing is written.
func TestBadArguments(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		a := s.newMember(t).agent(t)
		person := a.create(t, arguments{"name": "Original Name"})
		tests := badArguments()
		for _, tool := range a.tools(t) {
			if !slices.ContainsFunc(tests, func(b badCall) bool { return b.tool == tool.Name }) {
				t.Errorf("%s: nobody tried it with bad arguments", tool.Name)
			}
		}
		for _, test := range tests {
			body := strings.ReplaceAll(encode(t, test.arguments), "PERSON", person)
			t.Run(test.tool+" "+shorten(body), func(t *testing.T) {
				result := a.try(t, test.tool, rawJSON(body))
				text := result.text()
				if !result.IsError || result.Structured != nil || !strings.Contains(text, test.field) {
					t.Errorf("got %s (isError %v), want %s in it", text, result.IsError, test.field)
				}
				if strings.Contains(text, "protovalidate") || strings.Contains(text, "internal") || strings.Contains(text, "our side") {
					t.Errorf("the text is no help: %s", text)
				}
			})
		}
		c := a.call(t, "get_connection", arguments{"id": person, "include": []string{"notes", "interactions"}})
		if at[string](t, c, "connection", "name") != "Original Name" || at[float64](t, c, "connection", "version") != 1 {
			t.Errorf("the person was changed: %v", c)
		}
		if entries, _ := a.call(t, "list_timeline", arguments{})["entries"].([]any); len(entries) != 0 {
			t.Errorf("something was written: %v", entries)
		}
		if found := a.find(t, "A"); len(found) != 0 {
			t.Errorf("somebody was made: %v", found)
		}
		if changes := at[[]any](t, a.call(t, "list_changes", arguments{}), "changes"); len(changes) != 1 {
			t.Errorf("something was changed: %v", changes)
		}
	})
}

// TestAllViolationsAtOnce: a model that broke several rules learns of each, in plain
// words, what cannot be decoded included.
func TestAllViolationsAtOnce(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		result := s.newMember(t).agent(t).try(t, "search_connections", arguments{
			"quary": "x", "query": "", "limit": 99, "sort": "up", "has": "email", "last_contact_after": "soon",
		})
		lines := strings.Split(result.text(), "\n")
		slices.Sort(lines[1:]) // an object's members have no order
		want := []string{
			"The arguments of search_connections are not valid:",
			`- "quary" is not an argument of this tool; did you mean "query"?`,
			`- has must be a list, not "email"`,
			"- last_contact_after must be a day such as 2026-11-20",
			"- limit must be between 1 and 50",
			"- query must not be empty",
			"- sort must be one of relevance, name, last_contact, recent",
		}
		if !result.IsError || !slices.Equal(lines, want) {
			t.Errorf("got %q", lines)
		}
	})
}

// TestHostileText: what is legal, but unusual, comes back as it was sent, or is
// refused by name; it never breaks the service.
func TestHostileText(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		a := s.newMember(t).agent(t)
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
				id := a.create(t, arguments{"name": text, "organization": text, "on_duplicate": "create"})
				a.call(t, "add_note", arguments{"connection_ids": []string{id}, "body": text})
				a.call(t, "search_connections", arguments{"query": text[:strings.LastIndexAny(text+" ", " ")], "company": text})
				c := a.call(t, "get_connection", arguments{"id": id, "include": []string{"notes"}})
				if got := at[string](t, c, "connection", "name"); strings.ToValidUTF8(got, "") != got || got == "" {
					t.Errorf("the name became %q", got)
				}
			})
		}
		for name, text := range map[string]string{"a NUL": "secret \x00 note", "a noncharacter": "\ufffe", "controls": "a\x01\x02\x7f\u0085b"} {
			t.Run(name, func(t *testing.T) {
				person := a.create(t, arguments{"name": "Holder " + time.Now().String()})
				for tool, args := range map[string]arguments{
					"create_connection":  {"name": "x" + text, "bio": text, "location": text},
					"update_connection":  {"id": person, "bio": text, "nickname": text, "add_tags": []string{"t" + text}},
					"add_note":           {"connection_ids": []string{person}, "body": "x" + text},
					"log_interaction":    {"connection_ids": []string{person}, "kind": "call", "summary": text, "external_key": "k" + text},
					"search_connections": {"query": "x" + text, "company": "x" + text, "tag": "t" + text, "group": "g" + text},
					"search_notes":       {"query": "x" + text},
					"search_directory":   {"query": "x" + text},
					"resolve_people":     {"entries": []string{"x" + text, "x" + text + "@example.com"}},
					"save_group":         {"name": "g" + text, "description": text},
					"update_membership":  {"connection_ids": []string{person}, "add_tags": []string{"t" + text}, "remove_groups": []string{"g" + text}},
					"create_reminder":    {"text": "x" + text, "due_on": "2026-01-01"},
					"find_people_at":     {"organization": "x" + text},
					"prepare_meeting":    {"connection_ids": []string{person}, "topic": "x" + text},
					"update_my_profile":  {"headline": text, "bio": text, "skills": []string{"s" + text}},
					"get_member_profile": {"username": "xxx" + text},
					"export_connections": {"format": "vcard", "tag": "t" + text},
					"delete_connection":  {"id": person, "confirm_name": "x" + text},
				} {
					result := a.try(t, tool, args)
					if result.IsError && strings.Contains(result.text(), "our side") {
						t.Errorf("%s breaks: %s", tool, result.text())
					}
				}
			})
		}
	})
}
