package reminder_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/reminder"
)

// writer keeps reminders in memory, as the store does within a transaction. The
// only person is con_1.
type writer struct {
	now       time.Time
	reminders map[string]reminder.Reminder
	changes   []change.Draft
}

func newWriter(now time.Time, reminders ...reminder.Reminder) *writer {
	w := &writer{now: now, reminders: map[string]reminder.Reminder{}}
	for _, r := range reminders {
		w.reminders[r.ID] = r
	}
	return w
}

func (w *writer) Now() time.Time { return w.now }

func (w *writer) Participants(_ context.Context, ids []string) ([]connection.Connection, error) {
	for _, id := range ids {
		if id != "con_1" {
			return nil, fault.New(fault.NotFound, "there is no connection %s", id)
		}
	}
	return []connection.Connection{{ID: "con_1"}}, nil
}

func (w *writer) GetReminder(_ context.Context, id string) (*reminder.Reminder, error) {
	r, ok := w.reminders[id]
	if !ok {
		return nil, fault.New(fault.NotFound, "there is no reminder %s", id)
	}
	return &r, nil
}

func (w *writer) InsertReminder(_ context.Context, r *reminder.Reminder) error {
	r.ID = fmt.Sprintf("rem_%d", len(w.reminders)+1)
	w.reminders[r.ID] = *r
	return nil
}

func (w *writer) ReplaceReminder(_ context.Context, r *reminder.Reminder) error {
	if w.reminders[r.ID].Version != r.Version-1 {
		return fault.New(fault.Conflict, "%s was changed", r.ID)
	}
	w.reminders[r.ID] = *r
	return nil
}

func (w *writer) Record(_ context.Context, d change.Draft) (string, error) {
	if len(d.Effects) != 1 || d.Effects[0].Kind != reminder.Object || d.Summary == "" {
		return "", fmt.Errorf("recorded %+v", d)
	}
	w.changes = append(w.changes, d)
	return fmt.Sprintf("chg_%d", len(w.changes)), nil
}

func (w *writer) wantChanges(t *testing.T, n int) {
	t.Helper()
	if len(w.changes) != n {
		t.Errorf("%d changes, want %d", len(w.changes), n)
	}
}
