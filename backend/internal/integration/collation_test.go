package integration_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/db/dbtest"
)

// TestKeysCompareByByte: an index helps a join only where both sides have its
// collation, and order by byte is that of SQLite. The databases of tests order
// words by another rule, as those of operators do.
func TestKeysCompareByByte(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Log("left out by -short")
		return
	}
	db := dbtest.OpenSQL(t, dbtest.Postgres(t))
	rows, err := db.QueryContext(t.Context(), `SELECT c.relname, a.attname FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND a.atttypid = 'text'::regtype
JOIN pg_collation l ON l.oid = a.attcollation
JOIN pg_index i ON i.indrelid = c.oid AND a.attnum = ANY (i.indkey::int2[])
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND l.collname <> 'C'`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s.%s is in an index and does not compare by byte", table, column)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	var follows bool
	if err := db.QueryRowContext(t.Context(), "SELECT 'B' > 'a'").Scan(&follows); err != nil || !follows {
		t.Errorf("the database orders by byte: %v, %v", follows, err)
	}
}
