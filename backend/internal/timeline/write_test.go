package timeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// writer keeps a timeline in memory, as the store does within a transaction.
type writer struct {
	people       map[string]*connection.Connection
	notes        []timeline.Note
	interactions []timeline.Interaction
	changes      []change.Draft
	groups       map[string]int   // the shortest interval of a person's groups
	fail         map[string]error // by the name of the method
}

// newWriter returns a writer with people; a day count is a keep-in-touch interval.
func newWriter(cadence map[string]int) *writer {
	w := &writer{people: map[string]*connection.Connection{}}
	for id, days := range cadence {
		w.people[id] = &connection.Connection{ID: id, CadenceDays: days, CreatedAt: noon.AddDate(0, 0, -90)}
	}
	return w
}

func (w *writer) Now() time.Time { return noon }

func (w *writer) Participants(_ context.Context, ids []string) ([]connection.Connection, error) {
	var out []connection.Connection
	for _, id := range ids {
		c, ok := w.people[id]
		if !ok {
			return nil, fault.New(fault.NotFound, "there is no connection %s", id)
		}
		out = append(out, *c)
	}
	slices.Reverse(out) // no order is promised
	return out, w.fail["Participants"]
}

func (w *writer) InsertNote(_ context.Context, n *timeline.Note) error {
	n.ID = fmt.Sprintf("not_%d", len(w.notes)+1)
	w.notes = append(w.notes, *n)
	return w.fail["InsertNote"]
}

func (w *writer) InsertInteraction(_ context.Context, i *timeline.Interaction) error {
	i.ID = fmt.Sprintf("int_%d", len(w.interactions)+1)
	w.interactions = append(w.interactions, *i)
	for _, id := range i.ConnectionIDs {
		if c := w.people[id]; c.LastInteractionAt.Before(i.OccurredAt) {
			c.LastInteractionAt = i.OccurredAt
		}
	}
	return w.fail["InsertInteraction"]
}

func (w *writer) FindInteraction(_ context.Context, key string) (*timeline.Interaction, error) {
	for _, i := range w.interactions {
		if i.ExternalKey == key {
			return &i, nil
		}
	}
	return nil, w.fail["FindInteraction"]
}

func (w *writer) GroupCadences(_ context.Context, ids []string) (map[string]int, error) {
	out := map[string]int{}
	for _, id := range ids {
		if days := w.groups[id]; days > 0 {
			out[id] = days
		}
	}
	return out, w.fail["GroupCadences"]
}

func (w *writer) Record(_ context.Context, d change.Draft) (string, error) {
	w.changes = append(w.changes, d)
	return fmt.Sprintf("chg_%d", len(w.changes)), w.fail["Record"]
}

// wantCounts checks how much was written.
func (w *writer) wantCounts(t *testing.T, notes, interactions, changes int) {
	t.Helper()
	if len(w.notes) != notes || len(w.interactions) != interactions || len(w.changes) != changes {
		t.Errorf("%d notes, %d interactions, %d changes; want %d, %d, %d",
			len(w.notes), len(w.interactions), len(w.changes), notes, interactions, changes)
	}
}

// wantChange checks the last change: an object was made that is now as given.
func (w *writer) wantChange(t *testing.T, kind, id string, after any) {
	t.Helper()
	d := w.changes[len(w.changes)-1]
	want, err := json.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	effects, err := d.Encode()
	if err != nil || len(effects) != 1 {
		t.Fatalf("%d effects, %v", len(effects), err)
	}
	if e := effects[0]; e.Kind != kind || e.ID != id || string(e.Before) != "null" || string(e.After) != string(want) || d.Summary == "" {
		t.Errorf("recorded %+v\nwant %s %s to %s", e, kind, id, want)
	}
}

func TestAddNote(t *testing.T) {
	t.Parallel()
	w := newWriter(map[string]int{"con_1": 0, "con_2": 0})
	got, changeID, err := timeline.AddNote(t.Context(), w, timeline.Note{
		Body: " Likes\n\ntea.\x00 ", Pinned: true, ConnectionIDs: []string{"con_1", "con_2"}, Version: 9,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := timeline.Note{
		ID: "not_1", Body: "Likes\n\ntea.", Pinned: true, Version: 1, CreatedAt: noon, UpdatedAt: noon,
		ConnectionIDs: []string{"con_1", "con_2"},
	}
	if diff := cmp.Diff(want, *got); diff != "" || changeID != "chg_1" {
		t.Errorf("change %q; note (-want +got):\n%s", changeID, diff)
	}
	w.wantCounts(t, 1, 0, 1)
	w.wantChange(t, timeline.NoteObject, "not_1", want)
	for id, c := range w.people {
		if !c.LastInteractionAt.IsZero() {
			t.Errorf("the note counts as a contact with %s", id)
		}
	}
}

func TestNoteMustBeVisible(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", " \n\t", "\u200b\u200e", "\x00"} {
		w := newWriter(map[string]int{"con_1": 0})
		_, _, err := timeline.AddNote(t.Context(), w, timeline.Note{Body: body, ConnectionIDs: []string{"con_1"}})
		wantInvalid(t, err, "body")
		w.wantCounts(t, 0, 0, 0)
	}
}

func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.Invalid || len(f.Fields) != 1 || f.Fields[0].Name != field {
		t.Errorf("got %v, want a fault of %s", err, field)
	}
}

func TestUnknownPeopleAreNotFound(t *testing.T) {
	t.Parallel()
	w := newWriter(map[string]int{"con_1": 0})
	ids := []string{"con_1", "con_9"}
	if _, _, err := timeline.AddNote(t.Context(), w, timeline.Note{Body: "x", ConnectionIDs: ids}); !fault.Is(err, fault.NotFound) {
		t.Errorf("note: %v", err)
	}
	if _, err := timeline.LogInteraction(t.Context(), w, timeline.Interaction{ConnectionIDs: ids}); !fault.Is(err, fault.NotFound) {
		t.Errorf("interaction: %v", err)
	}
	w.wantCounts(t, 0, 0, 0)
}

func TestLogInteraction(t *testing.T) {
	t.Parallel()
	w := newWriter(map[string]int{"con_1": 0})
	occurred := noon.Add(-time.Hour)
	got, err := timeline.LogInteraction(t.Context(), w, timeline.Interaction{
		Kind: "call", OccurredAt: occurred, DurationMinutes: 20, Summary: " About\ntea.\x07 ", ExternalKey: " cal \n 7 ",
		ConnectionIDs: []string{"con_1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &timeline.Interaction{
		ID: "int_1", Kind: "call", OccurredAt: occurred, DurationMinutes: 20, Summary: "About\ntea.", ExternalKey: "cal 7",
		CreatedAt: noon, ConnectionIDs: []string{"con_1"},
	}
	people := []connection.Connection{*w.people["con_1"]}
	if diff := cmp.Diff(timeline.Logged{Interaction: want, People: people, ChangeID: "chg_1"}, got); diff != "" {
		t.Errorf("logged (-want +got):\n%s", diff)
	}
	w.wantCounts(t, 0, 1, 1)
	w.wantChange(t, timeline.InteractionObject, "int_1", want)
	if last := w.people["con_1"].LastInteractionAt; !last.Equal(occurred) {
		t.Errorf("last contact at %v", last)
	}
}

func TestOccurredAt(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		at      time.Time
		want    time.Time
		refused bool
	}{
		{name: "left out: now", want: noon},
		{name: "now", at: noon, want: noon},
		{name: "long ago", at: noon.AddDate(-50, 0, 0), want: noon.AddDate(-50, 0, 0)},
		{name: "a clock ahead by a day", at: noon.Add(24 * time.Hour), want: noon.Add(24 * time.Hour)},
		{name: "further ahead", at: noon.Add(24*time.Hour + time.Nanosecond), refused: true},
		{name: "next year", at: noon.AddDate(1, 0, 0), refused: true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(map[string]int{"con_1": 0})
			got, err := timeline.LogInteraction(t.Context(), w, timeline.Interaction{OccurredAt: c.at, ConnectionIDs: []string{"con_1"}})
			if c.refused {
				wantInvalid(t, err, "occurred_at")
				w.wantCounts(t, 0, 0, 0)
				return
			}
			if err != nil || !got.Interaction.OccurredAt.Equal(c.want) {
				t.Errorf("got %+v, %v", got.Interaction, err)
			}
		})
	}
}

// What is on file is answered, whoever was archived since.
func TestExternalKeyOfSomebodyArchived(t *testing.T) {
	t.Parallel()
	w := newWriter(map[string]int{"con_1": 7, "con_2": 30})
	log := func() timeline.Logged {
		t.Helper()
		logged, err := timeline.LogInteraction(t.Context(), w, timeline.Interaction{Kind: "call", ExternalKey: "k", ConnectionIDs: []string{"con_1", "con_2"}})
		if err != nil {
			t.Fatal(err)
		}
		return logged
	}
	first := log()
	delete(w.people, "con_1")
	again := log()
	due, ok := again.NextDue(time.UTC)
	if again.ChangeID != "" || again.Interaction.ID != first.Interaction.ID || !ok || !due.Equal(time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, due %v", again, due)
	}
	delete(w.people, "con_2")
	if _, ok := log().NextDue(time.UTC); ok {
		t.Error("nobody is left, and somebody is due")
	}
}

func TestExternalKeyIsRecordedOnce(t *testing.T) {
	t.Parallel()
	w := newWriter(map[string]int{"con_1": 10, "con_2": 5})
	log := func(i timeline.Interaction) timeline.Logged {
		t.Helper()
		got, err := timeline.LogInteraction(t.Context(), w, i)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := log(timeline.Interaction{Kind: "call", Summary: "one", ExternalKey: "k", ConnectionIDs: []string{"con_1"}})
	w.wantCounts(t, 0, 1, 1)

	again := log(timeline.Interaction{Kind: "email", Summary: "two", ExternalKey: " k\n", ConnectionIDs: []string{"con_2"}})
	want := timeline.Logged{Interaction: first.Interaction, People: []connection.Connection{*w.people["con_1"]}}
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("repeated (-want +got):\n%s", diff)
	}
	w.wantCounts(t, 0, 1, 1)
	if !w.people["con_2"].LastInteractionAt.IsZero() {
		t.Error("repeating the key made a contact")
	}

	log(timeline.Interaction{Kind: "call", ExternalKey: "another", ConnectionIDs: []string{"con_1"}})
	w.wantCounts(t, 0, 2, 2)
	for range 2 { // none at all is no key
		log(timeline.Interaction{Kind: "call", ConnectionIDs: []string{"con_1"}})
		log(timeline.Interaction{Kind: "call", ExternalKey: " ", ConnectionIDs: []string{"con_1"}})
	}
	w.wantCounts(t, 0, 6, 6)
}

func TestNextDueIsTheEarliest(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return midnight.AddDate(0, 0, n) }
	cases := []struct {
		name    string
		cadence map[string]int
		groups  map[string]int
		people  func(map[string]*connection.Connection)
		at      time.Time
		want    time.Time
	}{
		{name: "nobody has an interval", cadence: map[string]int{"con_1": 0, "con_2": 0}},
		{name: "one has", cadence: map[string]int{"con_1": 0, "con_2": 7}, want: day(7)},
		{name: "the shorter one", cadence: map[string]int{"con_1": 30, "con_2": 7, "con_3": 14}, want: day(7)},
		{name: "counted from the contact", cadence: map[string]int{"con_1": 7}, at: day(-3), want: day(4)},
		{name: "counted from a later contact on file", cadence: map[string]int{"con_1": 7}, at: day(-30), want: day(6),
			people: func(p map[string]*connection.Connection) { p["con_1"].LastInteractionAt = day(-1) }},
		{name: "a group's where there is no other", cadence: map[string]int{"con_1": 0, "con_2": 20}, groups: map[string]int{"con_1": 9, "con_2": 3}, want: day(9)},
		{name: "a snooze holds", cadence: map[string]int{"con_1": 7, "con_2": 20}, want: day(20),
			people: func(p map[string]*connection.Connection) { p["con_1"].SnoozedUntil = day(60) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(c.cadence)
			w.groups = c.groups
			w.people["con_9"] = &connection.Connection{ID: "con_9", CadenceDays: 1, LastInteractionAt: noon} // did not take part
			if c.people != nil {
				c.people(w.people)
			}
			i := timeline.Interaction{OccurredAt: c.at}
			for id := range c.cadence {
				i.ConnectionIDs = append(i.ConnectionIDs, id)
			}
			got, err := timeline.LogInteraction(t.Context(), w, i)
			if due, ok := got.NextDue(time.UTC); err != nil || !due.Equal(c.want) || ok == c.want.IsZero() {
				t.Errorf("due %v, %v; want %v", due, err, c.want)
			}
		})
	}
}

func TestStoreErrorsReachTheCaller(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cases := []struct {
		method            string
		note, interaction bool // whether it is used for one
	}{
		{"Participants", true, true},
		{"InsertNote", true, false},
		{"InsertInteraction", false, true},
		{"FindInteraction", false, true},
		{"GroupCadences", false, true},
		{"Record", true, true},
	}
	for _, c := range cases {
		t.Run(c.method, func(t *testing.T) {
			t.Parallel()
			w := newWriter(map[string]int{"con_1": 0})
			w.fail = map[string]error{c.method: broken}
			if _, _, err := timeline.AddNote(t.Context(), w, timeline.Note{Body: "x", ConnectionIDs: []string{"con_1"}}); errors.Is(err, broken) != c.note {
				t.Errorf("note: %v", err)
			}
			_, err := timeline.LogInteraction(t.Context(), w, timeline.Interaction{ExternalKey: "k", ConnectionIDs: []string{"con_1"}})
			if errors.Is(err, broken) != c.interaction {
				t.Errorf("interaction: %v", err)
			}
		})
	}
}
