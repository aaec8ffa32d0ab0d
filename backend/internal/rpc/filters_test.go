package rpc_test

import (
	"fmt"
	"strings"
	"testing"
)

// A filter with a name that does not exist is an error that lists the nearest names, never
// an empty answer.
func TestUnknownFilters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		b.made(t, `{"name":"Ana Lopez","organization":"Helios Energy","tags":["investor","rowing"],"location":"Lisbon"}`)
		b.made(t, `{"name":"Ben Okafor","organization":"Nordwind GmbH","tags":["founder","chess"]}`)
		b.call(t, "/kith.organize.v1.OrganizeService/SaveGroup", `{"name":"Book club"}`)
		for name, c := range map[string]struct{ procedure, body, says string }{
			"search, tag":     {searchPath, `{"query":"ana","tag":["investr"]}`, `tag: nobody has the tag "investr"; nearest: "investor"`},
			"search, company": {searchPath, `{"company":"Heliox"}`, `company: nobody is or was at "Heliox"; nearest: "Helios Energy"`},
			"search, group":   {searchPath, `{"query":"ana","group":"Bok club"}`, `group: there is no group "Bok club"; nearest: "Book club"`},
			"people at":       {findPeopleAt, `{"organization":"Nordwynd"}`, `organization: nobody is or was at "Nordwynd"; nearest: "Nordwind GmbH"`},
			"all of them":     {searchPath, `{"query":"*"}`, `query: has no letter or digit, and there are no wildcards; leave query out`},
			"all notes":       {"/kith.timeline.v1.TimelineService/SearchNotes", `{"query":"**"}`, `list_timeline`},
			"all members":     {searchDirectory, `{"query":"?"}`, `leave query out`},
			"no country":      {searchPath, `{"country":"Atlantis"}`, `country: "Atlantis" is no country`},
			"half a year":     {searchPath, `{"birthday_between":["12-01"]}`, `birthday_between: takes two days of the year`},
			"no such day":     {searchPath, `{"birthday_between":["02-01","02-30"]}`, `"02-30" is no day of the calendar`},
			"score of nobody": {searchPath, `{"tag":["chess"],"min_score":0.5}`, `min_score needs a query`},
			"never and after": {searchPath, `{"never_contacted":true,"last_contact_after":"2026-01-01"}`, `never_contacted: contradicts last_contact_after`},
			"no time between": {searchPath, `{"last_contact_after":"2026-05-01","last_contact_before":"2026-05-01"}`, `last_contact_before: must lie after`},
			"met in no time":  {searchPath, `{"met_on_after":"2026","met_on_before":"2025"}`, `met_on_before: must lie after`},
			"has and missing": {searchPath, `{"has":["email"],"missing":["email"]}`, `missing: email is in has, too`},
			"tag, but none":   {searchPath, `{"tag":["chess"],"missing":["tag"]}`, `missing: tag contradicts`},
			"two mistakes":    {searchPath, `{"country":"Atlantis","created_after":"2026-02-30"}`, `Atlantis`},
			"the second one":  {searchPath, `{"country":"Atlantis","created_after":"2026-02-30"}`, `created_after: "2026-02-30" is no day`},
		} {
			if got := b.call(t, c.procedure, c.body); got.code() != "invalid_argument" || !strings.Contains(got.message(), c.says) {
				t.Errorf("%s: %v", name, got.body)
			}
		}
	})
}

// Known filters that no person matches together give an empty answer, and a single filter
// lists everyone who matches it.
func TestKnownFilters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		b.made(t, `{"name":"Ana Lopez","organization":"Helios Energy","tags":["investor"]}`)
		b.made(t, `{"name":"Ben Okafor","organization":"Nordwind GmbH","tags":["founder"]}`)
		b.call(t, "/kith.organize.v1.OrganizeService/SaveGroup", `{"name":"Book club"}`)
		for body, want := range map[string]int{
			`{"tag":["investor"]}`: 1, `{"company":"helios"}`: 1, `{"tag":["INVESTOR"],"company":"energy"}`: 1,
			`{"tag":["investor"],"company":"nordwind"}`: 0, `{"query":"Ben","tag":["investor"]}`: 0, `{"group":"Book club"}`: 0,
		} {
			got := b.call(t, searchPath, body)
			if hits, ok := got.at("hits").([]any); !ok || len(hits) != want {
				t.Errorf("%s: %v", body, got.body)
			}
		}
		if got := b.call(t, searchPath, `{}`); got.at("count") != 2.0 || got.at("hits", 0, "name") != "Ana Lopez" {
			t.Errorf("everyone: %v", got.body)
		}
	})
}

// A bio and how people met can be searched as soon as they are written.
func TestSearchInBioAndHowTheyMet(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		for n := range 8 {
			bio := ""
			if n < 4 {
				bio = "Teaches applied linguistics in Turku."
			}
			b.made(t, fmt.Sprintf(`{"name":"Person %d","bio":%q,"met_how":"At Tideline Days, in the queue"}`, n, bio))
		}
		for query, want := range map[string]struct {
			people  int
			field   string
			snippet string
		}{
			"applied linguistics": {4, "bio", "Teaches applied linguistics in Turku."},
			"Tideline Days":       {8, "met_how", "At Tideline Days, in the queue"},
		} {
			got := b.call(t, searchPath, fmt.Sprintf(`{"query":%q}`, query))
			if hits, _ := got.at("hits").([]any); len(hits) != want.people ||
				got.at("hits", 0, "matched_fields", 0) != want.field || got.at("hits", 0, "snippet") != want.snippet {
				t.Errorf("%s: %v", query, got.body)
			}
		}
		late := b.made(t, `{"name":"Late Comer"}`)
		b.call(t, update, `{"id":"`+late+`","bio":"Grows saffron"}`)
		if got := b.call(t, searchPath, `{"query":"saffron"}`); got.at("hits", 0, "id") != late {
			t.Errorf("after an update: %v", got.body)
		}
	})
}

// last_contact_after includes its day, in the member's time zone.
func TestLastContactAfterIsInclusive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		id := b.made(t, `{"name":"Ana"}`)
		b.call(t, logCall, `{"connection_ids":`+idsOf(t, id)+`,"kind":"call","occurred_at":"2026-03-05"}`)
		for day, hits := range map[string]int{"2026-03-04": 1, "2026-03-05": 1, "2026-03-06": 0} {
			if got := b.call(t, searchPath, `{"last_contact_after":"`+day+`"}`); got.size("hits") != hits {
				t.Errorf("%s: %v", day, got.body)
			}
		}
	})
}

// link_connections takes a relation and its inverse, and stores both the same way round.
func TestInverseRelations(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		const link = "/kith.connections.v1.ConnectionService/LinkConnections"
		ana, bo := b.made(t, `{"name":"Ana"}`), b.made(t, `{"name":"Bo"}`)
		for word, seen := range map[string][2]string{ // what the answer says of Bo, and of Ana from his side
			"introduced": {"introduced", "introduced_by"}, "introduced_by": {"introduced_by", "introduced"}, "report": {"report", "manager"}, "manager": {"manager", "report"},
			"reports_to": {"manager", "report"}, "manager_of": {"report", "manager"}, "child": {"child", "parent"}, "parent": {"parent", "child"},
			"child_of": {"parent", "child"}, "parent_of": {"child", "parent"}, "friend": {"friend", "friend"},
		} {
			arguments := fmt.Sprintf(`{"from_id":%q,"to_id":%q,"type":%q`, ana, bo, word)
			got := b.call(t, link, arguments+"}")
			back := b.call(t, link, fmt.Sprintf(`{"from_id":%q,"to_id":%q,"type":%q}`, bo, ana, seen[1])) // stored already
			if got.at("relationships", 0, "type") != seen[0] || back.size("relationships") != 1 || back.at("relationships", 0, "type") != seen[1] || back.at("change_id") != nil {
				t.Errorf("%s: %v, from the other side %v", word, got.body, back.body)
			}
			if gone := b.call(t, link, arguments+`,"remove":true}`); gone.size("relationships") != 0 || gone.at("change_id") == nil {
				t.Errorf("%s: %v", word, gone.body)
			}
		}
	})
}

// A reminder that was dismissed says so when it is completed, and the other way round.
func TestEndedReminderSaysHow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		for first, then := range map[string]string{"dismissed": "done", "done": "dismissed"} {
			id := b.call(t, createReminder, `{"text":"Call","due_on":"2099-01-01"}`).at("reminder", "id")
			end := func(how string) answer {
				return b.call(t, completeReminder, fmt.Sprintf(`{"id":%q,"outcome":%q}`, id, how))
			}
			for range 2 {
				if got := end(first); got.at("reminder", "state") != first {
					t.Errorf("%v", got.body)
				}
			}
			if got := end(then); got.code() != "aborted" || !strings.Contains(got.message(), "is "+first) {
				t.Errorf("%s, then %s: %v", first, then, got.body)
			}
		}
	})
}
