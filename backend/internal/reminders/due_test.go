package reminders_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/sources"
	"pgregory.net/rapid"
)

// lines formats the entries: "2026-03-10 reminder! Call Ana".
func lines(t *testing.T, due []reminders.Due) (out []string) {
	t.Helper()
	for _, d := range due {
		mark := ""
		if d.Overdue {
			mark = "!"
		}
		out = append(out, fmt.Sprintf("%s %s%s %s", d.DueOn, d.Kind, mark, d.Text))
	}
	return out
}

func at(s string) time.Time {
	moment, err := time.Parse(time.RFC3339, s)
	if err != nil {
		panic(err)
	}
	return moment
}

func birthday(id string, year, month, day int) reminders.DateRow {
	return reminders.DateRow{ImportantDate: people.ImportantDate{ID: id, ConnectionID: "con_" + id, Kind: "birthday", Year: year, Month: month, Day: day}, Name: "N" + id}
}

func TestList(t *testing.T) {
	t.Parallel()
	rows := reminders.Rows{
		Reminders: []reminders.ReminderRow{
			{Reminder: reminders.Reminder{ID: "rem_2", Text: "Late", DueOn: "2026-03-01"}},
			{Reminder: reminders.Reminder{ID: "rem_1", Text: "Today", DueOn: "2026-03-10", ConnectionIDs: []string{"con_1"}}, People: []reminders.Person{{ID: "con_1", Name: "Ana"}}},
			{Reminder: reminders.Reminder{ID: "rem_3", Text: "Next week", DueOn: "2026-03-18"}},
		},
		Dates: []reminders.DateRow{
			birthday("1", 1986, 3, 10), birthday("2", 0, 3, 12), birthday("3", 1990, 3, 9), birthday("4", 1990, 3, 0), birthday("5", 2026, 3, 11),
			{ImportantDate: people.ImportantDate{ID: "6", Kind: "anniversary", Year: 2025, Month: 3, Day: 14}},
			{ImportantDate: people.ImportantDate{ID: "7", Kind: "anniversary", Month: 3, Day: 15}},
			{ImportantDate: people.ImportantDate{ID: "8", Kind: "other", Label: "First day at Helios", Year: 2019, Month: 3, Day: 16}},
			{ImportantDate: people.ImportantDate{ID: "9", Kind: "other", Month: 3, Day: 16}},
		},
		People: []people.Connection{
			{ID: "con_1", Name: "Ana", CadenceDays: 30, LastInteractionAt: at("2026-01-24T12:00:00Z")},
			{ID: "con_2", CadenceDays: 30, LastInteractionAt: at("2026-02-08T12:00:00Z")},
			{ID: "con_3", GroupCadence: 1, CreatedAt: at("2026-03-10T09:00:00Z")},
			{ID: "con_4", CadenceDays: 30, LastInteractionAt: at("2026-02-20T12:00:00Z")},
			{ID: "con_5", CadenceDays: 7, LastInteractionAt: at("2026-01-01T12:00:00Z"), SnoozedUntil: date("2026-03-11")},
			{ID: "con_6", CadenceDays: 7, LastInteractionAt: at("2026-03-01T12:00:00Z"), SnoozedUntil: date("2026-03-10")},
			{ID: "con_7"},
		},
	}
	q := reminders.DueQuery{Today: date("2026-03-10"), Until: date("2026-03-17"), Zone: time.UTC, Limit: 50}
	want := []string{
		"2026-02-23 cadence Every 30 days, last contact 45 days ago",
		"2026-03-01 reminder! Late",
		"2026-03-10 reminder Today",
		"2026-03-10 date Birthday, turns 40",
		"2026-03-10 cadence Every 30 days, last contact 30 days ago",
		"2026-03-10 cadence Every 7 days, last contact 9 days ago",
		"2026-03-11 date Birthday",
		"2026-03-11 cadence Every day, no recorded contact, added today",
		"2026-03-12 date Birthday",
		"2026-03-14 date Anniversary, 1 year",
		"2026-03-15 date Anniversary",
		"2026-03-16 date First day at Helios, 7 years",
		"2026-03-16 date Date",
	}
	got, counts := rows.Page(q), rows.Counts(q)
	if !slices.Equal(lines(t, got), want) {
		t.Errorf("got\n%s", strings.Join(lines(t, got), "\n"))
	}
	if counts != (reminders.Counts{Reminders: 2, Dates: 7, Cadences: 4, Overdue: 1}) {
		t.Errorf("counts %+v", counts)
	}
	if d := got[2]; d.ReminderID != "rem_1" || d.ConnectionID != "con_1" || d.Name != "Ana" || d.LastContactOn != "" {
		t.Errorf("reminder: %+v", d)
	}
	if d := got[0]; d.ReminderID != "" || d.ConnectionID != "con_1" || d.LastContactOn != "2026-01-24" {
		t.Errorf("cadence: %+v", d)
	}
	q.Kinds = []string{"date"}
	if got, counts := rows.Page(q), rows.Counts(q); len(got) != 7 || counts != (reminders.Counts{Dates: 7}) {
		t.Errorf("dates alone: %v, %+v", lines(t, got), counts)
	}
	q.Kinds, q.Today = nil, date("2026-03-11")
	if got := rows.Page(q); !strings.Contains(got[0].Text, "46 days") || !got[0].Overdue {
		t.Errorf("one and a half intervals: %+v", got[0])
	}
}

// Days are in the member's time zone: the same moments are due in some zones only.
func TestListAcrossTheDateLine(t *testing.T) {
	t.Parallel()
	now := at("2026-03-10T10:30:00Z")
	rows := reminders.Rows{
		Reminders: []reminders.ReminderRow{{Reminder: reminders.Reminder{ID: "rem_1", Text: "x", DueOn: "2026-03-10"}}},
		Dates:     []reminders.DateRow{birthday("1", 0, 3, 11)},
		People:    []people.Connection{{ID: "con_1", CadenceDays: 1, LastInteractionAt: at("2026-03-10T10:15:00Z")}},
	}
	for zone, want := range map[string][]string{
		"UTC":                {"2026-03-10 reminder x"},
		"Pacific/Pago_Pago":  {}, // it is the 9th
		"Pacific/Kiritimati": {"2026-03-10 reminder! x", "2026-03-11 date Birthday"},
	} {
		q := reminders.DueQuery{Zone: civil.Zone(zone), Limit: 9}
		q.Today = civil.Of(now, q.Zone)
		q.Until = q.Today
		if got := rows.Page(q); !slices.Equal(lines(t, got), want) {
			t.Errorf("%s: %v", zone, lines(t, got))
		}
	}
}

// Concatenated pages are the whole list.
func TestPagesOfTheList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var rows reminders.Rows
		days := rapid.IntRange(0, 3)
		for n := range rapid.IntRange(0, 9).Draw(rt, "reminders") {
			rows.Reminders = append(rows.Reminders, reminders.ReminderRow{Reminder: reminders.Reminder{
				ID: fmt.Sprintf("rem_%d", n), DueOn: date("2026-03-10").AddDate(0, 0, days.Draw(rt, "due")).Format(time.DateOnly),
			}})
		}
		for n := range rapid.IntRange(0, 9).Draw(rt, "dates") {
			rows.Dates = append(rows.Dates, birthday(fmt.Sprint(n), 0, 3, 10+days.Draw(rt, "date")))
		}
		for n := range rapid.IntRange(0, 9).Draw(rt, "people") {
			rows.People = append(rows.People, people.Connection{
				ID: fmt.Sprintf("con_%d", n), CadenceDays: 1 + days.Draw(rt, "cadence"), LastInteractionAt: at("2026-03-10T12:00:00Z"),
			})
		}
		for n := range rapid.IntRange(0, 9).Draw(rt, "meetings") {
			rows.Meetings = append(rows.Meetings, reminders.MeetingRow{Meeting: sources.Meeting{Key: fmt.Sprint("key ", n), StartsAt: date("2026-03-10").AddDate(0, 0, days.Draw(rt, "meeting"))}})
		}
		q := reminders.DueQuery{Today: date("2026-03-10"), Until: date("2026-03-12"), Zone: time.UTC, Limit: 100}
		whole, counts := rows.Page(q), rows.Counts(q)
		var paged []reminders.Due
		for q.Limit = rapid.IntRange(1, 5).Draw(rt, "limit"); ; {
			page := rows.Page(q)
			paged = append(paged, page...)
			if len(page) < q.Limit {
				break
			}
			at := page[len(page)-1].Cursor()
			q.After = &at
		}
		if !slices.EqualFunc(paged, whole, func(a, b reminders.Due) bool { return reflect.DeepEqual(a, b) }) {
			rt.Fatalf("pages hold %d of %d", len(paged), len(whole))
		}
		if n := counts.Meetings + counts.Reminders + counts.Dates + counts.Cadences; n != len(whole) {
			rt.Fatalf("%d counted, %d listed", n, len(whole))
		}
	})
}
