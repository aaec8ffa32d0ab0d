package integration_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/retention"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"

	"github.com/google/go-cmp/cmp"
)

func archive(t *testing.T, s *db.DB, owner tenant.ID, away bool, ids ...string) people.Acted {
	t.Helper()
	return do(t, s, owner, func(ctx context.Context, u *db.Tx) (people.Acted, error) {
		return people.Archive(ctx, u, ids, away, false)
	})
}

func addNote(t *testing.T, s *db.DB, owner tenant.ID, ids ...string) string {
	t.Helper()
	return do(t, s, owner, func(ctx context.Context, u *db.Tx) (string, error) {
		n, _, err := timeline.AddNote(ctx, u, timeline.Note{Body: "n", ConnectionIDs: ids})
		if err != nil {
			return "", err
		}
		_, err = timeline.LogInteractions(ctx, u, timeline.Interaction{Kind: "call", ConnectionIDs: ids})
		return n.ID, err
	})
}

// onFile counts a member's rows by kind.
func onFile(t *testing.T, s *db.DB, owner tenant.ID) map[string]int {
	t.Helper()
	out := map[string]int{}
	err := export.Export(t.Context(), s.Tenant(owner, true), func(object any) error {
		switch object.(type) {
		case *people.Connection:
			out["people"]++
		case *timeline.Note:
			out["notes"]++
		case *timeline.Interaction:
			out["interactions"]++
		case *people.Relationship:
			out["relationships"]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An archived person is not found by any search, but can be read by id.
func TestArchivedPeopleAreNotFound(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		data := s.Tenant(owner, false)
		ana := create(t, s, owner, people.Draft{Name: "Ana", Organization: "Helios", Emails: []string{"a@x.example"}})
		bo := create(t, s, owner, people.Draft{Name: "Bo"})
		addNote(t, s, owner, ana.ID)
		addNote(t, s, owner, ana.ID, bo.ID)
		if got := archive(t, s, owner, true, ana.ID); len(got.Changed) != 1 || got.ChangeID == "" {
			t.Fatalf("archived: %+v", got)
		}
		if got := archive(t, s, owner, true, ana.ID); len(got.Changed) != 0 || got.Unchanged != 1 || got.ChangeID != "" {
			t.Errorf("again: %+v", got)
		}
		c, err := people.GetConnection(t.Context(), data, ana.ID)
		if err != nil || c.ArchivedAt.IsZero() || c.Version != 2 {
			t.Errorf("by id: %+v, %v", c, err)
		}
		entries, err := timeline.ListTimeline(t.Context(), data, timeline.Query{Limit: 10})
		if err != nil || len(entries) != 2 || len(entries[0].Participants) != 1 || entries[0].Participants[0].ID != bo.ID {
			t.Errorf("timeline: %+v, %v", entries, err)
		}
		if _, err := timeline.ListTimeline(t.Context(), data, timeline.Query{ConnectionID: ana.ID, Limit: 10}); !fault.Is(err, fault.Conflict) {
			t.Errorf("their timeline: %v", err)
		}
		persons, err := people.ListDuplicateCandidates(t.Context(), data)
		if err != nil || len(persons) != 1 {
			t.Errorf("duplicates look at %+v, %v", persons, err)
		}
		docs, err := search.LoadDocuments(t.Context(), data, -1)
		if err != nil || !slices.ContainsFunc(docs.Changed, func(d index.Document) bool { return d.ID == ana.ID && d.Archived }) {
			t.Errorf("documents: %v", err)
		}
		again := createWritten(t, s, owner, people.Draft{Name: "Ana", Organization: "Helios", Emails: []string{"a@x.example"}})
		if again.DuplicateOf != "" {
			t.Errorf("an archived person is a duplicate: %+v", again)
		}
		for name, err := range map[string]error{
			"update": func() error { _, err := update(t, s, owner, people.Patch{ID: ana.ID, Bio: new("x")}); return err }(),
			"link": write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
				_, _, err := people.Link(ctx, u, bo.ID, ana.ID, people.RelationFriend, false)
				return err
			}),
			"merge": write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
				_, err := people.Merge(ctx, u, []people.MergeInto{{Into: bo.ID, From: []string{ana.ID}}}, false, timeline.StoreNote, func(context.Context, []people.MergedPerson) error { return nil })
				return err
			}),
		} {
			if !fault.Is(err, fault.Conflict) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := archive(t, s, owner, false, ana.ID, bo.ID); len(got.Changed) != 1 || got.Unchanged != 1 {
			t.Errorf("brought back: %+v", got)
		}
		entries, err = timeline.ListTimeline(t.Context(), data, timeline.Query{ConnectionID: ana.ID, Limit: 10})
		if err != nil || len(entries) != 4 {
			t.Errorf("timeline: %+v, %v", entries, err)
		}
	})
}

func TestUndoOfArchiving(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		ana := create(t, s, owner, people.Draft{Name: "Ana"})
		bo := create(t, s, owner, people.Draft{Name: "Bo"})
		before := file(t, s, owner)
		done := archive(t, s, owner, true, ana.ID, bo.ID)
		wantUndone(t, s, owner, done.ChangeID)
		after := file(t, s, owner)
		for i := range before {
			if withoutTime(before[i], "updated_at") != withoutTime(after[i], "updated_at") {
				t.Errorf("before %s\nafter %s", before[i], after[i])
			}
		}
		merged := merge(t, s, owner, false, ana.ID, bo.ID)
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			_, err := people.Archive(ctx, u, []string{bo.ID}, false, false)
			return err
		})
		if !fault.Is(err, fault.Conflict) {
			t.Errorf("a merged person is restored: %v", err)
		}
		wantUndone(t, s, owner, merged.ChangeID)
	})
}

// A deletion removes what is only about the person, and keeps what is also about others.
func TestDelete(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		ana := create(t, s, owner, people.Draft{Name: "Ana  Lopez", Emails: []string{"a@x.example"}, Tags: []string{"t"}})
		bo := create(t, s, owner, people.Draft{Name: "Bo"})
		addNote(t, s, owner, ana.ID)
		shared := addNote(t, s, owner, ana.ID, bo.ID)
		do(t, s, owner, func(ctx context.Context, u *db.Tx) (string, error) {
			_, id, err := people.Link(ctx, u, ana.ID, bo.ID, people.RelationFriend, false)
			return id, err
		})
		remove := func(confirm string) (out people.Deleted, err error) {
			err = write(t, s, owner, func(ctx context.Context, u *db.Tx) (err error) {
				out, err = people.Delete(ctx, u, kinds.All(), ana.ID, confirm)
				return err
			})
			return out, err
		}
		for _, wrong := range []string{"ana lopez", "Ana", "Ana López", "Ana Lopez."} {
			if _, err := remove(wrong); !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: %v", wrong, err)
			}
		}
		before, err := search.LoadDocuments(t.Context(), s.Tenant(owner, false), -1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := remove(" Ana Lopez\t")
		if err != nil || !got.Deleted || got.Notes != 1 || got.Interactions != 1 || got.ChangeID == "" {
			t.Fatalf("deleted: %+v, %v", got, err)
		}
		if left := onFile(t, s, owner); left["people"] != 1 || left["notes"] != 1 || left["interactions"] != 1 || left["relationships"] != 0 {
			t.Errorf("left: %v", left)
		}
		latest, err := timeline.ListNotes(t.Context(), s.Tenant(owner, false), []string{bo.ID}, 10)
		notes := latest[bo.ID]
		if err != nil || len(notes) != 1 || notes[0].ID != shared || !slices.Equal(notes[0].ConnectionIDs, []string{bo.ID}) {
			t.Errorf("the other's notes: %+v, %v", notes, err)
		}
		// An index drops her without a rebuild.
		after, err := search.LoadDocuments(t.Context(), s.Tenant(owner, false), before.Version)
		if err != nil || after.Whole || len(after.Changed) != 1 || after.Changed[0].ID != ana.ID || !after.Changed[0].Gone {
			t.Errorf("documents: %+v, %v", after, err)
		}
		if later, err := search.LoadDocuments(t.Context(), s.Tenant(owner, false), after.Version); err != nil || later.Whole {
			t.Errorf("later documents: %+v, %v", later, err)
		}
		if again, err := remove("Ana Lopez"); err != nil || again != (people.Deleted{}) {
			t.Errorf("again: %+v, %v", again, err)
		}
	})
}

// Nothing deletes archived people, however long ago they were archived. They can be read,
// exported and restored with everything that is about them.
func TestArchivedPeopleAreKept(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Now().UTC()
		s := dbtest.Open(t, url, func() time.Time { return now })
		owner := dbtest.Member(t, s, "maria")
		ana := create(t, s, owner, people.Draft{Name: "Ana", Emails: []string{"a@x.example"}})
		bo := create(t, s, owner, people.Draft{Name: "Bo"})
		twin := create(t, s, owner, people.Draft{Name: "Ana T", Bio: "Twin"})
		addNote(t, s, owner, ana.ID)
		addNote(t, s, owner, ana.ID, bo.ID)
		merged := merge(t, s, owner, false, ana.ID, twin.ID)
		archived := archive(t, s, owner, true, ana.ID, bo.ID)
		stored := file(t, s, owner)
		counted := onFile(t, s, owner)
		now = now.AddDate(20, 0, 0)
		if _, err := retention.Sweep(t.Context(), s, now); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stored, file(t, s, owner)); diff != "" {
			t.Errorf("a sweep changed archived people:\n%s", diff)
		}
		if diff := cmp.Diff(counted, onFile(t, s, owner)); diff != "" {
			t.Errorf("a sweep changed what is about archived people:\n%s", diff)
		}
		page, _, err := export.ListPeople(t.Context(), s.Tenant(owner, true), export.PeopleFilter{IDs: []string{ana.ID, bo.ID}, Limit: 10, Timeline: true})
		if err != nil || len(page.People) != 2 || len(page.Notes) != 3 || // one tells what the merge left out
			len(page.Interactions) != 2 {
			t.Errorf("export of archived people: %+v, %v", page, err)
		}
		if _, _, err := export.ListPeople(t.Context(), s.Tenant(owner, true), export.PeopleFilter{IDs: []string{twin.ID}, Limit: 10}); !fault.Is(err, fault.Conflict) {
			t.Errorf("export of a merged person: %v", err)
		}
		wantUndone(t, s, owner, archived.ChangeID)
		wantUndone(t, s, owner, merged.ChangeID)
		c, err := people.GetConnection(t.Context(), s.Tenant(owner, false), twin.ID)
		if err != nil || c.Bio != "Twin" || !c.ArchivedAt.IsZero() {
			t.Errorf("the merged person after undo: %+v, %v", c, err)
		}
	})
}
