package rpc_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/retention"
)

// views asks every tool that reads people about the people, and returns the answers
// without versions, by tool and argument.
func views(t *testing.T, b *bundle, zuzana, bo string) map[string]string {
	t.Helper()
	asked := map[string][]string{
		"search_connections": {`{"query":"Zuzana"}`, `{"query":"theremin"}`, `{"query":"zu@x.example"}`, `{"query":"Zuzana","tag":["music"]}`, `{"query":"Bo"}`},
		"get_connection": {
			fmt.Sprintf(`{"id":%q,"include":["notes","interactions","positions"]}`, zuzana), fmt.Sprintf(`{"id":%q,"include":["notes","interactions"]}`, bo),
		},
		"resolve_people":  {`{"entries":["zu@x.example","+48 22 555 0100"]}`},
		"find_duplicates": {`{"min_score":0.5}`},
		"export_connections": {
			`{"format":"json"}`, `{"format":"csv"}`, `{"format":"vcard"}`, `{"format":"jscontact"}`,
		},
		"list_timeline":            {`{}`, fmt.Sprintf(`{"connection_id":%q}`, zuzana)},
		"count_interactions":       {`{"group_by":"person"}`, fmt.Sprintf(`{"group_by":"person","connection_ids":[%q]}`, zuzana)},
		"search_notes":             {`{"query":"theremin"}`, `{"query":"shared"}`},
		"list_groups":              {`{}`},
		"list_due":                 {`{"days":366}`, fmt.Sprintf(`{"connection_id":%q}`, zuzana)},
		"find_people_at":           {`{"organization":"Helios","include_past":true,"include_one_step":true}`},
		"prepare_meeting":          {fmt.Sprintf(`{"connection_ids":[%q]}`, bo), fmt.Sprintf(`{"connection_ids":[%q]}`, zuzana)},
		"suggest_introductions":    {`{}`},
		"find_similar_connections": {fmt.Sprintf(`{"connection_id":%q}`, bo), fmt.Sprintf(`{"connection_id":%q}`, zuzana)},
		"get_network_stats":        {`{}`},
	}
	// These return the account, its history and its jobs, and other members.
	others := map[string]bool{"get_account": true, "list_changes": true, "get_job": true, "search_directory": true, "get_member_profile": true}
	version := regexp.MustCompile(`\\*"version\\*": ?\d+`)
	seen := map[string]string{}
	for _, tool := range b.rpcs.Tools() {
		name := tool.Tool.Name
		if tool.Writes || others[name] {
			continue
		}
		if len(asked[name]) == 0 {
			t.Errorf("%s is not asked", name)
		}
		for _, body := range asked[name] {
			data, err := json.Marshal(b.call(t, tool.Procedure, body).body)
			if err != nil {
				t.Fatal(err)
			}
			seen[name+" "+body] = version.ReplaceAllString(string(data), "")
		}
	}
	return seen
}

// A deleted person is in no tool's answer. After an undo, every tool answers as before;
// after 30 days, the deletion can't be undone.
func TestDeletedPeopleAreInNoAnswer(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Date(2026, 11, 2, 10, 0, 0, 0, time.UTC)
		clock := func() time.Time { return now }
		s := dbtest.Open(t, url, clock)
		b := serve(t, s, clock)
		b.member = dbtest.Member(t, s, "maria")
		b.bearer = dbtest.Token(t, s, b.member, b.rpcs.Scopes()...)
		zuzana, _ := b.added(t, `{"name":"Zuzana Novak","nickname":"Zuzka","emails":["zu@x.example"],"phones":["+48 22 555 0100"],"urls":["https://x.example/zu"],
"organization":"Helios","title":"Luthier","location":"Brno","tags":["music"],"met_on":"2020-05","met_how":"theremin fair","bio":"Zuzana plays",
"important_dates":[{"kind":"birthday","date":"--12-24"}]}`)
		duplicate, _ := b.added(t, `{"name":"Zuzana Novakova","emails":["zu2@x.example"],"organization":"Helios","on_duplicate":"create"}`)
		bo, _ := b.added(t, `{"name":"Bo Chen","organization":"Helios","tags":["music"]}`)
		cy, _ := b.added(t, `{"name":"Cy Young","organization":"Helios","tags":["music"]}`)
		b.added(t, `{"name":"Dora Weiss","organization":"Other","location":"Brno","tags":["music"]}`)
		b.added(t, `{"name":"Zusana Novak","organization":"Helios","on_duplicate":"create"}`)
		for _, write := range []struct{ procedure, body string }{
			{mergePeople, fmt.Sprintf(`{"into_id":%q,"from_ids":[%q],"dry_run":false}`, zuzana, duplicate)},
			{addNote, fmt.Sprintf(`{"connection_ids":[%q],"body":"Zuzana tunes theremins","pinned":true}`, zuzana)},
			{addNote, fmt.Sprintf(`{"connection_ids":[%q,%q],"body":"shared"}`, zuzana, bo)},
			{logCall, fmt.Sprintf(`{"connection_ids":[%q],"kind":"call","occurred_at":"2026-10-01T10:00:00Z","summary":"about the theremin","external_key":"k"}`, zuzana)},
			{logCall, fmt.Sprintf(`{"connection_ids":[%q,%q],"kind":"meeting","occurred_at":"2026-10-02T10:00:00Z","summary":"shared"}`, zuzana, bo)},
			{logCall, fmt.Sprintf(`{"connection_ids":[%q],"kind":"call","occurred_at":"2026-10-03T10:00:00Z"}`, cy)},
			{saveGroup, `{"name":"Band","cadence_days":14}`},
			{updateMembership, fmt.Sprintf(`{"connection_ids":[%q,%q],"add_groups":["Band"]}`, zuzana, bo)},
			{createReminder, fmt.Sprintf(`{"text":"Write to Zuzana","due_on":"2026-11-10","connection_id":%q,"recurrence":"monthly"}`, zuzana)},
			{setCadence, fmt.Sprintf(`{"connection_ids":[%q],"days":7}`, zuzana)},
			{linkPeople, fmt.Sprintf(`{"from_id":%q,"to_id":%q,"type":"friend"}`, zuzana, bo)},
		} {
			if got := b.call(t, write.procedure, write.body); got.code() != "" {
				t.Fatalf("%s: %v", write.procedure, got.body)
			}
		}
		before := views(t, b, zuzana, bo)
		for asked, answer := range before {
			tool, _, _ := strings.Cut(asked, " ")
			if !strings.Contains(answer, "Zuzana") && !strings.Contains(asked, `"Bo"`) && asked != fmt.Sprintf(`find_similar_connections {"connection_id":%q}`, zuzana) && tool != "list_groups" && tool != "search_notes" {
				t.Errorf("%s does not tell of her: %s", asked, answer)
			}
		}
		gone := b.call(t, deletePerson, fmt.Sprintf(`{"id":%q,"confirm_name":"Zuzana Novak"}`, zuzana))
		if gone.at("deleted") != true || gone.at("restorable_until") != "2026-12-02T10:00:00Z" {
			t.Fatalf("deleted: %v", gone.body)
		}
		for asked, answer := range views(t, b, zuzana, bo) {
			for _, word := range []string{"zuz", "zu@", "zu2", "theremin", "luthier"} {
				if strings.Contains(strings.ToLower(answer), word) && !strings.Contains(asked, "resolve_people") {
					t.Errorf("%s still tells of %q: %s", asked, word, answer)
				}
			}
			if strings.Contains(asked, "resolve_people") && strings.Contains(answer, "Novak") {
				t.Errorf("%s: %s", asked, answer)
			}
		}
		if got := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, gone.at("change_id"))); got.at("change_id") == nil {
			t.Fatalf("undo: %v", got.body)
		}
		if diff := cmp.Diff(before, views(t, b, zuzana, bo)); diff != "" {
			t.Errorf("after the undo (-before +after):\n%s", diff)
		}
		again := b.call(t, deletePerson, fmt.Sprintf(`{"id":%q,"confirm_name":"Zuzana Novak"}`, zuzana))
		now = now.Add(30*24*time.Hour + time.Minute)
		if r, err := retention.Sweep(t.Context(), s, now); err != nil || r.Deletions != 1 {
			t.Errorf("swept %+v, %v", r, err)
		}
		late := b.call(t, undoChange, fmt.Sprintf(`{"change_id":%q}`, again.at("change_id")))
		if late.code() != "invalid_argument" || !strings.Contains(late.message(), "was deleted for good") {
			t.Errorf("after 30 days: %v", late.body)
		}
	})
}
