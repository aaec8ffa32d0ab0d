package rpc_test

import (
	"fmt"
	"strings"
	"testing"
)

// A filter that names nothing on file is an error with the nearest names, never an
// empty answer.
func TestUnknownFilters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		b.made(t, `{"name":"Ana Lopez","organization":"Helios Energy","tags":["investor","rowing"],"location":"Lisbon"}`)
		b.made(t, `{"name":"Ben Okafor","organization":"Nordwind GmbH","tags":["founder","chess"]}`)
		b.call(t, "/kith.organize.v1.OrganizeService/SaveGroup", `{"name":"Book club"}`)
		for name, c := range map[string]struct{ procedure, body, says string }{
			"search, tag":     {searchPath, `{"query":"ana","tag":"investr"}`, `tag: nobody has the tag "investr"; nearest: "investor", "`},
			"search, company": {searchPath, `{"company":"Heliox"}`, `company: nobody is or was at "Heliox"; nearest: "Helios Energy", "Nordwind GmbH"`},
			"search, group":   {searchPath, `{"query":"ana","group":"Bok club"}`, `group: there is no group "Bok club"; nearest: "Book club"`},
			"export, tag":     {exportPeople, `{"format":"csv","tag":"ches"}`, `tag: nobody has the tag "ches"; nearest: "chess", `},
			"export, group":   {exportPeople, `{"format":"csv","group":"Bookclub"}`, `group: there is no group "Bookclub"; nearest: "Book club"`},
			"people at":       {findPeopleAt, `{"organization":"Nordwynd"}`, `organization: nobody is or was at "Nordwynd"; nearest: "Nordwind GmbH", "Helios Energy"`},
			"all of them":     {searchPath, `{"query":"*"}`, `query: has no letter or digit, and there are no wildcards; to list people, leave query out and give a filter`},
			"all notes":       {"/kith.timeline.v1.TimelineService/SearchNotes", `{"query":"**"}`, `list_timeline`},
			"all members":     {searchDirectory, `{"query":"?"}`, `leave query out`},
			"nothing at all":  {searchPath, `{"limit":5}`, `give a query, or at least one filter`},
		} {
			if got := b.call(t, c.procedure, c.body); got.code() != "invalid_argument" || !strings.Contains(got.message(), c.says) {
				t.Errorf("%s: %v", name, got.body)
			}
		}
	})
}

// Known filters that nobody passes together are an empty answer, and a filter alone
// lists everybody who passes it.
func TestKnownFilters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		b.made(t, `{"name":"Ana Lopez","organization":"Helios Energy","tags":["investor"]}`)
		b.made(t, `{"name":"Ben Okafor","organization":"Nordwind GmbH","tags":["founder"]}`)
		b.call(t, "/kith.organize.v1.OrganizeService/SaveGroup", `{"name":"Book club"}`)
		for body, want := range map[string]int{
			`{"tag":"investor"}`: 1, `{"company":"helios"}`: 1, `{"tag":"INVESTOR","company":"energy"}`: 1,
			`{"tag":"investor","company":"nordwind"}`: 0, `{"query":"Ben","tag":"investor"}`: 0, `{"group":"Book club"}`: 0,
		} {
			got := b.call(t, searchPath, body)
			if hits, ok := got.at("hits").([]any); !ok || len(hits) != want {
				t.Errorf("%s: %v", body, got.body)
			}
		}
		if got := b.call(t, exportPeople, `{"format":"csv","tag":"investor","group":"Book club"}`); got.at("count") != 0.0 {
			t.Errorf("export: %v", got.body)
		}
	})
}

// A bio and how people met are searched from the moment they are written.
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
