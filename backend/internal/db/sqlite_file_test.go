package db_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
)

// TestLostFile: while the file at the path is not the one that was opened, all statements and
// readiness fail, with a code that no client takes for a refusal of its credential.
func TestLostFile(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"removed": os.Remove,
		"moved":   func(path string) error { return os.Rename(path, path+".old") },
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
		"overwritten by another installation": func(path string) error {
			other := filepath.Join(filepath.Dir(path), "other.db")
			_, err := db.Migrate(context.Background(), db.Config{URL: other})
			content, read := os.ReadFile(other)
			return errors.Join(err, read, os.WriteFile(path, content, 0o600))
		},
		"overwritten by its own backup": func(path string) error {
			backup := filepath.Join(filepath.Dir(path), "kith.backup")
			err := db.Backup(context.Background(), path, backup)
			content, read := os.ReadFile(backup)
			return errors.Join(err, read, os.WriteFile(path, content, 0o600))
		},
		"overwritten by something else": func(path string) error {
			return os.WriteFile(path, bytes.Repeat([]byte("not a database, "), 4096), 0o600)
		},
		"cut off": func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := dbtest.SQLite(t)
			s, err := db.Open(t.Context(), db.Config{URL: path})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			owner := dbtest.Member(t, s, "ada")
			if err := s.Ready(t.Context()); err != nil {
				t.Fatalf("before: %v", err)
			}
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			var n int
			_, exec := s.NewWrite("UPDATE members SET updated_at = ?", time.Now()).Exec(t.Context())
			for what, err := range map[string]error{
				"a read":        s.NewRaw("SELECT count(*) FROM members").Scan(t.Context(), &n),
				"a transaction": s.Tenant(owner, false).Write(t.Context(), db.Actor{}, func(context.Context, *db.Tx) error { return nil }),
				"a write":       exec,
			} {
				var coded *fault.Error
				if !errors.As(err, &coded) || coded.Code != fault.Unavailable {
					t.Errorf("%s: %v", what, err)
				}
			}
			if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("readiness: %v", err)
			}
		})
	}
}

// TestOtherProgramsFile: no command changes a file that is not Kith's, not even its mode.
func TestOtherProgramsFile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, write := range map[string]func(path string) error{
		"a database of another program": func(path string) error {
			other, err := sql.Open("sqlite", path)
			if err != nil {
				return err
			}
			_, err = other.ExecContext(ctx, "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('https://a.example')")
			return errors.Join(err, other.Close())
		},
		"a text": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("shopping list\n"), 20), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "other.db")
			if err := errors.Join(write(path), os.Chmod(path, 0o644)); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, migrate := db.Migrate(ctx, db.Config{URL: path})
			_, check := db.Check(ctx, path)
			for what, err := range map[string]error{"migrate": migrate, "check": check, "backup": db.Backup(ctx, path, path+".backup")} {
				if err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("%s: %v", what, err)
				}
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file changed (%v)", err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
				t.Errorf("its mode changed: %v", info.Mode())
			}
		})
	}
}

// TestCheckChangesNothing: neither the files of a database at rest, nor those of one in use.
func TestCheckChangesNothing(t *testing.T) {
	t.Parallel()
	path := dbtest.SQLite(t)
	state := func() string {
		files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, name := range files {
			content, err := os.ReadFile(name)
			info, stat := os.Stat(name)
			if err := errors.Join(err, stat); err != nil {
				t.Fatal(err)
			}
			b.WriteString(filepath.Base(name) + info.Mode().String() + info.ModTime().String())
			if !strings.HasSuffix(name, "-shm") { // readers note there how far they read
				b.Write(content)
			}
		}
		return b.String()
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	before := state()
	if _, err := db.Check(t.Context(), path); err != nil {
		t.Errorf("at rest: %v", err)
	}
	if state() != before {
		t.Error("the check changed a database at rest")
	}
	s := dbtest.Open(t, path, time.Now)
	dbtest.Member(t, s, "ada")
	before = state()
	if _, err := db.Check(t.Context(), path); err != nil {
		t.Errorf("in use: %v", err)
	}
	if state() != before {
		t.Error("the check changed a database in use")
	}
}

// TestUnwritable: a database that can be read but not written is not ready.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	path := dbtest.SQLite(t)
	s := dbtest.Open(t, path, time.Now)
	other := dbtest.OpenSQL(t, path)
	other.SetMaxOpenConns(1)
	if _, err := other.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := s.Ready(ctx); err == nil {
		t.Error("ready while another program holds the write lock")
	}
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("after the lock: %v", err)
	}
}

// TestMaintain: the log is cut off when it is large, and the pages of deleted rows are given back.
func TestMaintain(t *testing.T) {
	t.Parallel()
	path := dbtest.SQLite(t)
	s := dbtest.Open(t, path, time.Now)
	conn := dbtest.OpenSQL(t, path)
	run := func(statements ...string) {
		t.Helper()
		for _, statement := range statements {
			if _, err := conn.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	run("PRAGMA wal_autocheckpoint = 0", "CREATE TABLE bulk (content BLOB)",
		"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70000) INSERT INTO bulk SELECT zeroblob(1000) FROM n")
	if size := s.LogSize(); size < 64<<20 {
		t.Fatalf("the log has only %d bytes", size)
	}
	if err := s.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if size := s.LogSize(); size > 1<<20 {
		t.Errorf("the log still has %d bytes", size)
	}
	pages := func() (n int) {
		t.Helper()
		if err := conn.QueryRowContext(t.Context(), "PRAGMA page_count").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	full := pages()
	run("DELETE FROM bulk")
	for range 20 {
		if err := s.Maintain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left := pages(); left > full/4 {
		t.Errorf("%d of %d pages are left", left, full)
	}
}

// TestDamagedBackup: a damaged database is not backed up, and says so.
func TestDamagedBackup(t *testing.T) {
	t.Parallel()
	path := dbtest.SQLite(t)
	s, err := db.Open(t.Context(), db.Config{URL: path})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		dbtest.Member(t, s, fmt.Sprintf("member-%d", i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	for page := 1; page < len(whole)/4096; page += len(whole) / 4096 / 12 {
		at := filepath.Join(t.TempDir(), "kith.db")
		damaged := bytes.Clone(whole)
		for i := range 4096 {
			damaged[page*4096+i] ^= 0xa5
		}
		if err := os.WriteFile(at, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		err := db.Backup(t.Context(), at, at+".backup")
		if err == nil || strings.Contains(err.Error(), "%!") {
			t.Errorf("page %d: %v", page, err)
		}
		if left, _ := filepath.Glob(at + ".backup*"); len(left) > 0 {
			t.Errorf("page %d: %v is left", page, left)
		}
		running, err := db.Open(t.Context(), db.Config{URL: at})
		if err != nil {
			continue // what is damaged is needed for the start
		}
		if err := running.CheckIntegrity(t.Context()); !errors.Is(err, db.ErrDamaged) || !running.Damaged() {
			t.Errorf("page %d: the daily check says %v", page, err)
		}
		opened++
		if err := running.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if opened == 0 {
		t.Error("no damaged database was opened")
	}
}

// TestRestoreWhileRunning: a restore is refused while a process has the database open, even after its
// file was removed.
func TestRestoreWhileRunning(t *testing.T) {
	t.Parallel()
	path := dbtest.SQLite(t)
	backup := filepath.Join(t.TempDir(), "kith.backup")
	if err := db.Backup(t.Context(), path, backup); err != nil {
		t.Fatal(err)
	}
	s, err := db.Open(t.Context(), db.Config{URL: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := db.Restore(t.Context(), path, backup); err == nil || !strings.Contains(err.Error(), "stop it first") {
		t.Errorf("while it runs: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{"-wal", "-shm"} {
		_ = os.Remove(path + left)
	}
	if err := os.WriteFile(path+".partial-journal", []byte("the rest of a killed restore"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := db.Restore(t.Context(), path, backup); err != nil {
		t.Fatalf("afterwards: %v", err)
	}
	dbtest.Open(t, path, time.Now)
}

// What an operator's command as root makes belongs to the owner of the folder, who runs the service. Other users
// make files of their own, and the folder is theirs.
func TestRootLeavesFilesToTheService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	service := os.Geteuid()
	if service == 0 {
		service = 12345
		if err := os.Chown(dir, service, service); err != nil {
			t.Fatal(err)
		}
	}
	path, backup := filepath.Join(dir, "kith.db"), filepath.Join(t.TempDir(), "backup.db")
	if _, err := db.Migrate(t.Context(), db.Config{URL: path}); err != nil {
		t.Fatal(err)
	}
	s, err := db.Open(t.Context(), db.Config{URL: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Backup(t.Context(), path, backup); err != nil {
		t.Fatal(err)
	}
	if err := db.Restore(t.Context(), filepath.Join(dir, "restored.db"), backup); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		info, err := file.Info()
		if err != nil {
			t.Fatal(err)
		}
		if of, _ := info.Sys().(*syscall.Stat_t); int(of.Uid) != service {
			t.Errorf("%s belongs to %d", file.Name(), of.Uid)
		}
	}
}
