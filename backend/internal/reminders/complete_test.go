package reminders_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/reminders"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func TestCreate(t *testing.T) {
	t.Parallel()
	w := newWriter(t, noon)
	got, changeID, err := w.create(reminders.Reminder{
		Text: "  Call\n Ana\x00 ", DueOn: "2026-03-12", ConnectionIDs: []string{"con_1"}, State: "done", Version: 7,
	}, date("2026-03-10"))
	if err != nil {
		t.Fatal(err)
	}
	want := reminders.Reminder{
		TenantID: w.TenantID(), ID: got.ID, ConnectionIDs: []string{"con_1"}, Text: "Call Ana", DueOn: "2026-03-12", StartsOn: "2026-03-12", Recurrence: "none",
		State: "open", Version: 1, CreatedAt: noon, UpdatedAt: noon,
	}
	if diff := cmp.Diff(want, *got); diff != "" || changeID != w.changes()[0].ID {
		t.Errorf("%q (-want +got):\n%s", changeID, diff)
	}
	if diff := cmp.Diff(want, w.held(got.ID)); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if e := w.changes()[0].Effects[0]; e.ID != got.ID || string(e.Before) != "null" {
		t.Errorf("recorded %+v", e)
	}
}

func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		draft reminders.Reminder
		field string // empty for NotFound
	}{
		"blank text":       {reminders.Reminder{Text: " \u200b\n", DueOn: "2026-03-12"}, "text"},
		"no such day":      {reminders.Reminder{Text: "x", DueOn: "2026-02-29"}, "due_on"},
		"another calendar": {reminders.Reminder{Text: "x", DueOn: "12/03/2026"}, "due_on"},
		"far ahead":        {reminders.Reminder{Text: "x", DueOn: "2126-03-11"}, "due_on"},
		"yesterday":        {reminders.Reminder{Text: "x", DueOn: "2026-03-09"}, "due_on"},
		"long ago":         {reminders.Reminder{Text: "x", DueOn: "1926-03-09"}, "due_on"},
		"nobody":           {reminders.Reminder{Text: "x", DueOn: "2026-03-12", ConnectionIDs: []string{"con_9"}}, ""},
	} {
		w := newWriter(t, noon)
		_, _, err := w.create(c.draft, date("2026-03-10"))
		var f *fault.Error
		if !errors.As(err, &f) || c.field == "" && f.Code != fault.NotFound || c.field != "" && (f.Code != fault.Invalid || f.Fields[0].Name != c.field) {
			t.Errorf("%s: %v", name, err)
		}
		w.wantChanges(t, 0)
	}
}

func TestComplete(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		due, start, recurrence string
		completion             reminders.Completion
		wantDue, wantState     string
		wantNext               string
	}{
		"once":                         {"2026-03-09", "", "none", reminders.Completion{Outcome: "done"}, "2026-03-09", "done", ""},
		"once, dismissed":              {"2026-03-09", "", "none", reminders.Completion{Outcome: "dismissed"}, "2026-03-09", "dismissed", ""},
		"once, as read":                {"2026-03-09", "", "none", reminders.Completion{Outcome: "done", DueOn: "2026-03-09"}, "2026-03-09", "done", ""},
		"weekly":                       {"2026-03-09", "", "weekly", reminders.Completion{Outcome: "done"}, "2026-03-16", "open", "2026-03-16"},
		"weekly, dismissed":            {"2026-03-09", "", "weekly", reminders.Completion{Outcome: "dismissed"}, "2026-03-09", "dismissed", ""},
		"weekly, two months late":      {"2026-01-05", "", "weekly", reminders.Completion{Outcome: "done"}, "2026-03-16", "open", "2026-03-16"},
		"weekly, due today":            {"2026-03-10", "", "weekly", reminders.Completion{Outcome: "done"}, "2026-03-17", "open", "2026-03-17"},
		"weekly, a day early":          {"2026-03-11", "", "weekly", reminders.Completion{Outcome: "done"}, "2026-03-18", "open", "2026-03-18"},
		"monthly, from the 31st":       {"2026-02-28", "2026-01-31", "monthly", reminders.Completion{Outcome: "done"}, "2026-03-31", "open", "2026-03-31"},
		"yearly, from 29 February":     {"2026-02-28", "2024-02-29", "yearly", reminders.Completion{Outcome: "done"}, "2027-02-28", "open", "2027-02-28"},
		"quarterly, with the day read": {"2026-03-01", "", "quarterly", reminders.Completion{Outcome: "done", DueOn: "2026-03-01"}, "2026-06-01", "open", "2026-06-01"},
		"still the 9th in the west":    {"2026-03-09", "", "weekly", reminders.Completion{Outcome: "done", Zone: civil.Zone("Pacific/Pago_Pago")}, "2026-03-16", "open", "2026-03-16"},
		"the 11th already in the east": {"2026-03-04", "", "weekly", reminders.Completion{Outcome: "done", Zone: civil.Zone("Pacific/Kiritimati")}, "2026-03-18", "open", "2026-03-18"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reminders.Reminder{ID: "rem_1", Text: "x", DueOn: c.due, StartsOn: c.start, Recurrence: c.recurrence, State: "open", Version: 1}
			if r.StartsOn == "" {
				r.StartsOn = c.due
			}
			w := newWriter(t, noon, r)
			c.completion.ID = "rem_1"
			if c.completion.Zone == nil {
				c.completion.Zone = time.UTC
			}
			c.completion.Today = civil.Of(noon, c.completion.Zone)
			got, err := w.complete(c.completion)
			if err != nil || got.ChangeID != w.changes()[0].ID || got.NextDue != c.wantNext {
				t.Fatalf("%+v, %v", got, err)
			}
			if after := w.held("rem_1"); after.DueOn != c.wantDue || after.State != c.wantState || after.Version != 2 || !cmp.Equal(after, *got.Reminder) || after.StartsOn != r.StartsOn {
				t.Errorf("stored: %+v", after)
			}
			// Doing it again, as an agent does that lost the response, changes nothing.
			again, err := w.complete(c.completion)
			if err != nil || again.ChangeID != "" || again.NextDue != c.wantNext || !cmp.Equal(again.Reminder, got.Reminder) {
				t.Errorf("again: %+v, %v", again, err)
			}
			w.wantChanges(t, 1)
		})
	}
}

// Without the day that the caller read, completing again counts from the next day on.
func TestCompleteAgainTheNextDay(t *testing.T) {
	t.Parallel()
	w := newWriter(t, noon, reminders.Reminder{ID: "rem_1", Text: "x", DueOn: "2026-03-10", StartsOn: "2026-03-10", Recurrence: "weekly", State: "open", Version: 1})
	for _, want := range []string{"2026-03-17", "2026-03-24"} {
		got, err := w.complete(reminders.Completion{ID: "rem_1", Outcome: "done", Zone: time.UTC, Today: civil.Of(w.now, time.UTC)})
		if err != nil || got.NextDue != want {
			t.Errorf("%+v, %v; want %s", got, err, want)
		}
		w.now = w.now.AddDate(0, 0, 1)
	}
	w.wantChanges(t, 2)
}

// A reminder that was done today can still be dismissed.
func TestDismissAfterDone(t *testing.T) {
	t.Parallel()
	w := newWriter(t, noon, reminders.Reminder{ID: "rem_1", Text: "x", DueOn: "2026-03-10", StartsOn: "2026-03-10", Recurrence: "weekly", State: "open", Version: 1})
	for _, step := range []struct{ outcome, want string }{{"done", "open"}, {"dismissed", "dismissed"}} {
		got, err := w.complete(reminders.Completion{ID: "rem_1", Outcome: step.outcome, Zone: time.UTC, Today: civil.Of(w.now, time.UTC)})
		if err != nil || got.Reminder.State != step.want || got.ChangeID == "" {
			t.Errorf("%s: %+v, %v", step.outcome, got, err)
		}
	}
	w.wantChanges(t, 2)
}

func TestCompleteRefuses(t *testing.T) {
	t.Parallel()
	r := reminders.Reminder{ID: "rem_1", Text: "x", DueOn: "2026-03-10", StartsOn: "2026-03-10", Recurrence: "weekly", State: "open", Version: 1}
	once := r
	once.ID, once.Recurrence = "rem_2", "none"
	for name, c := range map[string]struct {
		id, due string
		code    fault.Code
		says    string
	}{
		"unknown":                 {"rem_9", "", fault.NotFound, "rem_9"},
		"a later day than stored": {"rem_1", "2026-03-17", fault.Conflict, "2026-03-10"},
		"another day of a single": {"rem_2", "2026-03-03", fault.Conflict, "2026-03-10"},
		"an invalid date":         {"rem_1", "2026-02-30", fault.Invalid, "due_on"},
	} {
		w := newWriter(t, noon, r, once)
		_, err := w.complete(reminders.Completion{ID: c.id, DueOn: c.due, Outcome: "done", Zone: time.UTC, Today: date("2026-03-10")})
		if !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		w.wantChanges(t, 0)
	}
}
