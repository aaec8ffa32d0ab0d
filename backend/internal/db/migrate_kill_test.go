package db_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
)

const (
	// migrateVariable names the database that this test program migrates instead of running tests.
	migrateVariable = "KITH_TEST_MIGRATE"
	// migrationsVariable names the folder of other migrations than the binary's.
	migrationsVariable = "KITH_TEST_MIGRATIONS"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(migrateVariable); url != "" {
		if _, err := os.Stdout.WriteString("migrating\n"); err != nil {
			os.Exit(2)
		}
		c := db.Config{URL: url, BackUpBefore: true}
		if folder := os.Getenv(migrationsVariable); folder != "" {
			c.Migrations = os.DirFS(folder)
			registerKill()
		}
		if _, err := db.Migrate(context.Background(), c); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestKilledMigration: a process that is killed at any moment of a migration leaves a database
// that the next one migrates.
func TestKilledMigration(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		empty := func() string {
			if !db.IsPostgres(url) {
				return filepath.Join(t.TempDir(), "kith.db")
			}
			if _, err := dbtest.OpenSQL(t, url).ExecContext(t.Context(), "DROP SCHEMA public CASCADE; CREATE SCHEMA public"); err != nil {
				t.Fatal(err)
			}
			return url
		}
		start := time.Now()
		if migrateAndKill(t, empty(), time.Minute) {
			t.Fatal("the migration did not end within a minute")
		}
		whole, killed := time.Since(start), 0
		const kills = 25
		for i := range kills {
			at, delay := empty(), whole*time.Duration(i)/kills
			begun := time.Now()
			if migrateAndKill(t, at, delay) {
				killed++
			} else { // what else ran on this machine made the first one slow
				whole = min(whole, time.Since(begun))
			}
			if _, err := db.Migrate(t.Context(), db.Config{URL: at}); err != nil {
				t.Fatalf("the migration after one that was killed %s after its start: %v", delay, err)
			}
			s, err := db.Open(t.Context(), db.Config{URL: at})
			if err != nil {
				t.Fatalf("after a kill %s after the start: %v", delay, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if killed < kills/3 {
			t.Errorf("only %d of %d migrations were killed", killed, kills)
		}
	})
}

// migrateAndKill migrates a database in another process, which is killed after a delay. It reports
// whether that ended the process.
func migrateAndKill(t *testing.T, url string, delay time.Duration) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), migrateVariable+"="+url)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 64)); err != nil {
		t.Fatalf("the migrating process did not start: %v", err)
	}
	timer := time.AfterFunc(delay, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err = cmd.Wait()
	if err != nil && cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the migration failed: %v", err)
	}
	return err != nil
}
