package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"pgregory.net/rapid"
)

// do runs fn in a write of a member and fails the test on an error.
func do[T any](t testing.TB, s *db.DB, owner tenant.ID, fn func(context.Context, *db.Tx) (T, error)) T {
	t.Helper()
	var out T
	err := s.Tenant(owner, false).Write(t.Context(), db.Actor{CredentialID: "pat_test", Tool: "test"}, func(ctx context.Context, u *db.Tx) (err error) {
		out, err = fn(ctx, u)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func undo(t testing.TB, s *db.DB, owner tenant.ID, id string) history.Undone {
	t.Helper()
	return do(t, s, owner, func(ctx context.Context, u *db.Tx) (history.Undone, error) {
		return history.Undo(ctx, u, kinds.All(), id, false)
	})
}

// wantUndone undoes a change that must have no conflicts.
func wantUndone(t testing.TB, s *db.DB, owner tenant.ID, id string) string {
	t.Helper()
	got := undo(t, s, owner, id)
	if len(got.Conflicts) > 0 || got.AlreadyUndone || got.ChangeID == "" || len(got.Restored) == 0 {
		t.Fatalf("undo %s: %+v", id, got)
	}
	return got.ChangeID
}

func merge(t testing.TB, s *db.DB, owner tenant.ID, dryRun bool, into string, from ...string) people.Merged {
	t.Helper()
	return mergeAll(t, s, owner, dryRun, []people.MergeInto{{Into: into, From: from}})
}

func mergeAll(t testing.TB, s *db.DB, owner tenant.ID, dryRun bool, merges []people.MergeInto) people.Merged {
	t.Helper()
	return do(t, s, owner, func(ctx context.Context, u *db.Tx) (people.Merged, error) {
		return people.Merge(ctx, u, merges, dryRun, timeline.StoreNote, func(context.Context, []people.MergedPerson) error { return nil })
	})
}

// For any merges, an undo restores the state before it, the undo of the undo restores the
// merged state, and a dry run changes nothing.
func TestUndoOfAMergeRestoresEverything(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			if n++; n > networks {
				return
			}
			owner := dbtest.Member(t, s, fmt.Sprintf("maria-%d", n))
			ids := network(rt, t, s, owner)
			first := rapid.IntRange(2, len(ids)).Draw(rt, "merged")
			merges := []people.MergeInto{{Into: ids[0], From: ids[1:first]}}
			if rest := ids[first:]; len(rest) > 1 {
				merges = append(merges, people.MergeInto{Into: rest[0], From: rest[1:]})
			}
			before := file(t, s, owner)
			preview := mergeAll(t, s, owner, true, merges)
			if diff := cmp.Diff(before, file(t, s, owner)); diff != "" {
				rt.Fatalf("a dry run changed:\n%s", diff)
			}
			done := mergeAll(t, s, owner, false, merges)
			if preview.ChangeID != "" || done.ChangeID == "" || preview.Moved != done.Moved || len(preview.People[0].Conflicts) != len(done.People[0].Conflicts) {
				rt.Fatalf("preview %+v, done %+v", preview, done)
			}
			merged := file(t, s, owner)
			for _, one := range merges {
				for _, id := range one.From {
					if c, err := people.GetConnection(t.Context(), s.Tenant(owner, false), id); err != nil || c.MergedInto != one.Into || len(c.Handles)+len(c.Tags)+len(c.Addresses)+len(c.Accounts)+len(c.Fields)+len(c.Related) > 0 {
						rt.Fatalf("merged away: %+v, %v", c, err)
					}
				}
			}
			undone := wantUndone(t, s, owner, done.ChangeID)
			if diff := cmp.Diff(before, file(t, s, owner)); diff != "" {
				rt.Fatalf("the undo left (-before +after):\n%s", diff)
			}
			wantUndone(t, s, owner, undone)
			if diff := cmp.Diff(withoutTimes(merged), withoutTimes(file(t, s, owner))); diff != "" {
				rt.Fatalf("the undo of the undo left (-merged +after):\n%s", diff)
			}
		})
	})
}

// withoutTimes leaves out when people were archived: a redo sets a new time.
func withoutTimes(file []string) []string {
	var out []string
	for _, object := range file {
		out = append(out, withoutTime(object, "archived_at"))
	}
	return out
}

// withoutTime leaves a field out of an object of a file.
func withoutTime(object, field string) string {
	lines := strings.Split(object, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, `"`+field+`"`) }), "\n")
}

// Undoing any sequence of writes from the last to the first restores the original state.
func TestUndoOfEverythingLeavesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			if n++; n > networks {
				return
			}
			owner := dbtest.Member(t, s, fmt.Sprintf("maria-%d", n))
			ids := network(rt, t, s, owner)
			if rapid.Bool().Draw(rt, "merge") {
				merge(t, s, owner, false, ids[0], ids[1])
			}
			do(t, s, owner, func(ctx context.Context, u *db.Tx) (people.Acted, error) {
				return people.Archive(ctx, u, ids[:1], true, false)
			})
			changes, err := history.ListChanges(t.Context(), s.Tenant(owner, false), history.Query{Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes {
				wantUndone(t, s, owner, c.ID)
			}
			if left := file(t, s, owner); len(left) > 0 {
				rt.Fatalf("left: %v", left)
			}
			after, err := history.ListChanges(t.Context(), s.Tenant(owner, false), history.Query{Limit: 1000})
			if err != nil || len(after) != 2*len(changes) {
				t.Fatalf("%d changes, %v", len(after), err)
			}
			for _, c := range after {
				if (c.UndoneBy == "") == (c.Undoes == "") {
					rt.Fatalf("change %s is undone by %q and undoes %q", c.ID, c.UndoneBy, c.Undoes)
				}
			}
		})
	})
}

func TestUndoConflicts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		made := createWritten(t, s, owner, people.Draft{Name: "Ana", Emails: []string{"ana@x.example"}})
		id := made.Connection.ID
		changed, err := update(t, s, owner, people.Patch{ID: id, Bio: new("x")})
		if err != nil {
			t.Fatal(err)
		}
		wantConflict := func(changeID, reason string) {
			t.Helper()
			before := file(t, s, owner)
			got := undo(t, s, owner, changeID)
			if len(got.Conflicts) == 0 || !strings.Contains(got.Conflicts[0].Reason, reason) || got.ChangeID != "" || len(got.Restored) > 0 {
				t.Errorf("want %q: %+v", reason, got)
			}
			if diff := cmp.Diff(before, file(t, s, owner)); diff != "" {
				t.Errorf("something was undone:\n%s", diff)
			}
		}
		wantConflict(made.ChangeID, "changed since: bio")
		first := wantUndone(t, s, owner, changed.ChangeID)
		if again := undo(t, s, owner, changed.ChangeID); !again.AlreadyUndone || again.ChangeID != "" {
			t.Errorf("a second time: %+v", again)
		}
		note := do(t, s, owner, func(ctx context.Context, u *db.Tx) (string, error) {
			_, changeID, err := timeline.AddNote(ctx, u, timeline.Note{Body: "n", ConnectionIDs: []string{id}})
			return changeID, err
		})
		wantConflict(made.ChangeID, "note about them")
		// The undo of the undo puts the bio back, and the change is in force again.
		second := wantUndone(t, s, owner, first)
		c, err := people.GetConnection(t.Context(), s.Tenant(owner, false), id)
		if err != nil || c.Bio != "x" || c.Version != 4 {
			t.Errorf("redone: %+v, %v", c, err)
		}
		third := wantUndone(t, s, owner, changed.ChangeID)
		wantConflict(second, "changed since: bio")
		wantUndone(t, s, owner, note)
		gone := wantUndone(t, s, owner, made.ChangeID)
		wantConflict(third, "no longer exists")
		if _, err := people.GetConnection(t.Context(), s.Tenant(owner, false), id); !fault.Is(err, fault.NotFound) {
			t.Errorf("the creation was undone: %v", err)
		}
		wantUndone(t, s, owner, gone)
		if c, err := people.GetConnection(t.Context(), s.Tenant(owner, false), id); err != nil || c.Handles[0].Value != "ana@x.example" {
			t.Errorf("the creation is in force again: %+v, %v", c, err)
		}
		for name, changeID := range map[string]string{"no change": "chg_lt796ft723"} {
			err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
				_, err := history.Undo(ctx, u, kinds.All(), changeID, false)
				return err
			})
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A merge drops no text: bios are joined, and a note keeps the values of which only one can stay.
// An undo removes the note again.
func TestMergeKeepsTexts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		data := s.Tenant(owner, false)
		draft := func(name, nickname, location, bio, met, birthday string) string {
			return create(t, s, owner, people.Draft{
				Name: name, Nickname: nickname, Location: location, Bio: bio, MetHow: met, OnDuplicate: people.OnDuplicateCreate,
				Dates: []people.DateDraft{{Kind: people.DateBirthday, Date: birthday}},
			}).ID
		}
		into := draft("Ana", "Annie", "Porto", "Sings.", "At school", "--02-03")
		from := draft("Ana Lopez", "Anita", "Faro", "Paints.", "At a fair", "--02-04")
		long := draft("A. Lopez", "Ani", "Lagos", strings.Repeat("ü", 1999), "On a train", "--02-05")
		before := file(t, s, owner)
		done := mergeAll(t, s, owner, false, []people.MergeInto{{Into: into, From: []string{from, long}, MergeChoices: people.MergeChoices{Take: []string{"location"}}}})
		c, err := people.GetConnection(t.Context(), data, into)
		if err != nil || c.Bio != "Sings.\n\nPaints." || c.Location != "Lagos" || c.Name != "Ana" {
			t.Fatalf("merged: %+v, %v", c, err)
		}
		notes, err := timeline.ListNotes(t.Context(), data, []string{into}, 10)
		if err != nil {
			t.Fatal(err)
		}
		var kept string
		for _, n := range notes[into] {
			kept += n.Body + "\n"
		}
		for _, lost := range []string{
			"Name: Ana Lopez\n", "Name: A. Lopez\n", "Nickname: Anita", "Nickname: Ani\n", "Place: Porto", "Place: Faro", "About: " + strings.Repeat("ü", 1999),
			"How you met: At a fair", "How you met: On a train", "Birthday: --02-04", "Birthday: --02-05",
		} {
			if !strings.Contains(kept, lost) {
				t.Errorf("the notes do not keep %.40q: %s", lost, kept)
			}
		}
		wantUndone(t, s, owner, done.ChangeID)
		if notes, err := timeline.ListNotes(t.Context(), data, []string{into}, 10); err != nil || len(notes[into]) != 0 {
			t.Errorf("notes after the undo: %+v, %v", notes, err)
		}
		after := file(t, s, owner)
		for i := range before {
			if withoutTime(before[i], "updated_at") != withoutTime(after[i], "updated_at") {
				t.Errorf("before %s\nafter %s", before[i], after[i])
			}
		}
	})
}
