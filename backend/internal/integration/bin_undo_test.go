package integration_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/retention"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// An undo that removes a person is in the bin once, no matter how often it is undone and
// redone, and after 30 days no copy of the person is left.
func TestTheEndOfAnUndoThatRemovesPeople(t *testing.T) {
	t.Parallel()
	for name, takeBack := range map[string]func(t *testing.T, s *db.DB, url string, owner tenant.ID, id string) string{
		"creation": func(t *testing.T, s *db.DB, _ string, owner tenant.ID, id string) string {
			return wantUndone(t, s, owner, id)
		},
		"import": func(t *testing.T, s *db.DB, url string, owner tenant.ID, id string) string {
			exec(t, dbtest.OpenSQL(t, url), fmt.Sprintf("UPDATE changes SET import_id = 'imp_1', summary = 'Imported 1' WHERE id = '%s'", id))
			return do(t, s, owner, func(ctx context.Context, u *db.Tx) (history.Undone, error) {
				c, err := history.GetChange(ctx, u, id)
				if err != nil {
					return history.Undone{}, err
				}
				return history.UndoImport(ctx, u, kinds.All(), c, "imp_2")
			}).ChangeID
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Databases(t, func(t *testing.T, url string) {
				now := time.Now()
				s := dbtest.Open(t, url, func() time.Time { return now })
				owner := dbtest.Member(t, s, "maria")
				made := createWritten(t, s, owner, people.Draft{Name: "Xylo Phone", Bio: "xylophone"})
				undone := takeBack(t, s, url, owner, made.ChangeID)
				last := undone
				for range 2 {
					if got := bin(t, s, owner); !slices.Equal(got, []string{undone}) {
						t.Fatalf("in the bin: %v, not %s", got, undone)
					}
					now = now.AddDate(0, 0, 29)
					if r, err := retention.Sweep(t.Context(), s, now); err != nil || r.Deletions != 0 {
						t.Fatalf("after 29 days: %+v, %v", r, err)
					}
					redone := wantUndone(t, s, owner, last)
					if c, err := people.GetConnection(t.Context(), s.Tenant(owner, true), made.Connection.ID); err != nil || c.Bio != "xylophone" || len(bin(t, s, owner)) != 0 {
						t.Fatalf("redone: %+v, %v, bin %v", c, err, bin(t, s, owner))
					}
					last = wantUndone(t, s, owner, redone)
				}
				now = now.AddDate(0, 0, 30)
				if r, err := retention.Sweep(t.Context(), s, now); err != nil || r.Deletions != 1 || len(bin(t, s, owner)) != 0 {
					t.Errorf("after 30 days: %+v, %v, bin %v", r, err, bin(t, s, owner))
				}
				wantForgotten(t, s, url, owner, made.Connection.ID, undone)
			})
		})
	}
}

// When an undo removed a person and something else, the latter can still be restored after
// the person is permanently deleted; the undo is no longer in the bin.
func TestTheRestOfAnUndoThatRemovedPeople(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Now()
		s := dbtest.Open(t, url, func() time.Time { return now })
		owner := dbtest.Member(t, s, "maria")
		xylo := create(t, s, owner, people.Draft{Name: "Xylo Phone"}).ID
		note := addNote(t, s, owner, create(t, s, owner, people.Draft{Name: "Ana"}).ID)
		before := file(t, s, owner)
		both := do(t, s, owner, func(ctx context.Context, u *db.Tx) (string, error) {
			draft := history.Draft{Summary: "Imported 2"}
			for kind, id := range map[string]string{history.Connection: xylo, history.Note: note} {
				states, err := kinds.All()[kind](u).Current(ctx, []string{id})
				if err != nil {
					return "", err
				}
				draft.Effects = append(draft.Effects, history.EffectDraft{Kind: kind, ID: id, After: states[id]})
			}
			return history.Record(ctx, u, draft)
		})
		undone := wantUndone(t, s, owner, both)
		now = now.AddDate(0, 0, 30)
		for _, ended := range []int64{1, 0} {
			if r, err := retention.Sweep(t.Context(), s, now); err != nil || r.Deletions != ended || len(bin(t, s, owner)) != 0 {
				t.Errorf("%+v, %v, bin %v", r, err, bin(t, s, owner))
			}
		}
		for _, row := range rowsOf(t, dbtest.OpenSQL(t, url), "changes") {
			if strings.Contains(row, "Xylo") {
				t.Errorf("left: %s", row)
			}
		}
		wantUndone(t, s, owner, undone)
		if after := file(t, s, owner); fmt.Sprint(after) == fmt.Sprint(before) || !strings.Contains(fmt.Sprint(after), note) {
			t.Errorf("before %v, after %v", before, after)
		}
	})
}
