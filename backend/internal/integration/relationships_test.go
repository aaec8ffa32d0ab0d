package integration_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// A relationship is visible from both sides, can be set from either, and is stored once.
func TestRelationships(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		ana := create(t, s, owner, people.Draft{Name: "Ana"}).ID
		bo := create(t, s, owner, people.Draft{Name: "Bo"}).ID
		for _, c := range []struct{ relation, inverse, again string }{
			{people.RelationManager, people.RelationReport, ""},
			{people.RelationParent, people.RelationChild, people.RelationChild},
			{people.RelationIntroducedBy, people.RelationIntroduced, ""},
			{people.RelationSpouse, people.RelationSpouse, people.RelationSpouse},
			{people.RelationFriend, people.RelationFriend, people.RelationFriend},
		} {
			link := func(from, to, relation string, remove bool) (relations []people.Relation, changeID string) {
				t.Helper()
				do(t, s, owner, func(ctx context.Context, u *db.Tx) (_ any, err error) {
					relations, changeID, err = people.Link(ctx, u, from, to, relation, remove)
					return nil, err
				})
				return relations, changeID
			}
			if _, id := link(ana, bo, c.relation, true); id != "" {
				t.Errorf("%s: removing nothing is change %s", c.relation, id)
			}
			made, changeID := link(ana, bo, c.relation, false)
			if diff := cmp.Diff([]people.Relation{{ConnectionID: bo, Name: "Bo", Type: c.relation}}, made); diff != "" || changeID == "" {
				t.Errorf("%s: change %q\n%s", c.relation, changeID, diff)
			}
			for _, seen := range []struct {
				from string
				want people.Relation
			}{{ana, people.Relation{ConnectionID: bo, Name: "Bo", Type: c.relation}}, {bo, people.Relation{ConnectionID: ana, Name: "Ana", Type: c.inverse}}} {
				got, err := people.ListRelations(t.Context(), s.Tenant(owner, false), []string{seen.from}, 10)
				if diff := cmp.Diff(map[string][]people.Relation{seen.from: {seen.want}}, got); diff != "" || err != nil {
					t.Errorf("%s: %v\n%s", c.relation, err, diff)
				}
			}
			if _, id := link(ana, bo, c.relation, false); id != "" {
				t.Errorf("%s: repeated as change %s", c.relation, id)
			}
			if c.again != "" {
				if got, id := link(bo, ana, c.again, false); id != "" || len(got) != 1 || got[0].Type != c.inverse {
					t.Errorf("%s told from the other side: change %q, %v", c.relation, id, got)
				}
			}
			undone := wantUndone(t, s, owner, changeID)
			wantUndone(t, s, owner, undone)
			if got, id := link(ana, bo, c.relation, true); id == "" || len(got) != 0 {
				t.Errorf("%s: removed as change %q, left %v", c.relation, id, got)
			}
		}
		for name, c := range map[string]struct {
			to   string
			code fault.Code
		}{"oneself": {ana, fault.Invalid}, "nobody": {"con_ch541ck879", fault.NotFound}} {
			err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
				_, _, err := people.Link(ctx, u, ana, c.to, people.RelationFriend, false)
				return err
			})
			if !fault.Is(err, c.code) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// Somebody who is not on file is a name until a person takes its place. A merge keeps names and words.
func TestRelatedPeopleWhoAreNotOnFile(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		ana, twin := create(t, s, owner, people.Draft{Name: "Ana"}).ID, create(t, s, owner, people.Draft{Name: "Ana B"}).ID
		related := func(id string) []people.Relation {
			t.Helper()
			c, err := people.GetConnection(t.Context(), s.Tenant(owner, false), id)
			if err != nil {
				t.Fatal(err)
			}
			linked, err := people.ListRelations(t.Context(), s.Tenant(owner, false), []string{id}, 10)
			if err != nil {
				t.Fatal(err)
			}
			return append(linked[id], c.Related...)
		}
		want := func(id string, want ...people.Relation) {
			t.Helper()
			if diff := cmp.Diff(want, related(id)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		}
		change := func(write func(ctx context.Context, u *db.Tx) ([]people.Relation, string, error)) (changeID string) {
			t.Helper()
			do(t, s, owner, func(ctx context.Context, u *db.Tx) (_ any, err error) {
				_, changeID, err = write(ctx, u)
				return nil, err
			})
			return changeID
		}
		name := func(id, name, word string, remove bool) string {
			t.Helper()
			return change(func(ctx context.Context, u *db.Tx) ([]people.Relation, string, error) {
				return people.LinkNamed(ctx, u, id, name, word, remove)
			})
		}
		link := func(from, to, word string) string {
			t.Helper()
			return change(func(ctx context.Context, u *db.Tx) ([]people.Relation, string, error) {
				return people.Link(ctx, u, from, to, word, false)
			})
		}
		mother := people.Relation{Name: "Vera Holm", Type: "parent", Label: "mother"}
		if name(ana, " Vera  Holm ", "mother", false) == "" || name(ana, "vera holm", "parent", false) != "" {
			t.Error("a name is stored once")
		}
		want(ana, mother)
		wantUndone(t, s, owner, name(ana, "Vera Holm", "parent", true))
		want(ana, mother)
		if named, err := people.ListNamed(t.Context(), s.Tenant(owner, false), []string{"Vera Holm", "Ana"}); err != nil || len(named) != 1 {
			t.Errorf("on file are %v, %v", named, err)
		}
		vera := create(t, s, owner, people.Draft{Name: "Vera Holm"}).ID
		if named, err := people.ListNamed(t.Context(), s.Tenant(owner, false), []string{"Vera HOLM"}); err != nil || named["vera holm"] != vera {
			t.Errorf("on file are %v, %v", named, err)
		}
		linked := link(ana, vera, "parent")
		onFile := people.Relation{ConnectionID: vera, Name: "Vera Holm", Type: "parent", Label: "mother"}
		want(ana, onFile)
		want(vera, people.Relation{ConnectionID: ana, Name: "Ana", Type: "child", InverseLabel: "mother"})
		wantUndone(t, s, owner, linked)
		want(ana, mother)
		link(ana, vera, "mother")
		daughter := link(vera, ana, "daughter")
		onFile.InverseLabel = "daughter"
		want(ana, onFile)
		wantUndone(t, s, owner, daughter)
		link(vera, twin, "daughter")
		name(twin, "Otto", "godfather", false)
		var merged people.Merged
		do(t, s, owner, func(ctx context.Context, u *db.Tx) (_ any, err error) {
			merged, err = people.Merge(ctx, u, []people.MergeInto{{Into: ana, From: []string{twin}}}, false, timeline.StoreNote, func(context.Context, []people.MergedPerson) error { return nil })
			return nil, err
		})
		otto := people.Relation{Name: "Otto", Type: "other", Label: "godfather"}
		want(ana, onFile, otto)
		wantUndone(t, s, owner, merged.ChangeID)
		onFile.InverseLabel = ""
		want(ana, onFile)
		if len(related(twin)) != 2 {
			t.Errorf("after the undo: %v", related(twin))
		}
	})
}
