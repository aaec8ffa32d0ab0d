package integration_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/people"
)

// The undo of a creation is refused while the member has said that the person is not the same as
// another one, whichever of the two was created: the decision would be lost without a record.
func TestUndoOfACreationKeepsWhoIsNotTheSame(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		newPerson := func(name string) people.Written {
			return do(t, s, owner, func(ctx context.Context, u *db.Tx) (people.Written, error) {
				return people.Create(ctx, u, people.Draft{Name: name})
			})
		}
		first, second := newPerson("Ana"), newPerson("Ana Lopez")
		decision := do(t, s, owner, func(ctx context.Context, u *db.Tx) (string, error) {
			return people.Distinguish(ctx, u, first.Connection.ID, second.Connection.ID)
		})
		for _, created := range []people.Written{first, second} {
			got := undo(t, s, owner, created.ChangeID)
			if len(got.Conflicts) != 1 || !strings.Contains(got.Conflicts[0].Reason, "not the same as another person") || got.ChangeID != "" {
				t.Errorf("undo of %s: %+v", created.Connection.Name, got)
			}
		}
		if pairs, err := people.ListDistinctPairs(t.Context(), s.Tenant(owner, false)); err != nil || len(pairs) != 1 {
			t.Errorf("%d pairs, %v", len(pairs), err)
		}
		wantUndone(t, s, owner, decision)
		wantUndone(t, s, owner, second.ChangeID)
	})
}
