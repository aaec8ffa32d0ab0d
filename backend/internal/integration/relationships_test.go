package integration_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
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
		}{"oneself": {ana, fault.Invalid}, "nobody": {"con_00000000000000000000000000", fault.NotFound}} {
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
