package views_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/views"
)

// Names are unique by folding, for each member; a view keeps its own name in another
// spelling.
func TestNames(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, s *db.DB) {
		maria, tomas := s.Tenant(dbtest.Member(t, s, "maria"), false), s.Tenant(dbtest.Member(t, s, "tomas"), false)
		write := func(of *db.Tenant, fn func(context.Context, *db.Tx) error) error {
			return of.Write(t.Context(), db.Actor{}, fn)
		}
		save := func(of *db.Tenant, name, query string) (saved *views.View, err error) {
			err = write(of, func(ctx context.Context, tx *db.Tx) error {
				saved, err = views.Save(ctx, tx, name, query)
				return err
			})
			return saved, err
		}
		cafe, err := save(maria, " Café  society ", "tag=cafe")
		if err != nil || cafe.Name != "Café society" {
			t.Fatalf("%+v, %v", cafe, err)
		}
		if _, err := save(tomas, "Café society", "q=x"); err != nil {
			t.Error(err)
		}
		for name, query := range map[string]string{"CAFE SOCIETY": "q=x", "": "q=x", strings.Repeat("x", 81): "q=x", "Long": strings.Repeat("x", views.MaxQuery+1)} {
			if _, err := save(maria, name, query); !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: %v", name, err)
			}
		}
		rename := func(of *db.Tenant, id, name string) error {
			return write(of, func(ctx context.Context, tx *db.Tx) error { return views.Rename(ctx, tx, id, name) })
		}
		if err := rename(maria, cafe.ID, "CAFÉ society"); err != nil {
			t.Error(err)
		}
		if err := rename(tomas, cafe.ID, "stolen"); !fault.Is(err, fault.NotFound) {
			t.Errorf("another member's view: %v", err)
		}
		if all, err := views.ListViews(t.Context(), maria); err != nil || len(all) != 1 || all[0].Name != "CAFÉ society" || all[0].Query != "tag=cafe" {
			t.Errorf("%+v, %v", all, err)
		}
	})
}
