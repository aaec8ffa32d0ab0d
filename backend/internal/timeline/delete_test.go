package timeline_test

import (
	"context"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

func (w *writer) remove(id string) (deleted bool, changeID string) {
	w.t.Helper()
	err := w.do(func(ctx context.Context, tx *db.Tx) (err error) {
		deleted, changeID, err = timeline.DeleteEntry(ctx, tx, id)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return deleted, changeID
}

func TestDeleteEntry(t *testing.T) {
	t.Parallel()
	w := newWriter(t, map[string]int{"con_1": 0, "con_2": 0})
	n := w.note(timeline.Note{Body: "x", Version: 1, ConnectionIDs: []string{"con_1", "con_2"}})
	older, err := w.log(timeline.Interaction{Kind: "call", OccurredAt: noon.AddDate(0, 0, -9), ConnectionIDs: []string{"con_1"}})
	if err != nil {
		t.Fatal(err)
	}
	met, err := w.log(timeline.Interaction{Kind: "meeting", ConnectionIDs: []string{"con_1", "con_2"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{met.Interactions[0].ID, n.ID} {
		deleted, changeID := w.remove(id)
		c := w.changes()[0]
		if !deleted || changeID != c.ID || len(c.Effects) != 1 || c.Effects[0].ID != id || string(c.Effects[0].After) != "null" || string(c.Effects[0].Before) == "null" || c.Summary == "" {
			t.Errorf("%s: %v, %+v", id, deleted, c)
		}
		if again, changeID := w.remove(id); again || changeID != "" {
			t.Errorf("%s is deleted twice", id)
		}
	}
	w.wantCounts(t, 0, 1, 4)
	if !w.lastContact("con_1").Equal(older.Interactions[0].OccurredAt) || !w.lastContact("con_2").IsZero() {
		t.Errorf("last contacts %s, %s", w.lastContact("con_1"), w.lastContact("con_2"))
	}
	for _, id := range []string{"not_9", "int_9"} {
		if deleted, changeID := w.remove(id); deleted || changeID != "" {
			t.Errorf("%s is deleted", id)
		}
	}
}

func (w *writer) updateInteraction(p timeline.InteractionPatch) (changed timeline.Logged, err error) {
	w.t.Helper()
	err = w.do(func(ctx context.Context, tx *db.Tx) error {
		changed, err = timeline.UpdateInteraction(ctx, tx, p)
		return err
	})
	return changed, err
}

// A change of participants recounts the last contact of people who took part before or
// after. Archived people stay participants.
func TestUpdateInteractionCountsContacts(t *testing.T) {
	t.Parallel()
	w := newWriter(t, map[string]int{"con_1": 7, "con_2": 0, "con_3": 5, "con_4": 0})
	made, err := w.log(timeline.Interaction{Kind: "call", OccurredAt: noon.AddDate(0, 0, -3), ConnectionIDs: []string{"con_1", "con_2", "con_4"}})
	if err != nil {
		t.Fatal(err)
	}
	w.archive("con_4")
	before := noon.AddDate(0, 0, -5)
	got, err := w.updateInteraction(timeline.InteractionPatch{
		ID: made.Interactions[0].ID, OccurredAt: before, Add: []string{"con_3", "con_1"}, Remove: []string{"con_2"},
	})
	if err != nil || got.ChangeID != w.changes()[0].ID || len(got.Interactions[0].ConnectionIDs) != 3 || got.Interactions[0].Kind != "call" {
		t.Fatalf("%+v, %v", got, err)
	}
	if due, ok := got.NextDue(time.UTC); !ok || !due.Equal(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("next due %s", due)
	}
	if !w.lastContact("con_1").Equal(before) || !w.lastContact("con_3").Equal(before) || !w.lastContact("con_2").IsZero() {
		t.Errorf("last contacts %s, %s, %s", w.lastContact("con_1"), w.lastContact("con_3"), w.lastContact("con_2"))
	}
	if same, err := w.updateInteraction(timeline.InteractionPatch{ID: made.Interactions[0].ID, Kind: "call", OccurredAt: before, Add: []string{"con_1"}}); err != nil || same.ChangeID != "" {
		t.Errorf("the same again: %+v, %v", same, err)
	}
	for name, p := range map[string]timeline.InteractionPatch{
		"tomorrow": {OccurredAt: noon.Add(25 * time.Hour)}, "nobody": {Remove: []string{"con_1", "con_3", "con_4"}},
	} {
		p.ID = made.Interactions[0].ID
		if _, err := w.updateInteraction(p); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.updateInteraction(timeline.InteractionPatch{ID: made.Interactions[0].ID, Add: []string{"con_4", "con_9"}}); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown person: %v", err)
	}
	w.wantCounts(t, 0, 1, 2)
}
