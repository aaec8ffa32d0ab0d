package db_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"modernc.org/sqlite"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
)

// upgrade are the statements of two migrations that a later version could have, each with its file's name.
func upgrade() map[string][]string {
	return map[string][]string{
		"20990101000000_nicknames.sql": {
			"ALTER TABLE members ADD COLUMN nickname TEXT NOT NULL DEFAULT ''",
			"UPDATE members SET nickname = upper(username)",
			"CREATE TABLE nicknames (nickname TEXT PRIMARY KEY, member_id TEXT NOT NULL)",
			"INSERT INTO nicknames SELECT nickname, id FROM members",
		},
		"20990102000000_plans.sql": {
			"UPDATE members SET plan = 'other'",
			"CREATE INDEX members_by_nickname ON members (nickname)",
			"DELETE FROM nicknames WHERE nickname = 'BEN'",
		},
	}
}

// migrationsWith returns a folder with the binary's migrations and those of upgrade, in which kill runs before
// the statement of that number; -1 for no such statement.
func migrationsWith(t *testing.T, engine string, number int, kill string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "migrations"), os.DirFS("migrations")); err != nil {
		t.Fatal(err)
	}
	files, at := upgrade(), 0
	for _, name := range []string{"20990101000000_nicknames.sql", "20990102000000_plans.sql"} {
		var text strings.Builder
		for _, statement := range files[name] {
			if at == number {
				text.WriteString(kill + ";\n")
			}
			text.WriteString(statement + ";\n")
			at++
		}
		if err := os.WriteFile(filepath.Join(folder, "migrations", engine, name), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// statementsOfUpgrade is how many statements upgrade has.
const statementsOfUpgrade = 7

// registerKill adds the function kith_test_kill to SQLite, which ends this process as the kernel does when memory runs out.
func registerKill() {
	sqlite.MustRegisterScalarFunction("kith_test_kill", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		return nil, syscall.Kill(os.Getpid(), syscall.SIGKILL)
	})
}

// TestUpgradeKilledAtEachStatement: a process that ends, or whose connection does, at any statement of an upgrade
// leaves a database that the next start upgrades, to the same rows as without the kill.
func TestUpgradeKilledAtEachStatement(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		engine, kill, fresh := "sqlite", "SELECT kith_test_kill()", dbtest.SQLite
		if db.IsPostgres(url) {
			engine, kill, fresh = "postgres", "SELECT pg_terminate_backend(pg_backend_pid())", dbtest.Postgres
		}
		upgraded := func(number int) []string {
			at := fresh(t)
			s := dbtest.Open(t, at, time.Now)
			for _, name := range []string{"ada", "ben"} {
				dbtest.Member(t, s, name)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if number >= 0 {
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), migrateVariable+"="+at, migrationsVariable+"="+migrationsWith(t, engine, number, kill))
				if out, err := cmd.CombinedOutput(); err == nil {
					t.Fatalf("statement %d did not end the upgrade: %s", number, out)
				}
			}
			whole := os.DirFS(migrationsWith(t, engine, -1, ""))
			if _, err := db.Migrate(t.Context(), db.Config{URL: at, Migrations: whole, BackUpBefore: true}); err != nil {
				t.Fatalf("the upgrade after one that ended at statement %d: %v", number, err)
			}
			return upgradedRows(t, dbtest.OpenSQL(t, at))
		}
		want := upgraded(-1)
		if !slices.Contains(want, "ada ADA other 1") || !slices.Contains(want, "ben BEN other 0") {
			t.Fatalf("the upgrade made %v", want)
		}
		for number := range statementsOfUpgrade {
			if diff := cmp.Diff(want, upgraded(number)); diff != "" {
				t.Errorf("after an end at statement %d (-without +with):\n%s", number, diff)
			}
		}
	})
}

// upgradedRows are the members with what upgrade wrote, and the migrations.
func upgradedRows(t *testing.T, conn *sql.DB) []string {
	t.Helper()
	found := texts(t, conn, `SELECT username || ' ' || nickname || ' ' || plan || ' ' || (SELECT count(*) FROM nicknames WHERE member_id = members.id) FROM members
UNION ALL SELECT name FROM schema_migrations`)
	rows := make([]string, 0, len(found))
	for row := range found {
		rows = append(rows, row)
	}
	slices.Sort(rows)
	return rows
}

// TestBackupBeforeUpgrade: an upgrade first writes the SQLite database as it was, from which the version before
// starts again. A start that changes nothing, and a new database, write none; without a backup there is no upgrade.
func TestBackupBeforeUpgrade(t *testing.T) { // not beside tests that start processes, which have its files open for a moment
	path := dbtest.SQLite(t)
	s := dbtest.Open(t, path, time.Now)
	dbtest.Member(t, s, "ada")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	later := db.Config{URL: path, BackUpBefore: true, Migrations: os.DirFS(migrationsWith(t, "sqlite", -1, ""))}
	backup := path + ".before-20990101000000"

	if err := os.MkdirAll(filepath.Join(backup, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if done, err := db.Migrate(t.Context(), later); err == nil || done.Applied != 0 || !strings.Contains(err.Error(), "KITH_BACKUP_BEFORE_UPGRADE") {
		t.Fatalf("where no backup can be written: %+v, %v", done, err)
	}
	if err := os.RemoveAll(backup); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(backup, []byte("of a killed process"), 0o600); err != nil {
		t.Fatal(err)
	}
	done, err := db.Migrate(t.Context(), later)
	if diff := cmp.Diff(db.Migrated{Applied: 2, Backup: backup}, done); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := db.Open(t.Context(), db.Config{URL: path}); !errors.Is(err, db.ErrSchemaNewer) {
		t.Errorf("the version before opens the upgraded database: %v", err)
	}
	upgraded := filepath.Join(t.TempDir(), "kith.db")
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(path+end, upgraded+end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := db.Restore(t.Context(), path, backup); err != nil {
		t.Fatal(err)
	}
	before := dbtest.Open(t, path, time.Now)
	var names []string
	if err := before.NewRaw("SELECT username FROM members").Scan(t.Context(), &names); err != nil || fmt.Sprint(names) != "[ada]" {
		t.Errorf("the version before finds the members %v: %v", names, err)
	}

	if err := os.Remove(backup); err != nil {
		t.Fatal(err)
	}
	again, fresh := later, later
	again.URL, fresh.URL = upgraded, filepath.Join(t.TempDir(), "new.db")
	for _, c := range []db.Config{again, fresh} {
		if done, err := db.Migrate(t.Context(), c); err != nil || done.Backup != "" {
			t.Errorf("%s: %+v, %v", c.URL, done, err)
		}
	}
}

// TestOtherProgramsSchema: a PostgreSQL database with the tables of another program is refused and not changed.
func TestOtherProgramsSchema(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves out what needs PostgreSQL; `make test` runs it")
	}
	url := dbtest.Postgres(t)
	conn := dbtest.OpenSQL(t, url)
	if _, err := conn.ExecContext(t.Context(), "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE bookmarks (url TEXT)"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Migrate(t.Context(), db.Config{URL: url}); !errors.Is(err, db.ErrSchemaForeign) {
		t.Errorf("the tables of another program: %v", err)
	}
	if found := texts(t, conn, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"); len(found) != 1 {
		t.Errorf("the database now has %v", found)
	}
}
