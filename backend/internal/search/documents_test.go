package search_test

import (
	"context"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search"
)

// A row that cannot be read is an error, not a panic.
func TestUnreadableRowsAreErrors(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"an interaction": `INSERT INTO interactions (tenant_id, id, kind, occurred_at, duration_minutes, summary, created_at) SELECT tenant_id, 'int_1', 'call', 'x', 0, '', created_at FROM connections;
INSERT INTO interaction_connections (tenant_id, connection_id, interaction_id) SELECT tenant_id, id, 'int_1' FROM connections`,
		"a cadence": `INSERT INTO groups (tenant_id, id, name, folded_name, description, cadence_days, version, created_at, updated_at) SELECT tenant_id, 'grp_1', 'g', 'g', '', 'x', 1, created_at, created_at FROM connections;
INSERT INTO group_connections (tenant_id, group_id, connection_id) SELECT tenant_id, 'grp_1', id FROM connections`,
		"a date": `INSERT INTO important_dates (tenant_id, id, connection_id, kind, label, year, month, day, ordinal) SELECT tenant_id, 'dat_1', id, 'birthday', '', 'x', 1, 1, 0 FROM connections`,
	} {
		url := dbtest.SQLite(t)
		s := dbtest.Open(t, url, time.Now)
		data := s.Tenant(dbtest.Member(t, s, "maria"), false)
		err := data.Write(t.Context(), db.Actor{}, func(ctx context.Context, tx *db.Tx) error {
			_, err := people.Create(ctx, tx, people.Draft{Name: "Ana Lopez"})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		raw := dbtest.OpenSQL(t, url)
		if _, err := raw.ExecContext(t.Context(), "PRAGMA ignore_check_constraints = ON;"+statement); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if docs, err := search.LoadDocuments(t.Context(), data, -1); err == nil {
			t.Errorf("%s: read as %+v", name, docs)
		}
	}
}
