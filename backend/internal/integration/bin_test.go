package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/retention"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"pgregory.net/rapid"
)

// remove deletes a person as an agent does, and returns the change.
func remove(t testing.TB, s *db.DB, owner tenant.ID, id string) string {
	t.Helper()
	got := do(t, s, owner, func(ctx context.Context, u *db.Tx) (people.Deleted, error) {
		c, err := people.GetConnection(ctx, u, id)
		if err != nil {
			return people.Deleted{}, err
		}
		return people.Delete(ctx, u, kinds.All(), id, c.Name)
	})
	if !got.Deleted || got.ChangeID == "" || got.FinalAt.IsZero() {
		t.Fatalf("deleted: %+v", got)
	}
	return got.ChangeID
}

// bin returns the ids of the deletions that can still be undone, the latest first.
func bin(t testing.TB, s *db.DB, owner tenant.ID) []string {
	t.Helper()
	changes, err := history.ListChanges(t.Context(), s.Tenant(owner, true), history.Query{Limit: 1000, InBin: true})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, c := range changes {
		ids = append(ids, c.ID)
	}
	return ids
}

// A deletion removes a person and everything that is only about them, an undo restores all
// of it, the undo of the undo removes it again, and so on.
func TestUndoOfADeletionRestoresEverything(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		s := dbtest.Open(t, url, time.Now)
		db := dbtest.OpenSQL(t, url)
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
			exec(t, db, fmt.Sprintf("INSERT INTO source_keys (tenant_id, key, connection_id, import_id, name) VALUES ('%s', 'key', '%s', 'imp_1', '')", owner, ids[0]))
			keys := rowsOf(t, db, "source_keys")
			if rapid.Bool().Draw(rt, "archive") {
				archive(t, s, owner, true, ids[0])
			}
			before := withoutTimes(file(t, s, owner))
			undone := remove(t, s, owner, ids[0])
			deleted := file(t, s, owner)
			if strings.Contains(fmt.Sprint(deleted), ids[0]) || !slices.Equal(bin(t, s, owner), []string{undone}) {
				rt.Fatalf("left: %v; bin %v", deleted, bin(t, s, owner))
			}
			for range 2 {
				redone := wantUndone(t, s, owner, undone)
				if diff := cmp.Diff(before, withoutTimes(file(t, s, owner))); diff != "" || len(bin(t, s, owner)) != 0 {
					rt.Fatalf("the undo left (-before +after):\n%s", diff)
				}
				if diff := cmp.Diff(keys, rowsOf(t, db, "source_keys")); diff != "" {
					rt.Fatalf("source keys:\n%s", diff)
				}
				deletion := undone
				undone = wantUndone(t, s, owner, redone)
				if diff := cmp.Diff(deleted, file(t, s, owner)); diff != "" || len(bin(t, s, owner)) != 1 {
					rt.Fatalf("after %s (-deleted +deleted again):\n%s", deletion, diff)
				}
			}
			exec(t, db, "DELETE FROM source_keys")
		})
	})
}

// wellKnown gives a member a person with every kind of data, in which every word is a
// secret, and two others who share some of it.
func wellKnown(t *testing.T, s *db.DB, owner tenant.ID) (id, friend string) {
	t.Helper()
	draft := people.Draft{
		Name: "Xylo Phone", Bio: "xylophone", Emails: []string{"xylophone@x.example"}, MetHow: "xylophone",
		Dates: []people.DateDraft{{Kind: people.DateOther, Label: "xylophone", Date: "2020-02-02"}},
	}
	id = create(t, s, owner, draft).ID
	draft.Emails, draft.OnDuplicate = []string{"xylophone2@x.example"}, people.OnDuplicateCreate
	duplicate := create(t, s, owner, draft).ID
	friend = create(t, s, owner, people.Draft{Name: "Friend"}).ID
	third := create(t, s, owner, people.Draft{Name: "Third"}).ID
	if _, err := update(t, s, owner, people.Patch{ID: id, Bio: new("xylophone of old")}); err != nil {
		t.Fatal(err)
	}
	do(t, s, owner, func(ctx context.Context, u *db.Tx) (any, error) {
		if _, _, err := timeline.AddNote(ctx, u, timeline.Note{Body: "xylophone", ConnectionIDs: []string{duplicate}}); err != nil {
			return nil, err
		}
		if _, _, err := timeline.AddNote(ctx, u, timeline.Note{Body: "shared", ConnectionIDs: []string{id, friend, third}}); err != nil {
			return nil, err
		}
		if _, _, err := people.Link(ctx, u, id, friend, people.RelationFriend, false); err != nil {
			return nil, err
		}
		if _, err := timeline.LogInteractions(ctx, u, timeline.Interaction{Kind: "call", Summary: "xylophone", ConnectionIDs: []string{id}}); err != nil {
			return nil, err
		}
		if _, _, err := reminders.Create(ctx, u, reminders.Reminder{Text: "xylophone", DueOn: "2040-01-01", ConnectionIDs: []string{id}}, u.Now()); err != nil {
			return nil, err
		}
		return arrange(ctx, u, id, "marimba")
	})
	merge(t, s, owner, false, id, duplicate)
	return id, friend
}

// wantForgotten fails when the record still holds something of the person.
func wantForgotten(t *testing.T, s *db.DB, url string, owner tenant.ID, id, deletion string) {
	t.Helper()
	for _, row := range rowsOf(t, dbtest.OpenSQL(t, url), "changes") {
		if strings.Contains(strings.ToLower(row), "xylo") && strings.Contains(row, string(owner)) {
			t.Errorf("left: %s", row)
		}
	}
	changes, err := history.ListChanges(t.Context(), s.Tenant(owner, true), history.Query{Limit: 1000, ObjectIDs: []string{id}})
	if err != nil || len(changes) < 5 {
		t.Errorf("%d changes of the person are listed, %v", len(changes), err)
	}
	err = write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
		_, err := history.Undo(ctx, u, kinds.All(), deletion, false)
		return err
	})
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "deleted for good") {
		t.Errorf("undo: %v", err)
	}
}

// After 30 days, or when the member empties the bin, a deletion becomes final: no copy of
// the person stays, and no undo restores them. Changes of other people, and other members'
// data, stay.
func TestTheEndOfADeletion(t *testing.T) {
	t.Parallel()
	type ending func(t *testing.T, s *db.DB, owner tenant.ID, deletion string, advance func(time.Duration) time.Time)
	for name, end := range map[string]ending{
		"sweep": func(t *testing.T, s *db.DB, _ tenant.ID, _ string, advance func(time.Duration) time.Time) {
			for _, step := range []struct {
				after time.Duration
				ended int64
			}{{29 * 24 * time.Hour, 0}, {25 * time.Hour, 2}, {0, 0}} {
				if r, err := retention.Sweep(t.Context(), s, advance(step.after)); err != nil || r.Deletions != step.ended {
					t.Errorf("after %v: %+v, %v", step.after, r, err)
				}
			}
		},
		"one by hand": func(t *testing.T, s *db.DB, owner tenant.ID, deletion string, _ func(time.Duration) time.Time) {
			if err := history.EndDeletion(t.Context(), s.Tenant(owner, false), "settings/bin", deletion); err != nil {
				t.Error(err)
			}
			if err := history.EndDeletion(t.Context(), s.Tenant(owner, false), "settings/bin", deletion); !fault.Is(err, fault.NotFound) {
				t.Errorf("again: %v", err)
			}
		},
		"all by hand": func(t *testing.T, s *db.DB, owner tenant.ID, deletion string, _ func(time.Duration) time.Time) {
			later := remove(t, s, owner, create(t, s, owner, people.Draft{Name: "Deleted meanwhile"}).ID)
			if n, err := history.EmptyBin(t.Context(), s.Tenant(owner, false), "settings/bin", deletion); n != 1 || err != nil {
				t.Errorf("emptied %d, %v", n, err)
			}
			if got := bin(t, s, owner); !slices.Equal(got, []string{later}) {
				t.Errorf("in the bin: %v, not %s", got, later)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Databases(t, func(t *testing.T, url string) {
				now := time.Now()
				s := dbtest.Open(t, url, func() time.Time { return now })
				owner, other := dbtest.Member(t, s, "maria"), dbtest.Member(t, s, "other")
				id, friend := wellKnown(t, s, owner)
				theirs, _ := wellKnown(t, s, other)
				remove(t, s, other, theirs)
				deletion := remove(t, s, owner, id)
				before := file(t, s, owner)
				end(t, s, owner, deletion, func(d time.Duration) time.Time {
					now = now.Add(d)
					return now
				})
				wantForgotten(t, s, url, owner, id, deletion)
				if diff := cmp.Diff(before, file(t, s, owner)); diff != "" {
					t.Errorf("what stays changed:\n%s", diff)
				}
				if left := len(bin(t, s, other)); left != 1 && name != "sweep" {
					t.Errorf("another member's bin holds %d", left)
				}
				wantUndone(t, s, owner, remove(t, s, owner, friend))
				if diff := cmp.Diff(before, file(t, s, owner)); diff != "" {
					t.Errorf("a friend is not as before:\n%s", diff)
				}
			})
		})
	}
}

// A person can be restored even if one friend was deleted before and another one after,
// once these two are permanently deleted.
func TestDeletionsOfFriendsEndOneByOne(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		ana, bo, cy := create(t, s, owner, people.Draft{Name: "Ana"}).ID, create(t, s, owner, people.Draft{Name: "Bo"}).ID, create(t, s, owner, people.Draft{Name: "Cy"}).ID
		do(t, s, owner, func(ctx context.Context, u *db.Tx) (any, error) {
			for _, other := range []string{bo, cy} {
				if _, _, err := people.Link(ctx, u, ana, other, people.RelationFriend, false); err != nil {
					return nil, err
				}
			}
			_, _, err := timeline.AddNote(ctx, u, timeline.Note{Body: "n", ConnectionIDs: []string{ana, bo, cy}})
			return nil, err
		})
		first := remove(t, s, owner, bo)
		second := remove(t, s, owner, ana)
		third := remove(t, s, owner, cy)
		if got := undo(t, s, owner, second); len(got.Conflicts) == 0 {
			t.Fatalf("the note is gone with Cy: %+v", got)
		}
		for _, deletion := range []string{first, third} {
			if err := history.EndDeletion(t.Context(), s.Tenant(owner, false), "settings/bin", deletion); err != nil {
				t.Fatal(err)
			}
		}
		wantUndone(t, s, owner, second)
		if c, err := people.GetConnection(t.Context(), s.Tenant(owner, false), ana); err != nil || c.Name != "Ana" {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

// When an undo and the end of a deletion happen at once, exactly one of them succeeds.
func TestUndoWhileADeletionEnds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		for range 5 {
			id := create(t, s, owner, people.Draft{Name: "Ana", Bio: "x", OnDuplicate: people.OnDuplicateCreate}).ID
			deletion := remove(t, s, owner, id)
			errs := together(6, func(n int) error {
				if n%2 == 0 {
					return history.EndDeletion(t.Context(), s.Tenant(owner, false), "settings/bin", deletion)
				}
				_, err := history.UndoChange(t.Context(), s.Tenant(owner, false), kinds.All(), "settings/bin", deletion, false)
				return err
			})
			c, err := people.GetConnection(t.Context(), s.Tenant(owner, false), id)
			ended := errs[0] == nil || errs[2] == nil || errs[4] == nil
			if ended != fault.Is(err, fault.NotFound) || err == nil && c.Bio != "x" || len(bin(t, s, owner)) != 0 {
				t.Errorf("ended %v, %+v, %v; %v", ended, c, err, errs)
			}
		}
	})
}

// Concurrent deletions and undos of one person each succeed as a whole or are refused: the
// person exists, or is in the bin once.
func TestDeletionsAndUndosAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		id := create(t, s, owner, people.Draft{Name: "Ana", Emails: []string{"a@x.example"}}).ID
		addNote(t, s, owner, id)
		before := file(t, s, owner)
		first := remove(t, s, owner, id)
		for _, err := range together(10, func(n int) error {
			if n%2 == 0 {
				return s.Tenant(owner, false).Write(t.Context(), db.Actor{Tool: "delete_connection"}, func(ctx context.Context, u *db.Tx) error {
					_, err := people.Delete(ctx, u, kinds.All(), id, "Ana")
					return err
				})
			}
			_, err := history.UndoChange(t.Context(), s.Tenant(owner, false), kinds.All(), "settings/bin", first, false)
			return err
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		switch left := bin(t, s, owner); len(left) {
		case 1:
			wantUndone(t, s, owner, left[0])
		case 0:
		default:
			t.Errorf("%d deletions are in force", len(left))
		}
		if diff := cmp.Diff(before, file(t, s, owner)); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	})
}
