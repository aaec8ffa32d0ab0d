package people_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// writer is a member's connections on SQLite.
type writer struct {
	*db.Tenant

	t *testing.T
}

// newWriter stores people.
func newWriter(t *testing.T, persons ...*people.Connection) *writer {
	t.Helper()
	s := dbtest.Open(t, dbtest.SQLite(t), func() time.Time { return noon })
	w := &writer{Tenant: s.Tenant(dbtest.Member(t, s, "maria"), false), t: t}
	w.reset(persons...)
	return w
}

// reset replaces all stored people.
func (w *writer) reset(persons ...*people.Connection) {
	w.t.Helper()
	err := w.Write(w.t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		err := errors.Join(tx.Delete(ctx, (*people.Connection)(nil), "TRUE"), tx.Delete(ctx, (*history.Change)(nil), "TRUE"))
		for _, c := range persons {
			copied := deep(c)
			if copied.CreatedAt.IsZero() {
				copied.CreatedAt, copied.UpdatedAt = noon, noon
			}
			err = errors.Join(err, people.InsertPeople(ctx, tx, []*people.Connection{copied}))
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) create(d people.Draft) (people.Written, error) {
	return w.do(func(ctx context.Context, tx *db.Tx) (people.Written, error) { return people.Create(ctx, tx, d) })
}

func (w *writer) update(p people.Patch) (people.Written, error) {
	return w.do(func(ctx context.Context, tx *db.Tx) (people.Written, error) { return people.Update(ctx, tx, p) })
}

func (w *writer) setCadence(p people.CadencePatch) (people.Acted, error) {
	return write(w, func(ctx context.Context, tx *db.Tx) (people.Acted, error) { return people.SetCadence(ctx, tx, p) })
}

func (w *writer) do(fn func(ctx context.Context, tx *db.Tx) (people.Written, error)) (people.Written, error) {
	return write(w, fn)
}

func write[T any](w *writer, fn func(ctx context.Context, tx *db.Tx) (T, error)) (out T, err error) {
	w.t.Helper()
	err = w.Write(w.t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		out, err = fn(ctx, tx)
		return err
	})
	return out, err
}

// held returns the stored version of a person.
func (w *writer) held(connectionID string) *people.Connection {
	w.t.Helper()
	c, err := people.GetConnection(w.t.Context(), w, connectionID)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// changes returns the recorded changes, the latest first.
func (w *writer) changes() []history.Change {
	w.t.Helper()
	all, err := history.ListChanges(w.t.Context(), w, history.Query{Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// plain returns a copy without the values that the database adds: owners, data versions,
// and the ids of rows that a test did not choose, which become "new" with their position.
func plain(c *people.Connection) *people.Connection {
	if c == nil {
		return nil
	}
	out := deep(c)
	out.TenantID, out.DataVersion, out.FoldedName, out.SourceKeys = "", 0, "", nil
	for i := range out.Handles {
		h := &out.Handles[i]
		h.TenantID, h.ConnectionID = "", ""
		if h.ID == "" || id.Valid(id.Handle, h.ID) {
			h.ID = fmt.Sprintf("new_%d", i)
		}
	}
	for i := range out.Positions {
		p := &out.Positions[i]
		p.TenantID, p.ConnectionID, p.OrganizationID, p.ID = "", "", "", ""
	}
	for i := range out.Dates {
		d := &out.Dates[i]
		d.TenantID, d.ConnectionID = "", ""
		if d.ID == "" || id.Valid(id.Date, d.ID) {
			d.ID = fmt.Sprintf("new_%d", i)
		}
	}
	return out
}

// deep returns a copy that shares no list with c. Empty lists become nil.
func deep(c *people.Connection) *people.Connection {
	out := *c
	out.Handles, out.Positions = append([]people.Handle(nil), c.Handles...), append([]people.Position(nil), c.Positions...)
	out.Tags, out.Dates = append([]string(nil), c.Tags...), append([]people.ImportantDate(nil), c.Dates...)
	return &out
}

// wantChange checks the one recorded change: its target, and that it holds the connection
// before the change (nil when it was created) and as it is stored now.
func (w *writer) wantChange(t *testing.T, connectionID string, before *people.Connection) {
	t.Helper()
	changes := w.changes()
	if len(changes) != 1 || len(changes[0].Effects) != 1 {
		t.Fatalf("%+v are recorded", changes)
	}
	e := changes[0].Effects[0]
	if e.Kind != history.Connection || e.ID != connectionID || changes[0].Summary == "" {
		t.Errorf("the change is about %s %s: %q", e.Kind, e.ID, changes[0].Summary)
	}
	for _, state := range []struct {
		data json.RawMessage
		want *people.Connection
	}{{e.Before, before}, {e.After, w.held(connectionID)}} {
		var got *people.Connection
		if err := json.Unmarshal(state.data, &got); err != nil {
			t.Fatal(err)
		}
		if is, want := encode(t, plain(got)), encode(t, plain(state.want)); is != want {
			t.Errorf("recorded %s\nwant: %s", is, want)
		}
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// wantNothingWritten checks that no change was recorded.
func (w *writer) wantNothingWritten(t *testing.T) {
	t.Helper()
	w.wantWrites(t, 0)
}

// wantWrites checks how many changes were recorded.
func (w *writer) wantWrites(t *testing.T, n int) {
	t.Helper()
	if got := len(w.changes()); got != n {
		t.Errorf("%d changes are recorded, not %d", got, n)
	}
}

// breaks renames a table, so that statements on it fail.
func (w *writer) breaks(table string) {
	w.t.Helper()
	err := w.Write(w.t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.NewRaw("ALTER TABLE " + table + " RENAME TO away").Exec(ctx)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// wantInvalid checks that err is a fault.Invalid of the field.
func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.Invalid || !slices.ContainsFunc(f.Fields, func(v fault.Field) bool { return v.Name == field }) || len(f.Fields) != 1 {
		t.Errorf("got %v, want a fault of %s", err, field)
	}
}
