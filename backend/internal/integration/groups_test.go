package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

func saveGroup(t *testing.T, s *db.DB, owner tenant.ID, p groups.Patch) (out groups.Saved, err error) {
	t.Helper()
	err = write(t, s, owner, func(ctx context.Context, u *db.Tx) (err error) {
		out, err = groups.Save(ctx, u, p)
		return err
	})
	return out, err
}

func updateMembership(t *testing.T, s *db.DB, owner tenant.ID, p groups.MembershipPatch) people.Acted {
	t.Helper()
	var out people.Acted
	err := write(t, s, owner, func(ctx context.Context, u *db.Tx) (err error) {
		out, err = groups.UpdateMembership(ctx, u, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDatesRoundTrip(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		made := create(t, s, owner, people.Draft{Name: "Ana", Dates: []people.DateDraft{
			{Kind: "birthday", Date: "--02-29"}, {Kind: "other", Date: "2019-05", Label: "First day at Helios"}, {Kind: "anniversary", Date: "2012"},
		}})
		got, err := people.GetConnection(t.Context(), s.Tenant(owner, false), made.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(made, got); diff != "" || len(got.Dates) != 3 {
			t.Errorf("made and read differ:\n%s", diff)
		}
		changed, err := update(t, s, owner, people.Patch{ID: made.ID, Dates: people.DateEdit{Replace: []people.DateDraft{{Kind: "anniversary", Date: "2012"}, {Kind: "birthday", Date: "1988-02-29"}}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err = people.GetConnection(t.Context(), s.Tenant(owner, false), made.ID)
		if diff := cmp.Diff(changed.Connection, got); err != nil || diff != "" || got.Dates[0].ID != made.Dates[2].ID {
			t.Errorf("changed and read differ: %v\n%s", err, diff)
		}
	})
}

func TestGroups(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner, other := dbtest.Member(t, s, "maria"), dbtest.Member(t, s, "other")
		if _, err := saveGroup(t, s, other, groups.Patch{Name: new("Chess")}); err != nil {
			t.Fatal(err)
		}
		ana, ben := create(t, s, owner, people.Draft{Name: "Ana"}), create(t, s, owner, people.Draft{Name: "Ben"})
		made, err := saveGroup(t, s, owner, groups.Patch{Name: new("chess"), CadenceDays: new(30)})
		if err != nil || !made.Created {
			t.Fatalf("%+v, %v", made, err)
		}
		if _, err := saveGroup(t, s, owner, groups.Patch{Name: new("Book club"), CadenceDays: new(9)}); err != nil {
			t.Fatal(err)
		}
		since, err := search.LoadDocuments(t.Context(), s.Tenant(owner, true), -1)
		if err != nil {
			t.Fatal(err)
		}
		updateMembership(t, s, owner, groups.MembershipPatch{ConnectionIDs: []string{ana.ID, ben.ID}, AddGroups: []string{"Chess", "book club"}, AddTags: []string{"Rower"}})
		docs, err := search.LoadDocuments(t.Context(), s.Tenant(owner, true), since.Version)
		if err != nil || len(docs.Changed) != 2 || len(docs.Changed[0].Groups) != 2 || docs.Changed[0].Tags[0] != "Rower" {
			t.Errorf("changed documents: %+v, %v", docs, err)
		}
		got, err := people.GetConnection(t.Context(), s.Tenant(owner, true), ana.ID)
		if err != nil || fmt.Sprint(got.Groups) != "[Book club chess]" || got.GroupCadence != 9 || got.Version != 2 {
			t.Errorf("%+v, %v", got, err)
		}
		list, err := groups.ListGroups(t.Context(), s.Tenant(owner, true))
		if err != nil || len(list) != 2 || list[0].Name != "Book club" || searchIndex(t, s, owner).Summary().Count(index.Groups, "Book club") != 2 || list[1].ID != made.Group.ID {
			t.Errorf("groups %+v, %v", list, err)
		}
		if _, err := saveGroup(t, s, owner, groups.Patch{ID: made.Group.ID, Name: new("Go")}); err != nil {
			t.Fatal(err)
		}
		renamed, err := search.LoadDocuments(t.Context(), s.Tenant(owner, true), docs.Version)
		if err != nil || len(renamed.Changed) != 2 || !strings.Contains(fmt.Sprint(renamed.Changed[0].Groups), "Go") {
			t.Errorf("renamed: %+v, %v", renamed, err)
		}
		// Replacing a person leaves their groups alone.
		if _, err := update(t, s, owner, people.Patch{ID: ana.ID, Name: new("Anna")}); err != nil {
			t.Fatal(err)
		}
		if got, err := people.GetConnection(t.Context(), s.Tenant(owner, true), ana.ID); err != nil || len(got.Groups) != 2 || len(got.Tags) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		changes := updateMembership(t, s, owner, groups.MembershipPatch{ConnectionIDs: []string{ben.ID}, RemoveGroups: []string{"Go"}})
		if len(changes.Changed) != 1 {
			t.Errorf("left: %+v", changes)
		}
		if tags, err := groups.ListTags(t.Context(), s.Tenant(owner, true), 1); err != nil || len(tags) != 1 || tags[0] != (groups.Tag{Name: "Rower", People: 2}) {
			t.Errorf("tags %+v, %v", tags, err)
		}
	})
}

// Of writers that make a group of one name at once, one makes it; of those that
// change one version, one does.
func TestGroupsUnderConcurrency(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		errs := together(8, func(n int) error {
			_, err := saveGroup(t, s, owner, groups.Patch{Name: new("Chess"), Description: new(fmt.Sprint(n))})
			return err
		})
		for n, err := range errs {
			if err != nil {
				t.Errorf("%d: %v", n, err)
			}
		}
		list, err := groups.ListGroups(t.Context(), s.Tenant(owner, true))
		if err != nil || len(list) != 1 || list[0].Version != 8 {
			t.Fatalf("%+v, %v", list, err)
		}
		won := 0
		for _, err := range together(8, func(n int) error {
			_, err := saveGroup(t, s, owner, groups.Patch{ID: list[0].ID, Name: new(fmt.Sprint("Chess ", n)), ExpectedVersion: new(int32(8))})
			return err
		}) {
			switch {
			case err == nil:
				won++
			case !fault.Is(err, fault.Conflict):
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d won", won)
		}
	})
}

// Fifty people take no more statements than one: the time must not grow with them.
func TestMembershipOfFifty(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		var ids []string
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			for n := range 50 {
				made, err := people.Create(ctx, u, people.Draft{Name: fmt.Sprint("Person ", n)})
				if err != nil {
					return err
				}
				ids = append(ids, made.Connection.ID)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := saveGroup(t, s, owner, groups.Patch{Name: new("All")}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		got := updateMembership(t, s, owner, groups.MembershipPatch{ConnectionIDs: ids, AddGroups: []string{"All"}, AddTags: []string{"a", "b", "c"}})
		if len(got.Changed) != 50 {
			t.Errorf("%+v", got)
		}
		t.Logf("fifty people took %v", time.Since(began))
		changes := latestChange(t, s, owner)
		if len(changes.Effects) != 100 {
			t.Errorf("%d effects", len(changes.Effects))
		}
	})
}
