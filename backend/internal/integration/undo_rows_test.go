package integration_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/people"
)

// A merge moves rows. If the person that stays was changed since, the undo returns a
// conflict, even though the merged people's rows still exist.
func TestUndoOfAMergeThatIsNotTheLastWord(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		from := createWritten(t, s, owner, people.Draft{
			Name: "Ana Lopez", Organization: "Helios", Emails: []string{"ana@x.example"}, Dates: []people.DateDraft{{Kind: people.DateBirthday, Date: "--02-28"}},
		}).Connection.ID
		into := createWritten(t, s, owner, people.Draft{Name: "Ana Lopes"}).Connection.ID
		merged := merge(t, s, owner, false, into, from)
		changed, err := update(t, s, owner, people.Patch{ID: into, Emails: people.Edit{Add: []string{"lopes@x.example"}}})
		if err != nil {
			t.Fatal(err)
		}
		before := file(t, s, owner)
		got := undo(t, s, owner, merged.ChangeID)
		if len(got.Conflicts) != 1 || got.Conflicts[0].ID != into || !strings.Contains(got.Conflicts[0].Reason, "changed since: emails") || got.ChangeID != "" {
			t.Errorf("got %+v", got)
		}
		if diff := cmp.Diff(before, file(t, s, owner)); diff != "" {
			t.Errorf("something was undone:\n%s", diff)
		}
		wantUndone(t, s, owner, changed.ChangeID)
		wantUndone(t, s, owner, merged.ChangeID)
	})
}

// An undo does not take a row that moved on to another person: the restored person gets a
// new row.
func TestUndoOfRowsThatMovedToAnotherPerson(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		from := createWritten(t, s, owner, people.Draft{Name: "Ana Lopez", Emails: []string{"ana@x.example"}}).Connection.ID
		into := createWritten(t, s, owner, people.Draft{Name: "Ana Lopes"}).Connection.ID
		merged := merge(t, s, owner, false, into, from)
		edit := func(e people.Edit) string {
			t.Helper()
			written, err := update(t, s, owner, people.Patch{ID: into, Emails: e})
			if err != nil {
				t.Fatal(err)
			}
			return written.ChangeID
		}
		removed := edit(people.Edit{Remove: []string{"ana@x.example"}})
		edit(people.Edit{Add: []string{"ana@x.example"}})
		wantUndone(t, s, owner, merged.ChangeID) // as the merge left it, but for the row
		wantUndone(t, s, owner, removed)
		for _, id := range []string{from, into} {
			c, err := people.GetConnection(t.Context(), s.Tenant(owner, false), id)
			if err != nil || len(c.Handles) != 1 || c.Handles[0].Value != "ana@x.example" {
				t.Errorf("%s: %+v, %v", id, c, err)
			}
		}
	})
}

// A person whom an undo archives again has the same archiving change as before, with a new
// archive time.
func TestArchivalThatWasRedoneIsUndone(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		id := createWritten(t, s, owner, people.Draft{Name: "Ana"}).Connection.ID
		archived := do(t, s, owner, func(ctx context.Context, u *db.Tx) (people.Acted, error) {
			return people.Archive(ctx, u, []string{id}, true, false)
		})
		wantUndone(t, s, owner, wantUndone(t, s, owner, archived.ChangeID))
		wantUndone(t, s, owner, archived.ChangeID)
		if c, err := people.GetConnection(t.Context(), s.Tenant(owner, false), id); err != nil || !c.ArchivedAt.IsZero() {
			t.Errorf("%+v, %v", c, err)
		}
	})
}
