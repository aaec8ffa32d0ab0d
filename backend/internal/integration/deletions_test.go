package integration_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db/dbtest"
)

// The rows that are deleted with a person are found by an index on the person, without
// reading all of the member's rows. SQLite's planner needs a hint for that.
func TestDeletionsReadNoMoreThanTheirs(t *testing.T) {
	t.Parallel()
	url := dbtest.SQLite(t)
	dbtest.Open(t, url, time.Now)
	db := dbtest.OpenSQL(t, url)
	rows, err := db.QueryContext(t.Context(), "PRAGMA foreign_keys = on; EXPLAIN QUERY PLAN DELETE FROM connections WHERE tenant_id = 'mem' AND id IN ('a', 'b')")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	steps := 0
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps++
		if strings.HasSuffix(step, "(tenant_id=?)") || strings.HasPrefix(step, "SCAN") {
			t.Error(step)
		}
	}
	if err := rows.Err(); err != nil || steps < 12 {
		t.Errorf("%d steps, %v", steps, err)
	}
}
