package rpc_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
)

const getAccount = "/kith.account.v1.AccountService/GetAccount"

// inZone gives each database a member in a time zone, at a time.
func inZone(t *testing.T, zone string, now time.Time, test func(t *testing.T, b *bundle)) {
	t.Helper()
	dbtest.Databases(t, func(t *testing.T, url string) {
		clock := func() time.Time { return now }
		s := dbtest.Open(t, url, clock)
		b := serve(t, s, clock)
		b.member = dbtest.Member(t, s, "maria")
		err := s.Write(t.Context(), func(ctx context.Context, tx db.Querier) error {
			_, err := tx.NewRaw("UPDATE members SET timezone = ? WHERE id = ?", zone, b.member).Exec(ctx)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		b.bearer = dbtest.Token(t, s, b.member, b.rpcs.Scopes()...)
		test(t, b)
	})
}

// All days are the member's: in Los Angeles it is still the 22nd.
func TestDaysAreTheMembers(t *testing.T) {
	t.Parallel()
	inZone(t, "America/Los_Angeles", time.Date(2026, 11, 23, 7, 30, 0, 0, time.UTC), func(t *testing.T, b *bundle) {
		if got := b.call(t, getAccount, `{}`); got.at("member", "today") != "2026-11-22" || got.at("member", "timezone") != "America/Los_Angeles" {
			t.Errorf("account: %v", got.body)
		}
		if got := b.call(t, "/kith.access.v1.AccessService/GetPrincipal", `{}`); got.at("today") != "2026-11-22" || got.at("timezone") != "America/Los_Angeles" {
			t.Errorf("principal: %v", got.body)
		}
		ana, ben := b.made(t, `{"name":"Ana"}`), b.made(t, `{"name":"Ben"}`)
		if got := b.call(t, logCall, `{"connection_ids":["`+ana+`"],"kind":"call","occurred_at":"2026-11-21"}`); got.at("interaction", "on") != "2026-11-21" {
			t.Errorf("logged: %v", got.body)
		}
		// 21:30 on the 20th.
		b.call(t, logCall, `{"connection_ids":["`+ben+`"],"kind":"call","occurred_at":"2026-11-21T05:30:00Z"}`)
		for body, want := range map[string]any{
			`{"last_contact_after":"2026-11-21"}`: ana, `{"last_contact_before":"2026-11-21"}`: ben,
			`{"last_contact_after":"2026-11-19","last_contact_before":"2026-11-21"}`: ben,
		} {
			if got := b.call(t, searchPath, body); got.at("hits", 0, "id") != want || got.at("hits", 1) != nil {
				t.Errorf("%s finds %v", body, got.body)
			}
		}
		for body, want := range map[string]any{
			`{"since":"2026-11-21"}`: ana, `{"until":"2026-11-21"}`: ben, `{"since":"2026-11-20","until":"2026-11-21"}`: ben,
		} {
			if got := b.call(t, list, body); got.at("entries", 0, "participants", 0, "id") != want || got.at("entries", 1) != nil {
				t.Errorf("%s lists %v", body, got.body)
			}
		}
		if got := b.call(t, createReminder, `{"text":"x","due_on":"2026-11-22"}`); got.code() != "" {
			t.Errorf("today: %v", got.body)
		}
		if got := b.call(t, createReminder, `{"text":"x","due_on":"2026-11-21"}`); got.message() != "due_on: 2026-11-21 is over; today is 2026-11-22" {
			t.Errorf("yesterday: %v", got.body)
		}
		if got := b.call(t, createReminder, `{"text":"x","due_on":"tomorrow"}`); got.message() != "due_on must be a day such as 2026-11-20; today is 2026-11-22" {
			t.Errorf("a word: %v", got.body)
		}
	})
}

// A contact of which only the day was told has no time, wherever the member lives; a time is told as it
// was said, with its offset, or in the member's zone. Undo brings the earlier form back.
func TestContactsAreOnTheDayThatWasTold(t *testing.T) {
	t.Parallel()
	for zone, now := range map[string]time.Time{
		"Europe/Berlin": time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC), "Pacific/Auckland": time.Date(2026, 11, 26, 10, 0, 0, 0, time.UTC), "UTC": time.Date(2026, 11, 26, 23, 0, 0, 0, time.UTC),
	} {
		inZone(t, zone, now, func(t *testing.T, b *bundle) {
			const day = "2026-11-26"
			ana, ben := b.made(t, `{"name":"Ana"}`), b.made(t, `{"name":"Ben"}`)
			inZ := now.In(civil.Zone(zone)).Add(-time.Hour)
			const minutes = "2006-01-02T15:04Z07:00"
			told := map[string]string{
				day: day, "2026-11-25T00:30:00+01:00": "2026-11-25T00:30+01:00", "2026-11-25T00:30:05.25+01:00": "2026-11-25T00:30:05+01:00",
				inZ.UTC().Format(time.RFC3339): inZ.Format(minutes), inZ.Format("2006-01-02T15:04"): inZ.Format(minutes),
			}
			when := func(entry any) any {
				fields, _ := entry.(map[string]any)
				return cmp.Or(fields["on"], fields["at"])
			}
			for said, want := range told {
				if got := b.call(t, logCall, `{"connection_ids":["`+ben+`"],"kind":"call","summary":"`+said+`","occurred_at":"`+said+`"}`); when(got.at("interaction")) != want {
					t.Errorf("%s in %s: %v", said, zone, got.body)
				}
			}
			for name, got := range map[string]answer{"list": b.call(t, list, `{"connection_id":"`+ben+`"}`), "search": b.call(t, searchNotes, `{"query":"2026"}`)} {
				if got.size("entries") != len(told) {
					t.Errorf("%s: %v", name, got.body)
				}
				for i := range got.size("entries") {
					if said, _ := got.at("entries", i, "text").(string); when(got.at("entries", i)) != told[said] {
						t.Errorf("%s: %s in %s: %v", name, said, zone, got.at("entries", i))
					}
				}
			}
			whole := b.call(t, get, `{"id":"`+ben+`","include":["interactions"]}`)
			for i := range whole.size("interactions") {
				if said, _ := whole.at("interactions", i, "summary").(string); when(whole.at("interactions", i)) != told[said] {
					t.Errorf("%s in %s: %v", said, zone, whole.at("interactions", i))
				}
			}
			logged := b.call(t, logCall, `{"connection_ids":["`+ana+`"],"kind":"call","occurred_at":"`+day+`"}`)
			if got := b.call(t, searchPath, `{"query":"Ana"}`); got.at("hits", 0, "last_contact_on") != day {
				t.Errorf("last contact in %s: %v", zone, got.body)
			}
			if got := b.call(t, exportPeople, `{"format":"csv","ids":["`+ana+`"]}`); !strings.Contains(got.at("content").(string), ","+day+",") {
				t.Errorf("exported in %s: %v", zone, got.body)
			}
			met, _ := logged.at("interaction", "id").(string)
			changed := b.call(t, updateCall, `{"id":"`+met+`","occurred_at":"2026-11-24T08:15:00+02:00"}`)
			if changed.at("interaction", "at") != "2026-11-24T08:15+02:00" {
				t.Errorf("changed in %s: %v", zone, changed.body)
			}
			change, _ := changed.at("change_id").(string)
			b.call(t, undoChange, `{"change_id":"`+change+`"}`)
			if got := b.call(t, list, `{"connection_id":"`+ana+`"}`); got.at("entries", 0, "on") != day {
				t.Errorf("undone in %s: %v", zone, got.body)
			}
		})
	}
}

// A job change with its start is one call, which get_connection shows and undo reverts.
func TestJobChange(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		positions := func(id string) string {
			got := b.call(t, get, `{"id":"`+id+`","include":["positions"]}`)
			var out []string
			for i := range got.size("positions") {
				p, _ := got.at("positions", i).(map[string]any)
				text := func(name string) string { s, _ := p[name].(string); return s } // "" if absent
				out = append(out, fmt.Sprint(text("organization"), " ", text("title"), " ", text("started_on"), "..", text("ended_on")))
			}
			return strings.Join(out, "; ")
		}
		ana := b.made(t, `{"name":"Ana","positions":[{"organization":"Orbital","ended_on":"2019"},{"organization":"Helios","title":"CTO","started_on":"2020-05"}]}`)
		const before = "Helios CTO 2020-05..; Orbital  ..2019"
		if got := positions(ana); got != before {
			t.Fatalf("made: %s", got)
		}
		changed := b.call(t, update, `{"id":"`+ana+`","add_positions":[{"organization":"Zenith","title":"CEO","started_on":"2026-11"}],"remove_positions":[{"organization":"orbital"}]}`)
		change, _ := changed.at("change_id").(string)
		if got := positions(ana); got != "Zenith CEO 2026-11..; Helios CTO 2020-05..2026-11" || changed.at("connection", "organization") != "Zenith" {
			t.Errorf("changed: %s, %v", got, changed.body)
		}
		if got := b.call(t, searchPath, `{"company":"Zenith"}`); got.at("hits", 0, "id") != ana {
			t.Errorf("found: %v", got.body)
		}
		b.call(t, undoChange, `{"change_id":"`+change+`"}`)
		if got := positions(ana); got != before {
			t.Errorf("after the undo: %s", got)
		}
		for body, says := range map[string]string{
			`{"started_on":"2020"}`:                               "add_positions[0] needs an organization or a title",
			`{"title":"x","started_on":"last month"}`:             "add_positions[0].started_on must be a date such as 2026-11-20, 2026-11 or 2026, or empty; today is " + inDays(0),
			`{"title":"x","started_on":"2020","ended_on":"2019"}`: "add_positions[0].ended_on: 2019 lies before started_on, 2020",
		} {
			if got := b.call(t, update, `{"id":"`+ana+`","add_positions":[`+body+`]}`); got.code() != "invalid_argument" || !strings.Contains(got.message(), says) {
				t.Errorf("%s: %v", body, got.body)
			}
		}
	})
}
