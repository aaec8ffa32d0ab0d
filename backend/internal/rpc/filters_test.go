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
			"search, tag":     {searchPath, `{"query":"ana","tag":["investr"]}`, `tag: nobody has the tag "investr"; nearest: "investor", "`},
			"search, company": {searchPath, `{"company":"Heliox"}`, `company: nobody is or was at "Heliox"; nearest: "Helios Energy", "Nordwind GmbH"`},
			"search, group":   {searchPath, `{"query":"ana","group":"Bok club"}`, `group: there is no group "Bok club"; nearest: "Book club"`},
			"people at":       {findPeopleAt, `{"organization":"Nordwynd"}`, `organization: nobody is or was at "Nordwynd"; nearest: "Nordwind GmbH", "Helios Energy"`},
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
