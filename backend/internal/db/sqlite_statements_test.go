package db

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/uptrace/bun"
)

// openKept opens a database with one connection, and a table of the numbers 1 to 3 as texts.
func openKept(t *testing.T) *bun.DB {
	t.Helper()
	db, err := openSQLiteDB(filepath.Join(t.TempDir(), "kept.db"), "", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (v TEXT NOT NULL); INSERT INTO t VALUES ('1'), ('2'), ('3')"); err != nil {
		t.Fatal(err)
	}
	return db
}

// A statement can run again while its rows are read, and gives each run its own result.
func TestStatementWithinItsOwnRows(t *testing.T) {
	t.Parallel()
	db := openKept(t)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	from := func(v string) []string {
		var out []string
		if err := tx.NewRaw("SELECT v FROM t WHERE v >= ? ORDER BY v", v).Scan(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	rows, err := tx.QueryContext(t.Context(), db.NewRaw("SELECT v FROM t WHERE v >= ? ORDER BY v", "1").String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var outer []string
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		outer = append(outer, v)
		if inner := from("3"); !slices.Equal(inner, []string{"3"}) {
			t.Errorf("within row %s: %v", v, inner)
		}
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
	if !slices.Equal(outer, []string{"1", "2", "3"}) || !slices.Equal(from("2"), []string{"2", "3"}) {
		t.Errorf("%v, then %v", outer, from("2"))
	}
}

// More statements than a connection keeps, and a change of the schema, do no harm.
func TestStatementsThatAreNotKept(t *testing.T) {
	t.Parallel()
	db := openKept(t)
	for range 2 {
		for i := range maxKept + 10 {
			var v string
			query := fmt.Sprintf("SELECT v FROM t WHERE v = ? AND %d = %d", i, i)
			if err := db.NewRaw(query, "2").Scan(t.Context(), &v); err != nil || v != "2" {
				t.Fatalf("%s: %q, %v", query, v, err)
			}
		}
		if _, err := db.ExecContext(t.Context(), "ALTER TABLE t RENAME TO u; ALTER TABLE u RENAME TO t"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.NewRaw("INSERT INTO t VALUES (?)", "4").Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.NewRaw("INSERT INTO nowhere VALUES (?)", "4").Exec(t.Context()); err == nil {
		t.Error("an insert into no table succeeded")
	}
}
