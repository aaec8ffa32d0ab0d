package connection_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// writer keeps connections in memory, as the store does within a transaction.
type writer struct {
	now     time.Time
	byID    map[string]*connection.Connection
	written int
	changes []recorded
	// fail makes the named method fail.
	fail map[string]error
}

// recorded is a change as it is kept.
type recorded struct {
	change.Draft
	before, after string
}

func newWriter(people ...*connection.Connection) *writer {
	w := &writer{now: noon, byID: map[string]*connection.Connection{}}
	for _, c := range people {
		w.byID[c.ID] = c
	}
	return w
}

func (w *writer) Now() time.Time { return w.now }

func (w *writer) GetConnection(_ context.Context, id string) (*connection.Connection, error) {
	c, ok := w.byID[id]
	if !ok {
		return nil, fault.New(fault.NotFound, "there is no connection %s", id)
	}
	return deep(c), w.fail["GetConnection"]
}

func (w *writer) ListSharing(_ context.Context, c *connection.Connection) (out []connection.Sharing, err error) {
	for _, id := range slices.Sorted(maps.Keys(w.byID)) {
		other := w.byID[id]
		for _, mine := range c.Handles {
			if slices.ContainsFunc(other.Handles, func(h connection.Handle) bool { return mine.Kind == h.Kind && mine.NormalValue == h.NormalValue }) {
				out = append(out, connection.Sharing{ID: id, Name: other.Name, Nickname: other.Nickname, Kind: mine.Kind})
			}
		}
	}
	return out, w.fail["ListSharing"]
}

func (w *writer) FindNamesake(_ context.Context, c *connection.Connection) (string, error) {
	organization := connection.NormalOrganization(c.CurrentPosition().Organization)
	for id, other := range w.byID {
		if organization != "" && text.Fold(other.Name) == text.Fold(c.Name) &&
			connection.NormalOrganization(other.CurrentPosition().Organization) == organization {
			return id, w.fail["FindNamesake"]
		}
	}
	return "", w.fail["FindNamesake"]
}

func (w *writer) InsertConnection(_ context.Context, c *connection.Connection) error {
	w.written++
	c.ID = fmt.Sprintf("con_%d", len(w.byID)+1)
	w.keep(c)
	return w.fail["InsertConnection"]
}

func (w *writer) ReplaceConnection(_ context.Context, c *connection.Connection) error {
	if w.byID[c.ID].Version != c.Version-1 {
		return fault.New(fault.Conflict, "%s was changed", c.ID)
	}
	w.written++
	w.keep(c)
	return w.fail["ReplaceConnection"]
}

// keep names and numbers the rows of the lists, and orders tags, as the store does.
func (w *writer) keep(c *connection.Connection) {
	for i := range c.Handles {
		c.Handles[i].Ordinal = i
		if c.Handles[i].ID == "" {
			c.Handles[i].ID = fmt.Sprintf("hnd_%d_%d", c.Version, i)
		}
	}
	for i := range c.Positions {
		c.Positions[i].Ordinal = i
	}
	for i := range c.Dates {
		c.Dates[i].Ordinal = i
		if c.Dates[i].ID == "" {
			c.Dates[i].ID = fmt.Sprintf("dat_%d_%d", c.Version, i)
		}
	}
	slices.SortFunc(c.Tags, func(a, b string) int { return slices.Compare([]byte(text.Fold(a)), []byte(text.Fold(b))) })
	w.byID[c.ID] = deep(c)
}

func (w *writer) Record(_ context.Context, d change.Draft) (string, error) {
	effects, err := d.Encode()
	if err != nil || len(effects) != 1 {
		return "", fmt.Errorf("%d effects: %w", len(effects), err)
	}
	w.changes = append(w.changes, recorded{Draft: d, before: string(effects[0].Before), after: string(effects[0].After)})
	return fmt.Sprintf("chg_%d", len(w.changes)), w.fail["Record"]
}

// deep returns a copy that shares no list with c.
func deep(c *connection.Connection) *connection.Connection {
	out := *c
	out.Handles, out.Positions, out.Tags = slices.Clone(c.Handles), slices.Clone(c.Positions), slices.Clone(c.Tags)
	out.Dates = slices.Clone(c.Dates)
	return &out
}

// wantChange checks the one recorded change: what it is about, and that it tells
// the connection before (nil when it was made) and as it is on file now.
func (w *writer) wantChange(t *testing.T, id string, before *connection.Connection) {
	t.Helper()
	if len(w.changes) != 1 {
		t.Fatalf("%d changes recorded", len(w.changes))
	}
	c := w.changes[0]
	if e := c.Effects[0]; e.Kind != connection.ObjectKind || e.ID != id || c.Summary == "" {
		t.Errorf("the change is about %s %s: %q", e.Kind, e.ID, c.Summary)
	}
	if want := encode(t, before); c.before != want {
		t.Errorf("before: %s\nwant: %s", c.before, want)
	}
	if want := encode(t, w.byID[id]); c.after != want {
		t.Errorf("after: %s\nwant: %s", c.after, want)
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

// wantNothingWritten checks that neither a connection nor a change was kept.
func (w *writer) wantNothingWritten(t *testing.T) {
	t.Helper()
	if w.written != 0 || len(w.changes) != 0 {
		t.Errorf("%d writes and %d changes", w.written, len(w.changes))
	}
}

// wantInvalid checks that err breaks a rule of the field.
func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Name != field {
		t.Errorf("got %v, want a fault of %s", err, field)
	}
}
