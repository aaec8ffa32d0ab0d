package e2e

import (
	"strings"
	"testing"
	"time"
)

// badArguments are tool calls that break a rule, with the field that the answer
// must name. PERSON stands for the id of a person on file.
func badArguments() []struct {
	tool      string
	arguments arguments
	field     string
} {
	long := func(n int) string { return strings.Repeat("x", n) }
	const person = "PERSON"
	return []struct {
		tool      string
		arguments arguments
		field     string
	}{
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
	}
}

// TestBadArguments: a model learns which field broke which rule, and nothing is written.
func TestBadArguments(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		a := s.newMember(t).agent(t)
		person := a.create(t, arguments{"name": "Original Name"})
		for _, test := range badArguments() {
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
	})
}

// TestAllViolationsAtOnce: a model that broke two rules learns of both.
func TestAllViolationsAtOnce(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		result := s.newMember(t).agent(t).try(t, "search_connections", arguments{"query": "", "limit": 99, "sort": "up"})
		for _, field := range []string{"query", "limit", "sort"} {
			if !strings.Contains(result.text(), field) {
				t.Errorf("%s is not named: %s", field, result.text())
			}
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
				a.call(t, "search_connections", arguments{"query": text[:strings.LastIndexAny(text+" ", " ")], "company": "x"})
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
					"search_connections": {"query": "x" + text, "company": "x" + text, "tag": "t" + text},
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
