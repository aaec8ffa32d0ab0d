package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/storetest"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

func saveGroup(t *testing.T, s *store.Store, owner tenant.ID, p organize.Patch) (out organize.Saved, err error) {
	t.Helper()
	err = write(t, s, owner, func(ctx context.Context, u *store.Unit) (err error) {
		out, err = organize.Save(ctx, u, p)
		return err
	})
	return out, err
}

func updateMembership(t *testing.T, s *store.Store, owner tenant.ID, p organize.MembershipPatch) organize.Moved {
	t.Helper()
	var out organize.Moved
	err := write(t, s, owner, func(ctx context.Context, u *store.Unit) (err error) {
		out, err = organize.UpdateMembership(ctx, u, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDatesRoundTrip(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		owner := storetest.Member(t, s, "maria")
		made := create(t, s, owner, connection.Draft{Name: "Ana", Dates: []connection.DateDraft{
			{Kind: "birthday", Date: "--02-29"}, {Kind: "other", Date: "2019-05", Label: "First day at Helios"}, {Kind: "anniversary", Date: "2012"},
		}})
		got, err := s.Tenant(owner, false).GetConnection(t.Context(), made.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(made, got); diff != "" || len(got.Dates) != 3 {
			t.Errorf("made and read differ:\n%s", diff)
		}
		changed, err := update(t, s, owner, connection.Patch{ID: made.ID, Dates: connection.DateEdit{Replace: []connection.DateDraft{{Kind: "anniversary", Date: "2012"}, {Kind: "birthday", Date: "1988-02-29"}}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err = s.Tenant(owner, false).GetConnection(t.Context(), made.ID)
		if diff := cmp.Diff(changed.Connection, got); err != nil || diff != "" || got.Dates[0].ID != made.Dates[2].ID {
			t.Errorf("changed and read differ: %v\n%s", err, diff)
		}
	})
}

func TestGroups(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		owner, other := storetest.Member(t, s, "maria"), storetest.Member(t, s, "other")
		if _, err := saveGroup(t, s, other, organize.Patch{Name: new("Chess")}); err != nil {
			t.Fatal(err)
		}
		ana, ben := create(t, s, owner, connection.Draft{Name: "Ana"}), create(t, s, owner, connection.Draft{Name: "Ben"})
		made, err := saveGroup(t, s, owner, organize.Patch{Name: new("chess"), CadenceDays: new(30)})
		if err != nil || !made.Created {
			t.Fatalf("%+v, %v", made, err)
		}
		if _, err := saveGroup(t, s, owner, organize.Patch{Name: new("Book club"), CadenceDays: new(9)}); err != nil {
			t.Fatal(err)
		}
		since, err := s.Tenant(owner, true).LoadDocuments(t.Context(), -1)
		if err != nil {
			t.Fatal(err)
		}
		updateMembership(t, s, owner, organize.MembershipPatch{ConnectionIDs: []string{ana.ID, ben.ID}, AddGroups: []string{"Chess", "book club"}, AddTags: []string{"Rower"}})
		docs, err := s.Tenant(owner, true).LoadDocuments(t.Context(), since.Version)
		if err != nil || len(docs.Changed) != 2 || len(docs.Changed[0].Groups) != 2 || docs.Changed[0].Tags[0] != "Rower" {
			t.Errorf("changed documents: %+v, %v", docs, err)
		}
		got, err := s.Tenant(owner, true).GetConnection(t.Context(), ana.ID)
		if err != nil || fmt.Sprint(got.Groups) != "[Book club chess]" || got.GroupCadence != 9 || got.Version != 2 {
			t.Errorf("%+v, %v", got, err)
		}
		groups, err := s.Tenant(owner, true).ListGroups(t.Context())
		if err != nil || len(groups) != 2 || groups[0].Name != "Book club" || groups[0].People != 2 || groups[1].ID != made.Group.ID {
			t.Errorf("groups %+v, %v", groups, err)
		}
		if _, err := saveGroup(t, s, owner, organize.Patch{ID: made.Group.ID, Name: new("Go")}); err != nil {
			t.Fatal(err)
		}
		renamed, err := s.Tenant(owner, true).LoadDocuments(t.Context(), docs.Version)
		if err != nil || len(renamed.Changed) != 2 || !strings.Contains(fmt.Sprint(renamed.Changed[0].Groups), "Go") {
			t.Errorf("renamed: %+v, %v", renamed, err)
		}
		// Replacing a person leaves their groups alone.
		if _, err := update(t, s, owner, connection.Patch{ID: ana.ID, Name: new("Anna")}); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Tenant(owner, true).GetConnection(t.Context(), ana.ID); err != nil || len(got.Groups) != 2 || len(got.Tags) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		changes := updateMembership(t, s, owner, organize.MembershipPatch{ConnectionIDs: []string{ben.ID}, RemoveGroups: []string{"Go"}})
		if changes.Changed != 1 {
			t.Errorf("left: %+v", changes)
		}
		if tags, err := s.Tenant(owner, true).ListTags(t.Context(), 1); err != nil || len(tags) != 1 || tags[0] != (organize.Tag{Name: "Rower", People: 2}) {
			t.Errorf("tags %+v, %v", tags, err)
		}
	})
}

// Of writers that make a group of one name at once, one makes it; of those that
// change one version, one does.
func TestGroupsUnderConcurrency(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		owner := storetest.Member(t, s, "maria")
		errs := together(8, func(n int) error {
			_, err := saveGroup(t, s, owner, organize.Patch{Name: new("Chess"), Description: new(fmt.Sprint(n))})
			return err
		})
		for n, err := range errs {
			if err != nil {
				t.Errorf("%d: %v", n, err)
			}
		}
		groups, err := s.Tenant(owner, true).ListGroups(t.Context())
		if err != nil || len(groups) != 1 || groups[0].Version != 8 {
			t.Fatalf("%+v, %v", groups, err)
		}
		won := 0
		for _, err := range together(8, func(n int) error {
			_, err := saveGroup(t, s, owner, organize.Patch{ID: groups[0].ID, Name: new(fmt.Sprint("Chess ", n)), ExpectedVersion: new(int32(8))})
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
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		owner := storetest.Member(t, s, "maria")
		var ids []string
		err := write(t, s, owner, func(ctx context.Context, u *store.Unit) error {
			for n := range 50 {
				made, err := connection.Create(ctx, u, connection.Draft{Name: fmt.Sprint("Person ", n)})
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
		if _, err := saveGroup(t, s, owner, organize.Patch{Name: new("All")}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		got := updateMembership(t, s, owner, organize.MembershipPatch{ConnectionIDs: ids, AddGroups: []string{"All"}, AddTags: []string{"a", "b", "c"}})
		if got.Changed != 50 {
			t.Errorf("%+v", got)
		}
		t.Logf("fifty people took %v", time.Since(began))
		changes := latestChange(t, s, owner)
		if len(changes.Effects) != 100 {
			t.Errorf("%d effects", len(changes.Effects))
		}
	})
}
