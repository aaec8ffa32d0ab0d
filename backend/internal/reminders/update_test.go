package reminders_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/reminders"
)

func (w *writer) update(p reminders.Patch) (r *reminders.Reminder, changeID string, err error) {
	w.t.Helper()
	err = w.Write(w.t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		all, id, err := reminders.Update(ctx, tx, p, date("2026-03-10"))
		if err == nil {
			r, changeID = &all[0], id
		}
		return err
	})
	return r, changeID, err
}

// late is overdue, and counts its months from the 31st.
var late = reminders.Reminder{ID: "rem_1", Text: "Old", DueOn: "2026-02-28", StartsOn: "2026-01-31", Recurrence: "monthly", State: "open", Version: 1}

func TestUpdate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patch reminders.Patch
		want  string // text, day, start, recurrence, person
	}{
		"a text":      {reminders.Patch{Text: " New\x00\n text "}, "New text 2026-02-28 2026-01-31 monthly "},
		"another day": {reminders.Patch{DueOn: "2026-03-15"}, "Old 2026-03-15 2026-03-15 monthly "},
		"today":       {reminders.Patch{DueOn: "2026-03-10"}, "Old 2026-03-10 2026-03-10 monthly "},
		"shifted":     {reminders.Patch{ShiftDays: 12}, "Old 2026-03-12 2026-03-12 monthly "},

		"a person":          {reminders.Patch{ConnectionIDs: []string{"con_1"}}, "Old 2026-02-28 2026-01-31 monthly con_1"},
		"a recurrence":      {reminders.Patch{Recurrence: "weekly"}, "Old 2026-02-28 2026-02-28 weekly "},
		"no recurrence":     {reminders.Patch{Recurrence: "none", DueOn: "2026-03-11"}, "Old 2026-03-11 2026-03-11 none "},
		"nothing":           {reminders.Patch{}, ""},
		"what it is":        {reminders.Patch{Text: "Old", DueOn: "2026-02-28", Recurrence: "monthly"}, ""},
		"the day, again":    {reminders.Patch{Text: "New", DueOn: "2026-02-28"}, "New 2026-02-28 2026-01-31 monthly "},
		"a day far ahead":   {reminders.Patch{DueOn: "2126-03-10"}, "Old 2126-03-10 2126-03-10 monthly "},
		"all of it at once": {reminders.Patch{Text: "New", DueOn: "2026-03-11", ConnectionIDs: []string{"con_1"}, Recurrence: "yearly"}, "New 2026-03-11 2026-03-11 yearly con_1"},
	} {
		w := newWriter(t, noon, late)
		c.patch.IDs = []string{"rem_1"}
		got, changeID, err := w.update(c.patch)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.want == "" {
			if changeID != "" || got.Version != 1 {
				t.Errorf("%s: written: %+v, %q", name, got, changeID)
			}
			w.wantChanges(t, 0)
			continue
		}
		if is := fmt.Sprint(got.Text, " ", got.DueOn, " ", got.StartsOn, " ", got.Recurrence, " ", strings.Join(got.ConnectionIDs, ",")); is != c.want || got.Version != 2 || !got.UpdatedAt.Equal(noon) {
			t.Errorf("%s: %s, %+v", name, is, got)
		}
		held, _ := json.Marshal(w.held("rem_1"))
		if e := w.changes()[0].Effects[0]; changeID != w.changes()[0].ID || e.ID != "rem_1" || string(e.After) != string(held) || string(e.Before) == "null" {
			t.Errorf("%s: recorded %+v", name, e)
		}
	}
}

func TestUpdateRefuses(t *testing.T) {
	t.Parallel()
	over := late
	over.ID, over.State = "rem_2", "done"
	for name, c := range map[string]struct {
		patch reminders.Patch
		code  fault.Code
	}{
		"unknown":         {reminders.Patch{IDs: []string{"rem_9"}, Text: "x"}, fault.NotFound},
		"one that ended":  {reminders.Patch{IDs: []string{"rem_2"}, DueOn: "2026-03-11"}, fault.Conflict},
		"blank":           {reminders.Patch{IDs: []string{"rem_1"}, Text: " \u200b"}, fault.Invalid},
		"yesterday":       {reminders.Patch{IDs: []string{"rem_1"}, DueOn: "2026-03-09"}, fault.Invalid},
		"an invalid date": {reminders.Patch{IDs: []string{"rem_1"}, DueOn: "2026-02-29"}, fault.Invalid},
		"too far ahead":   {reminders.Patch{IDs: []string{"rem_1"}, DueOn: "2126-03-11"}, fault.Invalid},
		"shifted back":    {reminders.Patch{IDs: []string{"rem_1"}, ShiftDays: 9}, fault.Invalid},
		"unknown person":  {reminders.Patch{IDs: []string{"rem_1"}, ConnectionIDs: []string{"con_9"}}, fault.NotFound},
	} {
		w := newWriter(t, noon, late, over)
		if _, _, err := w.update(c.patch); !fault.Is(err, c.code) || w.held("rem_1").Version != 1 {
			t.Errorf("%s: %v", name, err)
		}
		w.wantChanges(t, 0)
	}
}
