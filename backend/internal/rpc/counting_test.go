package rpc_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
)

const countInteractions = "/kith.timeline.v1.TimelineService/CountInteractions"

// groupsOf returns the groups of an answer in short: name=count/minutes.
func groupsOf(got answer) string {
	var out []string
	for i := range got.size("groups") {
		one := fmt.Sprintf("%v=%v", got.at("groups", i, "name"), got.at("groups", i, "count"))
		if minutes := got.at("groups", i, "minutes"); minutes != nil {
			one += fmt.Sprintf("/%v", minutes)
		}
		out = append(out, one)
	}
	return strings.Join(out, " ")
}

// namesOf returns the names of the hits.
func namesOf(got answer) string {
	var out []string
	for i := range got.size("hits") {
		out = append(out, fmt.Sprint(got.at("hits", i, "name")))
	}
	return strings.Join(out, " ")
}

// Interactions are counted by people, kinds, months of the member's zone, organisations and tags.
func TestCountInteractions(t *testing.T) {
	t.Parallel()
	inZone(t, "America/Los_Angeles", time.Date(2026, 11, 23, 7, 30, 0, 0, time.UTC), func(t *testing.T, b *bundle) {
		ana, bo := b.made(t, `{"name":"Ana","organization":"Helios","tags":["chess"]}`), b.made(t, `{"name":"Bo"}`)
		for _, body := range []string{
			`{"connection_ids":["` + ana + `","` + bo + `"],"kind":"meeting","occurred_at":"2026-11-01T02:00:00Z","duration_minutes":30}`, // October in Los Angeles
			`{"connection_ids":["` + ana + `"],"kind":"meeting","occurred_at":"2026-11-01","duration_minutes":45}`,
			`{"connection_ids":["` + ana + `"],"kind":"email","occurred_at":"2026-08-01"}`,
		} {
			if got := b.call(t, logCall, body); got.code() != "" {
				t.Fatalf("%s: %v", body, got.body)
			}
		}
		for body, want := range map[string]string{
			`{}`:                               "3/75:",
			`{"group_by":"person"}`:            "3/75: Ana=3/75 Bo=1/30",
			`{"group_by":"kind"}`:              "3/75: meeting=2/75 email=1",
			`{"group_by":"month"}`:             "3/75: 2026-08=1 2026-10=1/30 2026-11=1/45",
			`{"group_by":"month","limit":2}`:   "3/75: 2026-10=1/30 2026-11=1/45 and more",
			`{"group_by":"organization"}`:      "3/75: Helios=3/75",
			`{"group_by":"tag","tag":"CHESS"}`: "3/75: chess=3/75",
			`{"group_by":"person","connection_ids":["` + bo + `"]}`:          "1/30: Bo=1/30",
			`{"group_by":"person","limit":1}`:                                "3/75: Ana=3/75 and more",
			`{"since":"2026-11-01","kinds":["meeting"]}`:                     "1/45:",
			`{"until":"2026-11-01","kinds":["meeting"],"group_by":"person"}`: "1/30: Ana=1/30 Bo=1/30",
			`{"since":"2026-11-02","group_by":"kind"}`:                       "0/<nil>:",
		} {
			got := b.call(t, countInteractions, body)
			short := strings.TrimSpace(fmt.Sprintf("%v/%v: %s", got.at("count"), got.at("minutes"), groupsOf(got)))
			if got.at("has_more") == true {
				short += " and more"
			}
			if short != want {
				t.Errorf("%s: %s, want %s\n%v", body, short, want, got.body)
			}
		}
		if got := b.call(t, countInteractions, `{"group_by":"person"}`); got.at("groups", 0, "id") != ana {
			t.Errorf("by person: %v", got.body)
		}
		for body, says := range map[string]string{
			`{"group_by":"place"}`:                         "person, kind, month, organization, tag",
			`{"tag":"ches"}`:                               `tag: nobody has the tag "ches"; nearest: "chess"`,
			`{"since":"2026-02-30"}`:                       `since: "2026-02-30" is no day`,
			`{"since":"2026-05-01","until":"2026-05-01"}`:  "until: must lie after since",
			`{"kinds":["note"]}`:                           "meeting, call",
			`{"group_by":"kind","connection_ids":["Ana"]}`: "search_connections returns ids",
		} {
			if got := b.call(t, countInteractions, body); got.code() != "invalid_argument" || !strings.Contains(got.message(), says) {
				t.Errorf("%s: %v", body, got.body)
			}
		}
	})
}

// Filters by dates of lives and jobs, kinds of contact and introducers find people, and search_connections counts and groups them.
func TestFiltersOfLives(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ana := b.made(t, `{"name":"Ana","important_dates":[{"kind":"birthday","date":"1976-05-17"}],"positions":[{"organization":"Helios","title":"CTO","started_on":"2026-03"},{"organization":"Nordwind","title":"Engineer","started_on":"2010","ended_on":"2026-02-28"}],"tags":["chess","rowing"],"location":"Porto, Portugal"}`)
		bo := b.made(t, `{"name":"Bo","important_dates":[{"kind":"birthday","date":"--05-09"}],"organization":"Helios","tags":["chess"],"addresses":[{"street":"Rua 1","locality":"Porto","country":"PT"}]}`)
		cy := b.made(t, `{"name":"Cy","important_dates":[{"kind":"birthday","date":"1975"}]}`)
		err := b.store.Tenant(b.member, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error { // as an import does
			c, err := people.GetConnection(ctx, tx, cy)
			if err != nil {
				return err
			}
			c.Version++
			c.Related = []people.Relation{{Name: "Käthe Weiß", Type: people.RelationIntroducedBy}}
			return people.ReplaceConnection(ctx, tx, c)
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range [][2]string{
			{logCall, `{"connection_ids":["` + ana + `","` + bo + `"],"kind":"email","occurred_at":"2026-01-05"}`},
			{logCall, `{"connection_ids":["` + bo + `"],"kind":"call","occurred_at":"2026-01-06"}`},
			{linkPeople, `{"from_id":"` + bo + `","to_id":"` + ana + `","type":"introduced_by"}`},
			{"/kith.connections.v1.ConnectionService/DefineField", `{"name":"Size","type":"number"}`},
			{update, `{"id":"` + cy + `","set_fields":{"Size":42}}`},
		} {
			if got := b.call(t, c[0], c[1]); got.code() != "" {
				t.Fatalf("%s: %v", c[1], got.body)
			}
		}
		for body, want := range map[string]string{
			`{"born":"1976"}`: "Ana", `{"born":"..1976"}`: "Ana Cy", `{"born":"1976-05-18.."}`: "", `{"born":"1975-06..1976-05"}`: "Ana Cy",
			`{"job_started":"2026.."}`: "Ana", `{"job_started":"2010"}`: "Ana", `{"job_started":"2011..2025"}`: "", `{"job_ended":"2026-02"}`: "Ana",
			`{"contacted_only_by":["email"]}`: "Ana", `{"contacted_only_by":["email","call"]}`: "Ana Bo", `{"contacted_only_by":["meeting"]}`: "",
			`{"met_through":"` + ana + `"}`: "Bo", `{"met_through":"ana"}`: "Bo", `{"met_through":"Kathe"}`: "Cy", `{"met_through":"` + bo + `"}`: "",
			`{"missing":["address"]}`: "Ana Cy", `{"missing":["title"]}`: "Bo Cy", `{"has":["address"]}`: "Bo", `{"missing":["interaction","note","tag"]}`: "Cy",
			`{"fields":{"Size":""}}`: "Ana Bo", `{"fields":{"Size":"40.."}}`: "Cy",
		} {
			if got := b.call(t, searchPath, body); got.code() != "" || namesOf(got) != want {
				t.Errorf("%s: %q, want %q\n%v", body, namesOf(got), want, got.body)
			}
		}
		for body, want := range map[string]string{
			`{"group_by":"tag"}`: "3 2 1: chess=2 rowing=1", `{"group_by":"organization"}`: "3 1 1: Helios=2", `{"group_by":"organization","tag":["rowing"]}`: "1 1 <nil>: Helios=1",
			`{"group_by":"birth_month"}`: "3 1 1: 5=2", `{"group_by":"place","query":"ana"}`: "1 1 <nil>: Porto, Portugal=1", `{"group_by":"group"}`: "3 0 3:",
			`{"count_only":true}`: "3 0 <nil>:", `{"count_only":true,"tag":["chess"]}`: "2 0 <nil>:", `{"count_only":true,"born":"1990"}`: "0 0 <nil>:",
			`{"group_by":"tag","limit":1}`: "3 1 1: chess=2",
		} {
			got := b.call(t, searchPath, body)
			short := strings.TrimSpace(fmt.Sprintf("%v %v %v: %s", got.at("count"), got.size("groups"), got.at("without"), groupsOf(got)))
			if short != want || got.size("hits") != 0 || got.at("selection") != nil || got.at("has_more") != strings.Contains(body, "limit") {
				t.Errorf("%s: %s, want %s\n%v", body, short, want, got.body)
			}
		}
		for body, says := range map[string]string{
			`{"born":"2026-13"}`:                                        `born: "2026-13" is no date and no range; use 1976, 1976-05`,
			`{"job_ended":"last year"}`:                                 "job_ended: ",
			`{"job_started":"2026..2020"}`:                              `job_started: "2026..2020" ends before it begins`,
			`{"met_through":"Anna"}`:                                    `met_through: nobody is called "Anna"; nearest: "Ana"`,
			`{"contacted_only_by":["fax"]}`:                             "meeting, call, email",
			`{"contacted_only_by":["email"],"missing":["interaction"]}`: "missing: interaction contradicts",
			`{"contacted_only_by":["email"],"never_contacted":true}`:    "never_contacted: contradicts contacted_only_by",
			`{"born":"1976","missing":["birthday"]}`:                    "missing: birthday contradicts",
			`{"group_by":"month"}`:                                      "tag, organization, place, group, birth_month",
			`{"group_by":"tag","query":"climate","mode":"semantic"}`:    "mode: semantic",
			`{"count_only":true,"tag":["ches"]}`:                        `nobody has the tag "ches"; nearest: "chess"`,
			`{"missing":["fax"]}`:                                       "address",
			`{"fields":{"Sise":"1"}}`:                                   `"Size"`,
			`{"met_through":"con_ch541ck879"}`:                          "met_through: nobody is called",
		} {
			if got := b.call(t, searchPath, body); got.code() != "invalid_argument" || !strings.Contains(got.message(), says) {
				t.Errorf("%s: %v", body, got.body)
			}
		}
		// A selection stands for the same filters.
		selection := b.selected(t, `"met_through":"ana"`)
		if got := b.call(t, updateMembership, `{"add_tags":["introduced"]`+selection+`}`); got.code() != "" {
			t.Errorf("selection: %v", got.body)
		}
		if got := b.call(t, searchPath, `{"tag":["introduced"]}`); namesOf(got) != "Bo" {
			t.Errorf("tagged: %v", got.body)
		}
		// The index follows each change.
		b.call(t, linkPeople, `{"from_id":"`+cy+`","to_id":"`+ana+`","type":"introduced_by"}`)
		b.call(t, logCall, `{"connection_ids":["`+ana+`"],"kind":"call","occurred_at":"2026-01-07"}`)
		if got, only := b.call(t, searchPath, `{"met_through":"ana"}`), b.call(t, searchPath, `{"contacted_only_by":["email"]}`); namesOf(got) != "Bo Cy" || namesOf(only) != "" {
			t.Errorf("after changes: %v, %v", got.body, only.body)
		}
	})
}
