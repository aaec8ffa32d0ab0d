package db_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
)

// TestPlansOfALargeMember: once SQLite has statistics of a member with many rows, it
// finds the rows of one person, and the person of one address, by an index.
func TestPlansOfALargeMember(t *testing.T) {
	t.Parallel()
	url := dbtest.SQLite(t)
	conn := dbtest.OpenSQL(t, url)
	fill := func(table, columns, values string) {
		t.Helper()
		_, err := conn.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO %s (tenant_id, %s) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT 'mem', %s FROM n",
			table, columns, values))
		if err != nil {
			t.Fatal(err)
		}
	}
	fill("connections", "id, name, folded_name, nickname, location, bio, starred, met_on, met_how, source, cadence_days, version, data_version, created_at, updated_at",
		"'con_' || i, 'P' || i, 'p' || i, '', '', '', FALSE, '', '', '', 0, 1, 1, '', ''")
	fill("handles", "id, connection_id, kind, value, normal_value, label, ordinal", "'hdl_' || i, 'con_' || i, 'email', i, i, '', 0")
	fill("relationships", "id, from_id, to_id, type, created_at", "'rel_' || i, 'con_' || i, 'con_' || (i + 1), 'friend', ''")
	fill("reminders", "id, text, due_on, starts_on, recurrence, state, version, created_at, updated_at", "'rem_' || i, '', '', '', '', 'open', 1, '', ''")
	fill("reminder_connections", "connection_id, reminder_id", "'con_' || i, 'rem_' || i")
	fill("source_keys", "key, connection_id, import_id, name", "'key_' || i, 'con_' || i, '', ''")
	if _, err := db.Migrate(t.Context(), db.Config{URL: url}); err != nil {
		t.Fatal(err)
	}
	fresh := dbtest.OpenSQL(t, url)
	for _, query := range []string{
		"SELECT id FROM relationships WHERE tenant_id = 'mem' AND (from_id = 'con_1' OR to_id = 'con_1') ORDER BY id",
		"SELECT reminder_id FROM reminder_connections WHERE tenant_id = 'mem' AND connection_id IN ('con_1') ORDER BY reminder_id",
		"SELECT * FROM source_keys WHERE tenant_id = 'mem' AND connection_id IN ('con_1') ORDER BY key",
		"SELECT id FROM connections WHERE tenant_id = 'mem' AND folded_name = 'p1'",
		sharing, related,
	} {
		readsFewRows(t, fresh, query)
	}
}

// What each write of a person reads: people with an address, and relationships.
const (
	sharing = `SELECT DISTINCT c.id, c.name FROM handles h CROSS JOIN connections c
WHERE h.tenant_id = 'mem' AND h.kind IN ('email') AND h.normal_value IN ('1') AND c.tenant_id = h.tenant_id AND c.id = h.connection_id
AND c.archived_at IS NULL AND c.id <> 'con_2' ORDER BY c.id LIMIT 3`
	related = `SELECT r.from_id, r.to_id, r.type, c.name FROM (
SELECT from_id, to_id, type, to_id AS other FROM relationships WHERE tenant_id = 'mem' AND from_id = 'con_1'
UNION ALL SELECT from_id, to_id, type, from_id FROM relationships WHERE tenant_id = 'mem' AND to_id = 'con_1') AS r
CROSS JOIN connections c WHERE c.tenant_id = 'mem' AND c.id = r.other AND c.archived_at IS NULL ORDER BY c.folded_name, c.id, r.type LIMIT 50`
)

// TestPlansWithoutStatistics: a new database has no statistics yet.
func TestPlansWithoutStatistics(t *testing.T) {
	t.Parallel()
	conn := dbtest.OpenSQL(t, dbtest.SQLite(t))
	readsFewRows(t, conn, sharing)
	readsFewRows(t, conn, related)
	readsFewRows(t, conn, "SELECT key, shared FROM (SELECT * FROM duplicate_keys WHERE tenant_id = 'mem') AS k WHERE connection_id IN ('con_1')")
}

// readsFewRows fails when a step of the plan reads all rows of a tenant or of a table.
func readsFewRows(t *testing.T, conn *sql.DB, query string) {
	t.Helper()
	for _, step := range plan(t, conn, query) {
		if strings.HasSuffix(step, "(tenant_id=?)") || strings.HasPrefix(step, "SCAN") && step != "SCAN r" {
			t.Errorf("%s\n%s", query, step)
		}
	}
}

// plan returns the steps of SQLite's plan for a statement, at least one.
func plan(t *testing.T, conn *sql.DB, statement string) (steps []string) {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil || len(steps) == 0 {
		t.Fatalf("no plan of %s: %v", statement, err)
	}
	return steps
}
