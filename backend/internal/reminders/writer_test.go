package reminders_test

import (
	"context"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
)

// writer is a member's reminders on SQLite. The only person is con_1.
type writer struct {
	*db.Tenant

	t   *testing.T
	now time.Time
}

func newWriter(t *testing.T, now time.Time, list ...reminders.Reminder) *writer {
	t.Helper()
	w := &writer{t: t, now: now}
	s := dbtest.Open(t, dbtest.SQLite(t), func() time.Time { return w.now })
	w.Tenant = s.Tenant(dbtest.Member(t, s, "maria"), false)
	w.do(func(ctx context.Context, tx *db.Tx) error {
		for _, r := range list {
			r.TenantID, r.CreatedAt, r.UpdatedAt = tx.TenantID(), now, now
			if _, err := tx.NewInsert().Model(&r).Exec(ctx); err != nil {
				return err
			}
		}
		return people.InsertPeople(ctx, tx, []*people.Connection{{ID: "con_1", Name: "Ana", Version: 1, CreatedAt: now, UpdatedAt: now}})
	})
	return w
}

// do runs fn in a transaction, which must not fail.
func (w *writer) do(fn func(ctx context.Context, tx *db.Tx) error) {
	w.t.Helper()
	if err := w.Write(w.t.Context(), db.Actor{}, fn); err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) create(draft reminders.Reminder, today time.Time) (r *reminders.Reminder, changeID string, err error) {
	w.t.Helper()
	err = w.Write(w.t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		r, changeID, err = reminders.Create(ctx, tx, draft, today)
		return err
	})
	return r, changeID, err
}

func (w *writer) complete(c reminders.Completion) (done reminders.Completed, err error) {
	w.t.Helper()
	err = w.Write(w.t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		done, err = reminders.Complete(ctx, tx, c)
		return err
	})
	return done, err
}

// held returns the stored version of a reminder.
func (w *writer) held(id string) (r reminders.Reminder) {
	w.t.Helper()
	w.do(func(ctx context.Context, tx *db.Tx) error {
		found, err := reminders.GetReminder(ctx, tx, id)
		if err == nil {
			r = *found
		}
		return err
	})
	return r
}

// changes returns the recorded changes, the latest first; each is of one reminder.
func (w *writer) changes() []history.Change {
	w.t.Helper()
	all, err := history.ListChanges(w.t.Context(), w, history.Query{Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range all {
		if len(c.Effects) != 1 || c.Effects[0].Kind != history.Reminder || c.Summary == "" {
			w.t.Errorf("recorded %+v", c)
		}
	}
	return all
}

func (w *writer) wantChanges(t *testing.T, n int) {
	t.Helper()
	if got := len(w.changes()); got != n {
		t.Errorf("%d changes, want %d", got, n)
	}
}
