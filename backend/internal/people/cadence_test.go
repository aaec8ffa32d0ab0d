package people_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
)

func on(t *testing.T, s string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestNextDue(t *testing.T) {
	t.Parallel()
	at := func(s string) time.Time {
		moment, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return moment
	}
	added := at("2025-06-01T12:00:00Z")
	for name, c := range map[string]struct {
		person people.Connection
		zone   string
		want   string // empty when nothing falls due
	}{
		"no interval":                  {people.Connection{LastInteractionAt: noon}, "UTC", ""},
		"no interval, but snoozed":     {people.Connection{LastInteractionAt: noon, SnoozedUntil: noon}, "UTC", ""},
		"since the last contact":       {people.Connection{CadenceDays: 30, LastInteractionAt: noon}, "UTC", "2026-03-31"},
		"never in touch: since added":  {people.Connection{CadenceDays: 30, CreatedAt: added}, "UTC", "2025-07-01"},
		"of a group":                   {people.Connection{GroupCadence: 7, LastInteractionAt: noon}, "UTC", "2026-03-08"},
		"own before a shorter group's": {people.Connection{CadenceDays: 30, GroupCadence: 7, LastInteractionAt: noon}, "UTC", "2026-03-31"},
		"over the end of February":     {people.Connection{CadenceDays: 1, LastInteractionAt: at("2028-02-28T09:00:00Z")}, "UTC", "2028-02-29"},
		"overdue for long":             {people.Connection{CadenceDays: 7, LastInteractionAt: at("2025-03-01T09:00:00Z")}, "UTC", "2025-03-08"},
		"snoozed beyond it":            {people.Connection{CadenceDays: 30, LastInteractionAt: noon, SnoozedUntil: on(t, "2026-04-10")}, "UTC", "2026-04-10"},
		"snoozed until before it":      {people.Connection{CadenceDays: 30, LastInteractionAt: noon, SnoozedUntil: on(t, "2026-03-20")}, "UTC", "2026-03-31"},
		"west of the date line":        {people.Connection{CadenceDays: 1, LastInteractionAt: at("2026-03-02T05:00:00Z")}, "Pacific/Pago_Pago", "2026-03-02"},
		"east of the date line":        {people.Connection{CadenceDays: 1, LastInteractionAt: at("2026-03-02T11:00:00Z")}, "Pacific/Kiritimati", "2026-03-04"},
		"a snooze is a day anywhere":   {people.Connection{CadenceDays: 1, LastInteractionAt: noon, SnoozedUntil: on(t, "2026-04-10")}, "Pacific/Pago_Pago", "2026-04-10"},
		"the clocks go forward":        {people.Connection{CadenceDays: 1, LastInteractionAt: at("2026-03-28T22:30:00Z")}, "Europe/Berlin", "2026-03-29"},
		"late on the long day":         {people.Connection{CadenceDays: 1, LastInteractionAt: at("2026-10-25T22:59:00Z")}, "Europe/Berlin", "2026-10-26"},
	} {
		got, ok := c.person.Cadence().NextDue(civil.Zone(c.zone))
		if ok != (c.want != "") || ok && !got.Equal(on(t, c.want)) {
			t.Errorf("%s: %v, %v; want %s", name, got, ok, c.want)
		}
	}
}

func TestOverdue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cadence, days int
		want          bool
	}{{0, 900, false}, {30, 30, false}, {30, 45, false}, {30, 46, true}, {1, 1, false}, {1, 2, true}, {7, 10, false}, {7, 11, true}} {
		person := people.Connection{CadenceDays: c.cadence, LastInteractionAt: noon}
		if got := person.Cadence().Overdue(on(t, "2026-03-01").AddDate(0, 0, c.days), time.UTC); got != c.want {
			t.Errorf("every %d days, after %d: %v", c.cadence, c.days, got)
		}
	}
}

func TestSetCadence(t *testing.T) {
	t.Parallel()
	today := on(t, "2026-03-01")
	set := func(t *testing.T, w *writer, p people.CadencePatch) (people.Acted, error) {
		t.Helper()
		p.IDs, p.Today = []string{"con_1"}, today
		return w.setCadence(p)
	}
	person := func() *people.Connection {
		return &people.Connection{ID: "con_1", Name: "Ana", Version: 3, CadenceDays: 30, SnoozedUntil: on(t, "2026-03-09"), LastInteractionAt: noon, CreatedAt: noon, UpdatedAt: noon}
	}
	for name, c := range map[string]struct {
		patch   people.CadencePatch
		days    int
		snoozed string
	}{
		"an interval":         {people.CadencePatch{Days: new(14)}, 14, "2026-03-09"},
		"no interval":         {people.CadencePatch{Days: new(0)}, 0, "2026-03-09"},
		"a snooze":            {people.CadencePatch{SnoozeUntil: new("2026-03-02")}, 30, "2026-03-02"},
		"no snooze":           {people.CadencePatch{SnoozeUntil: new("")}, 30, ""},
		"interval, no snooze": {people.CadencePatch{Days: new(7), SnoozeUntil: new("")}, 7, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, before := newWriter(t, person()), person()
			got, err := set(t, w, c.patch)
			if err != nil || got.ChangeID == "" || len(got.Changed) != 1 {
				t.Fatalf("%+v, %v", got, err)
			}
			held := w.held("con_1")
			if held.Version != 4 || held.CadenceDays != c.days || got.Changed[0].CadenceDays != c.days {
				t.Errorf("stored: %+v", held)
			}
			if snoozed := held.SnoozedUntil; snoozed.IsZero() != (c.snoozed == "") || c.snoozed != "" && !snoozed.Equal(on(t, c.snoozed)) {
				t.Errorf("snoozed until %v", snoozed)
			}
			if !held.LastInteractionAt.Equal(noon) {
				t.Error("the snooze counts as a contact")
			}
			if e := w.changes()[0].Effects[0]; e.ID != "con_1" || string(e.Before) != fmt.Sprintf(`{"cadence_days":%d,"snoozed_until":"2026-03-09T00:00:00Z"}`, before.CadenceDays) {
				t.Errorf("recorded %s", e.Before)
			}
		})
	}
	t.Run("a patch without changes writes nothing", func(t *testing.T) {
		t.Parallel()
		w := newWriter(t, person())
		got, err := set(t, w, people.CadencePatch{Days: new(30), SnoozeUntil: new("2026-03-09")})
		if err != nil || got.ChangeID != "" || got.Unchanged != 1 || len(got.Changed) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
		w.wantNothingWritten(t)
	})
	t.Run("invalid values", func(t *testing.T) {
		t.Parallel()
		w := newWriter(t, person())
		for _, until := range []string{"2026-03-01", "2026-02-28", "2026-02-30", "soon"} {
			_, err := set(t, w, people.CadencePatch{SnoozeUntil: new(until)})
			wantInvalid(t, err, "snooze_until")
		}
		if _, err := w.setCadence(people.CadencePatch{IDs: []string{"con_9"}, Days: new(1)}); !fault.Is(err, fault.NotFound) {
			t.Errorf("unknown person: %v", err)
		}
		w.wantNothingWritten(t)
	})
}
