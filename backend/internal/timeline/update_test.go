package timeline_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

func (w *writer) GetNote(_ context.Context, id string) (*timeline.Note, error) {
	for _, n := range w.notes {
		if n.ID == id {
			n.ConnectionIDs = slices.Clone(n.ConnectionIDs)
			return &n, nil
		}
	}
	return nil, fault.New(fault.NotFound, "there is no note %s", id)
}

func (w *writer) ReplaceNote(_ context.Context, n *timeline.Note) error {
	at := slices.IndexFunc(w.notes, func(other timeline.Note) bool { return other.ID == n.ID })
	if w.notes[at].Version != n.Version-1 {
		return fault.New(fault.Conflict, "%s was changed", n.ID)
	}
	w.notes[at] = *n
	return nil
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
			w := newWriter(map[string]int{"con_1": 0, "con_2": 0, "con_3": 0})
			before := timeline.Note{ID: "not_1", Body: "Old", Version: 1, CreatedAt: noon.AddDate(0, -1, 0), ConnectionIDs: []string{"con_1", "con_2"}}
			w.notes = []timeline.Note{before}
			c.patch.ID = "not_1"
			got, changeID, err := timeline.UpdateNote(t.Context(), w, c.patch)
			if err != nil || got.Body != c.body || got.Pinned != c.pinned || !slices.Equal(got.ConnectionIDs, c.people) {
				t.Fatalf("%+v, %v", got, err)
			}
			if !c.writes {
				if changeID != "" || got.Version != 1 || len(w.changes) != 0 {
					t.Errorf("written: %+v, %q", got, changeID)
				}
				return
			}
			if changeID != "chg_1" || got.Version != 2 || !got.UpdatedAt.Equal(noon) || !got.CreatedAt.Equal(before.CreatedAt) {
				t.Errorf("%+v, %q", got, changeID)
			}
			effects, err := w.changes[0].Encode()
			was, _ := json.Marshal(before)
			is, _ := json.Marshal(w.notes[0])
			if err != nil || len(effects) != 1 || effects[0].ID != "not_1" || string(effects[0].Before) != string(was) || string(effects[0].After) != string(is) {
				t.Errorf("recorded %s", effects)
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
		"nobody":          {timeline.NotePatch{ID: "not_1", ConnectionIDs: []string{"con_1", "con_9"}}, fault.NotFound},
	} {
		w := newWriter(map[string]int{"con_1": 0})
		w.notes = []timeline.Note{{ID: "not_1", Body: "Old", Version: 1, ConnectionIDs: []string{"con_1"}}}
		if _, _, err := timeline.UpdateNote(t.Context(), w, c.patch); !fault.Is(err, c.code) || len(w.changes) != 0 || w.notes[0].Version != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
