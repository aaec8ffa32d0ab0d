package timeline_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// note stores a note with its own id.
func (w *writer) note(n timeline.Note) timeline.Note {
	w.t.Helper()
	err := w.do(func(ctx context.Context, tx *db.Tx) error { return timeline.InsertNote(ctx, tx, &n) })
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// held returns the stored version of a note.
func (w *writer) held(id string) (n *timeline.Note) {
	w.t.Helper()
	err := w.do(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = timeline.GetNote(ctx, tx, id)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *writer) update(p timeline.NotePatch) (n *timeline.Note, changeID string, err error) {
	w.t.Helper()
	err = w.do(func(ctx context.Context, tx *db.Tx) error {
		n, changeID, err = timeline.UpdateNote(ctx, tx, p)
		return err
	})
	return n, changeID, err
}

func TestUpdateNote(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patch  timeline.NotePatch
		body   string
		pinned bool
		people []string
		writes bool
	}{
		"a text":                   {timeline.NotePatch{Body: new(" New\x00 text ")}, "New text", false, []string{"con_1", "con_2"}, true},
		"a pin":                    {timeline.NotePatch{Pinned: new(true)}, "Old", true, []string{"con_1", "con_2"}, true},
		"people":                   {timeline.NotePatch{ConnectionIDs: []string{"con_3", "con_2"}}, "Old", false, []string{"con_2", "con_3"}, true},
		"with the version":         {timeline.NotePatch{Body: new("New"), ExpectedVersion: new(int32(1))}, "New", false, []string{"con_1", "con_2"}, true},
		"nothing":                  {timeline.NotePatch{}, "Old", false, []string{"con_1", "con_2"}, false},
		"what is there":            {timeline.NotePatch{Body: new("Old\n"), Pinned: new(false)}, "Old", false, []string{"con_1", "con_2"}, false},
		"people in another order":  {timeline.NotePatch{ConnectionIDs: []string{"con_2", "con_1"}}, "Old", false, []string{"con_1", "con_2"}, false},
		"an empty list of people":  {timeline.NotePatch{ConnectionIDs: []string{}}, "Old", false, []string{"con_1", "con_2"}, false},
		"a pin and the same words": {timeline.NotePatch{Body: new("Old"), Pinned: new(true)}, "Old", true, []string{"con_1", "con_2"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t, map[string]int{"con_1": 0, "con_2": 0, "con_3": 0})
			before := w.note(timeline.Note{Body: "Old", Version: 1, CreatedAt: noon.AddDate(0, -1, 0), ConnectionIDs: []string{"con_1", "con_2"}})
			c.patch.ID = before.ID
			got, changeID, err := w.update(c.patch)
			if err != nil || got.Body != c.body || got.Pinned != c.pinned || !slices.Equal(got.ConnectionIDs, c.people) {
				t.Fatalf("%+v, %v", got, err)
			}
			if !c.writes {
				if changeID != "" || got.Version != 1 || len(w.changes()) != 0 {
					t.Errorf("written: %+v, %q", got, changeID)
				}
				return
			}
			if changeID != w.changes()[0].ID || got.Version != 2 || !got.UpdatedAt.Equal(noon) || !got.CreatedAt.Equal(before.CreatedAt) {
				t.Errorf("%+v, %q", got, changeID)
			}
			effects := w.changes()[0].Effects
			was, _ := json.Marshal(before)
			is, _ := json.Marshal(w.held(before.ID))
			if len(effects) != 1 || effects[0].ID != before.ID || string(effects[0].Before) != string(was) || string(effects[0].After) != string(is) {
				t.Errorf("recorded %v", effects)
			}
		})
	}
}

func TestUpdateNoteRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patch timeline.NotePatch
		code  fault.Code
	}{
		"unknown":         {timeline.NotePatch{ID: "not_9", Pinned: new(true)}, fault.NotFound},
		"a stale version": {timeline.NotePatch{ID: "not_1", Pinned: new(true), ExpectedVersion: new(int32(2))}, fault.Conflict},
		"blank":           {timeline.NotePatch{ID: "not_1", Body: new("\u200b \x00")}, fault.Invalid},
		"unknown person":  {timeline.NotePatch{ID: "not_1", ConnectionIDs: []string{"con_1", "con_9"}}, fault.NotFound},
	} {
		w := newWriter(t, map[string]int{"con_1": 0})
		n := w.note(timeline.Note{Body: "Old", Version: 1, ConnectionIDs: []string{"con_1"}})
		if c.patch.ID == "not_1" {
			c.patch.ID = n.ID
		}
		if _, _, err := w.update(c.patch); !fault.Is(err, c.code) || len(w.changes()) != 0 || w.held(n.ID).Version != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
