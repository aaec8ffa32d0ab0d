package timeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/uptrace/bun"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// writer is a member's timeline on SQLite.
type writer struct {
	*db.Tenant

	t *testing.T
}

// newWriter returns a timeline with people; a day count is a keep-in-touch interval.
func newWriter(t *testing.T, cadence map[string]int) *writer {
	t.Helper()
	s := dbtest.Open(t, dbtest.SQLite(t), func() time.Time { return noon })
	w := &writer{Tenant: s.Tenant(dbtest.Member(t, s, "maria"), false), t: t}
	for id, days := range cadence {
		w.put(people.Connection{ID: id, CadenceDays: days, CreatedAt: noon.AddDate(0, 0, -90)})
	}
	return w
}

// do runs fn in a transaction.
func (w *writer) do(fn func(ctx context.Context, tx *db.Tx) error) error {
	w.t.Helper()
	return w.Write(w.t.Context(), db.Actor{}, fn)
}

// put stores a person.
func (w *writer) put(c people.Connection) {
	w.t.Helper()
	c.Name, c.Version, c.UpdatedAt = c.ID, 1, noon
	err := w.do(func(ctx context.Context, tx *db.Tx) error {
		return people.InsertPeople(ctx, tx, []*people.Connection{&c})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// archive archives a person.
func (w *writer) archive(id string) {
	w.t.Helper()
	err := w.do(func(ctx context.Context, tx *db.Tx) error { return people.SetArchived(ctx, tx, []string{id}, noon) })
	if err != nil {
		w.t.Fatal(err)
	}
}

// join adds a person to a group with a keep-in-touch interval.
func (w *writer) join(id string, days int) {
	w.t.Helper()
	err := w.do(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.NewRaw("INSERT INTO groups (tenant_id, id, name, folded_name, description, cadence_days, version, created_at, updated_at) VALUES (?, ?, ?, ?, '', ?, 1, ?, ?)",
			tx.TenantID(), "grp_"+id, id, id, days, noon, noon).Exec(ctx)
		if err == nil {
			_, err = tx.NewRaw("INSERT INTO group_connections (tenant_id, group_id, connection_id) VALUES (?, ?, ?)", tx.TenantID(), "grp_"+id, id).Exec(ctx)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// lastContact returns the last contact with a person.
func (w *writer) lastContact(id string) time.Time {
	w.t.Helper()
	c, err := people.GetConnection(w.t.Context(), w, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return c.LastInteractionAt
}

func (w *writer) addNote(n timeline.Note) (made *timeline.Note, changeID string, err error) {
	w.t.Helper()
	err = w.do(func(ctx context.Context, tx *db.Tx) error {
		made, changeID, err = timeline.AddNote(ctx, tx, n)
		return err
	})
	return made, changeID, err
}

func (w *writer) log(i timeline.Interaction) (logged timeline.Logged, err error) {
	w.t.Helper()
	err = w.do(func(ctx context.Context, tx *db.Tx) error {
		logged, err = timeline.LogInteractions(ctx, tx, i)
		return err
	})
	return logged, err
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

// wantCounts checks how many notes, interactions and changes are stored.
func (w *writer) wantCounts(t *testing.T, notes, interactions, changes int) {
	t.Helper()
	var got [2]int
	for i, table := range []string{"notes", "interactions"} {
		if err := w.NewRaw("SELECT count(*) FROM ? WHERE tenant_id = ?", bun.Ident(table), w.TenantID()).Scan(t.Context(), &got[i]); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.changes()); got != [2]int{notes, interactions} || n != changes {
		t.Errorf("%d notes and interactions, %d changes; want %d, %d, %d", got, n, notes, interactions, changes)
	}
}

// wantChange checks the last change: it created an object that is now as given.
func (w *writer) wantChange(t *testing.T, kind, id string, after any) {
	t.Helper()
	want, err := json.Marshal(after)
	if err != nil {
		t.Fatal(err)
	}
	c := w.changes()[0]
	if len(c.Effects) != 1 {
		t.Fatalf("%d effects", len(c.Effects))
	}
	if e := c.Effects[0]; e.Kind != kind || e.ID != id || string(e.Before) != "null" || string(e.After) != string(want) || c.Summary == "" {
		t.Errorf("recorded %+v\nwant %s %s to %s", e, kind, id, want)
	}
}

func TestAddNote(t *testing.T) {
	t.Parallel()
	w := newWriter(t, map[string]int{"con_1": 0, "con_2": 0})
	got, changeID, err := w.addNote(timeline.Note{
		Body: " Likes\n\ntea.\x00 ", Pinned: true, ConnectionIDs: []string{"con_1", "con_2"}, Version: 9,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := timeline.Note{
		TenantID: w.TenantID(), ID: got.ID, Body: "Likes\n\ntea.", Pinned: true, Version: 1, NotedAt: noon, CreatedAt: noon, UpdatedAt: noon,
		ConnectionIDs: []string{"con_1", "con_2"},
	}
	if diff := cmp.Diff(want, *got); diff != "" || changeID != w.changes()[0].ID {
		t.Errorf("change %q; note (-want +got):\n%s", changeID, diff)
	}
	w.wantCounts(t, 1, 0, 1)
	w.wantChange(t, history.Note, got.ID, want)
	for _, id := range want.ConnectionIDs {
		if !w.lastContact(id).IsZero() {
			t.Errorf("the note counts as a contact with %s", id)
		}
	}
}

func TestNoteMustBeVisible(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", " \n\t", "\u200b\u200e", "\x00"} {
		w := newWriter(t, map[string]int{"con_1": 0})
		_, _, err := w.addNote(timeline.Note{Body: body, ConnectionIDs: []string{"con_1"}})
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
	w := newWriter(t, map[string]int{"con_1": 0})
	ids := []string{"con_1", "con_9"}
	if _, _, err := w.addNote(timeline.Note{Body: "x", ConnectionIDs: ids}); !fault.Is(err, fault.NotFound) {
		t.Errorf("note: %v", err)
	}
	if _, err := w.log(timeline.Interaction{ConnectionIDs: ids}); !fault.Is(err, fault.NotFound) {
		t.Errorf("interaction: %v", err)
	}
	w.wantCounts(t, 0, 0, 0)
}

func TestLogInteraction(t *testing.T) {
	t.Parallel()
	w := newWriter(t, map[string]int{"con_1": 0})
	occurred := noon.Add(-time.Hour)
	got, err := w.log(timeline.Interaction{
		Kind: "call", OccurredAt: occurred, DurationMinutes: 20, Summary: " About\ntea.\x07 ", ExternalKey: " cal \n 7 ",
		ConnectionIDs: []string{"con_1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &timeline.Interaction{
		TenantID: w.TenantID(), ID: got.Interactions[0].ID, Kind: "call", OccurredAt: occurred, DurationMinutes: 20, Summary: "About\ntea.", ExternalKey: "cal 7",
		CreatedAt: noon, ConnectionIDs: []string{"con_1"},
	}
	if diff := cmp.Diff(want, &got.Interactions[0]); diff != "" || len(got.People) != 1 || got.People[0].ID != "con_1" || got.ChangeID != w.changes()[0].ID {
		t.Errorf("logged %+v (-want +got):\n%s", got, diff)
	}
	w.wantCounts(t, 0, 1, 1)
	w.wantChange(t, history.Interaction, want.ID, want)
	if last := w.lastContact("con_1"); !last.Equal(occurred) {
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
			w := newWriter(t, map[string]int{"con_1": 0})
			got, err := w.log(timeline.Interaction{OccurredAt: c.at, ConnectionIDs: []string{"con_1"}})
			if c.refused {
				wantInvalid(t, err, "occurred_at")
				w.wantCounts(t, 0, 0, 0)
				return
			}
			if err != nil || !got.Interactions[0].OccurredAt.Equal(c.want) {
				t.Errorf("got %+v, %v", got.Interactions, err)
			}
		})
	}
}

// Logging the same key again returns the stored interaction, even if people were archived
// since.
func TestExternalKeyOfAnArchivedPerson(t *testing.T) {
	t.Parallel()
	w := newWriter(t, map[string]int{"con_1": 7, "con_2": 30})
	log := func() timeline.Logged {
		t.Helper()
		logged, err := w.log(timeline.Interaction{Kind: "call", ExternalKey: "k", ConnectionIDs: []string{"con_1", "con_2"}})
		if err != nil {
			t.Fatal(err)
		}
		return logged
	}
	first := log()
	w.archive("con_1")
	again := log()
	due, ok := again.NextDue(time.UTC)
	if again.ChangeID != "" || again.Interactions[0].ID != first.Interactions[0].ID || !ok || !due.Equal(time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, due %v", again, due)
	}
	w.archive("con_2")
	if _, ok := log().NextDue(time.UTC); ok {
		t.Error("no participant is left, but one is due")
	}
}

func TestExternalKeyIsRecordedOnce(t *testing.T) {
	t.Parallel()
	w := newWriter(t, map[string]int{"con_1": 10, "con_2": 5})
	log := func(i timeline.Interaction) timeline.Logged {
		t.Helper()
		got, err := w.log(i)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first := log(timeline.Interaction{Kind: "call", Summary: "one", ExternalKey: "k", ConnectionIDs: []string{"con_1"}})
	w.wantCounts(t, 0, 1, 1)

	again := log(timeline.Interaction{Kind: "email", Summary: "two", ExternalKey: " k\n", ConnectionIDs: []string{"con_2"}})
	if diff := cmp.Diff(first.Interactions, again.Interactions); diff != "" || again.ChangeID != "" || len(again.People) != 1 || again.People[0].ID != "con_1" {
		t.Errorf("repeated %+v (-want +got):\n%s", again, diff)
	}
	w.wantCounts(t, 0, 1, 1)
	if !w.lastContact("con_2").IsZero() {
		t.Error("repeating the key moved the last contact")
	}

	log(timeline.Interaction{Kind: "call", ExternalKey: "another", ConnectionIDs: []string{"con_1"}})
	w.wantCounts(t, 0, 2, 2)
	for range 2 { // an empty external key is no key
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
		// last and snoozed are the last contact with a person, and the day until which the interval is snoozed.
		last, snoozed map[string]time.Time
		at            time.Time
		want          time.Time
	}{
		{name: "nobody has an interval", cadence: map[string]int{"con_1": 0, "con_2": 0}},
		{name: "one has", cadence: map[string]int{"con_1": 0, "con_2": 7}, want: day(7)},
		{name: "the shorter one", cadence: map[string]int{"con_1": 30, "con_2": 7, "con_3": 14}, want: day(7)},
		{name: "counted from the contact", cadence: map[string]int{"con_1": 7}, at: day(-3), want: day(4)},
		{name: "counted from a later stored contact", cadence: map[string]int{"con_1": 7}, at: day(-30), want: day(6),
			last: map[string]time.Time{"con_1": day(-1)}},
		{name: "a group's where there is no other", cadence: map[string]int{"con_1": 0, "con_2": 20}, groups: map[string]int{"con_1": 9, "con_2": 3}, want: day(9)},
		{name: "a snooze holds", cadence: map[string]int{"con_1": 7, "con_2": 20}, want: day(20),
			snoozed: map[string]time.Time{"con_1": day(60)}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t, nil)
			for id, days := range c.cadence {
				w.put(people.Connection{
					ID: id, CadenceDays: days, CreatedAt: noon.AddDate(0, 0, -90), LastInteractionAt: c.last[id], SnoozedUntil: c.snoozed[id],
				})
			}
			w.put(people.Connection{ID: "con_9", CadenceDays: 1, LastInteractionAt: noon}) // did not take part
			for id, days := range c.groups {
				w.join(id, days)
			}
			i := timeline.Interaction{OccurredAt: c.at}
			for id := range c.cadence {
				i.ConnectionIDs = append(i.ConnectionIDs, id)
			}
			got, err := w.log(i)
			if due, ok := got.NextDue(time.UTC); err != nil || !due.Equal(c.want) || ok == c.want.IsZero() {
				t.Errorf("due %v, %v; want %v", due, err, c.want)
			}
		})
	}
}

// A database error is returned to the caller and rolls everything back.
func TestErrorsOfTheDatabaseReachTheCaller(t *testing.T) {
	t.Parallel()
	for table, uses := range map[string]struct{ note, interaction bool }{
		"connections": {true, true}, "notes": {true, false}, "interactions": {false, true},
		"group_connections": {false, true}, "changes": {true, true},
	} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t, map[string]int{"con_1": 0})
			err := w.do(func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.NewRaw("ALTER TABLE ? RENAME TO away", bun.Ident(table)).Exec(ctx)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := w.addNote(timeline.Note{Body: "x", ConnectionIDs: []string{"con_1"}}); (err != nil) != uses.note {
				t.Errorf("note: %v", err)
			}
			if _, err := w.log(timeline.Interaction{Kind: "call", ExternalKey: "k", ConnectionIDs: []string{"con_1"}}); (err != nil) != uses.interaction {
				t.Errorf("interaction: %v", err)
			}
		})
	}
}
