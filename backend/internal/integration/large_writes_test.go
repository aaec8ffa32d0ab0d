package integration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/groups"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// tagMany stores n people with a tag.
func tagMany(t *testing.T, s *db.DB, owner tenant.ID, n int, tag string) {
	t.Helper()
	const step = 500
	for from := 0; from < n; from += step {
		do(t, s, owner, func(ctx context.Context, u *db.Tx) (any, error) {
			list := make([]*people.Connection, min(step, n-from))
			for i := range list {
				list[i] = &people.Connection{ID: id.New(id.Connection), Name: fmt.Sprintf("Person %d", from+i), Tags: []string{tag}, Version: 1, CreatedAt: u.Now(), UpdatedAt: u.Now()}
			}
			return nil, people.InsertPeople(ctx, u, list)
		})
	}
}

// A write changes at most history.MaxEffects objects: others wait for its end.
func TestTooLargeWritesAreRefused(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		tagMany(t, s, owner, history.MaxEffects+1, "customer")
		err := s.Tenant(owner, false).Write(t.Context(), db.Actor{}, func(ctx context.Context, u *db.Tx) error {
			_, err := groups.RenameTag(ctx, u, "customer", "client", false)
			return err
		})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "10001 objects at once, of at most 10000") || !strings.Contains(err.Error(), "update_membership") {
			t.Error(err)
		}
	})
}

// A page shows what the undo of a large change would do while another write is under way, and what
// it shows is what the undo does.
func TestLargePreviewOnlyReads(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		const many = 600
		tagMany(t, s, owner, many, "old")
		renamed := do(t, s, owner, func(ctx context.Context, u *db.Tx) (people.Acted, error) {
			return groups.RenameTag(ctx, u, "old", "new", false)
		})
		other := do(t, s, owner, func(ctx context.Context, u *db.Tx) (people.Acted, error) {
			return groups.RenameTag(ctx, u, "new", "newer", false)
		})
		data := s.Tenant(owner, false)
		preview := func(ids ...string) (out []history.UndoneChange) {
			t.Helper()
			err := data.Write(t.Context(), db.Actor{}, func(ctx context.Context, _ *db.Tx) (err error) {
				out, err = history.UndoChanges(ctx, data, kinds.All(), "undo", ids, true)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		// Without the later change undone first, it blocks the earlier one.
		if alone := preview(renamed.ChangeID); len(alone[0].Conflicts) != many || alone[0].Conflicts[0].ChangeID != other.ChangeID {
			t.Errorf("%d conflicts, the first %+v", len(alone[0].Conflicts), alone[0].Conflicts[:1])
		}
		both := preview(renamed.ChangeID, other.ChangeID)
		for _, c := range both {
			if len(c.Restored) != many || len(c.Conflicts) > 0 || c.ChangeID != "" {
				t.Errorf("%s: %d restored, %d conflicts", c.ID, len(c.Restored), len(c.Conflicts))
			}
		}
		one, err := history.UndoChange(t.Context(), data, kinds.All(), "undo", other.ChangeID, true)
		if err != nil || len(one.Restored) != many {
			t.Errorf("%d restored, %v", len(one.Restored), err)
		}
		done, err := history.UndoChanges(t.Context(), data, kinds.All(), "undo", []string{renamed.ChangeID, other.ChangeID}, false)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range done {
			if len(c.Restored) != len(both[i].Restored) || c.ChangeID == "" || fmt.Sprint(c.Restored[0]) != fmt.Sprint(both[i].Restored[0]) {
				t.Errorf("%s: undid %d, %+v", c.ID, len(c.Restored), c.Restored[0])
			}
		}
		if tags, err := groups.ListTags(t.Context(), data, 10); err != nil || len(tags) != 1 || tags[0].Name != "old" {
			t.Errorf("tags %+v, %v", tags, err)
		}
	})
}

// An object whose random id is taken is stored under another one: the transaction is repeated.
func TestTakenIDsAreReplaced(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		owner := dbtest.Member(t, s, "maria")
		made, taken := create(t, s, owner, people.Draft{Name: "First"}).ID, 0
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			c := &people.Connection{ID: made, Name: "Second", Version: 1, CreatedAt: u.Now(), UpdatedAt: u.Now()}
			if taken++; taken > 1 {
				c.ID = id.New(id.Connection)
			}
			return people.InsertPeople(ctx, u, []*people.Connection{c})
		})
		if err != nil || taken != 2 {
			t.Errorf("%d tries, %v", taken, err)
		}
		// The keys that a caller chose are no such ids: a name that is taken is told at once.
		tries := 0
		err = write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			tries++
			for range 2 {
				row := &people.Field{ID: id.New(id.Field), TenantID: u.TenantID(), Name: "Diet", FoldedName: "diet", Type: "text", CreatedAt: u.Now(), UpdatedAt: u.Now()}
				if _, err := u.NewInsert().Model(row).Exec(ctx); err != nil {
					return err
				}
			}
			return nil
		})
		if !db.IsTaken(err) || tries != 1 {
			t.Errorf("a name that is taken: %d tries, %v", tries, err)
		}
	})
}
