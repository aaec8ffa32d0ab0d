package integration_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
)

// TestDatabaseIsPrivate: after it is opened, only its owner can read a database, and the
// files that SQLite creates beside it, even if other users could before.
func TestDatabaseIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kith.db")
	for range 2 { // a new file, and one that exists
		for _, file := range []string{path, path + "-wal", path + "-shm"} {
			makeWorldWritable(t, file)
		}
		if _, err := db.Migrate(t.Context(), db.Config{URL: path}); err != nil {
			t.Fatal(err)
		}
		s, err := db.Open(t.Context(), db.Config{URL: path})
		if err != nil {
			t.Fatal(err)
		}
		wantPrivate(t, path, path+"-wal", path+"-shm")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBackupIsPrivate: only its owner can read a backup, or a database restored from a
// backup that others can read, also over the files that an earlier attempt left.
func TestBackupIsPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, backup, restored := filepath.Join(dir, "kith.db"), filepath.Join(dir, "backup"), filepath.Join(dir, "restored.db")
	if _, err := db.Migrate(t.Context(), db.Config{URL: path}); err != nil {
		t.Fatal(err)
	}
	makeWorldWritable(t, backup+".partial")
	if err := db.Backup(t.Context(), path, backup); err != nil {
		t.Fatal(err)
	}
	wantPrivate(t, backup)
	makeWorldWritable(t, backup)
	makeWorldWritable(t, restored+".partial")
	if err := db.Restore(t.Context(), restored, backup); err != nil {
		t.Fatal(err)
	}
	wantPrivate(t, restored)
}

// makeWorldWritable lets everyone read and write a file; it creates a missing one.
func makeWorldWritable(t *testing.T, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Chmod(0o666); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantPrivate(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", filepath.Base(file), info.Mode())
		}
	}
}

// TestPasswordIsNotOnTheCommandLine: pg_dump is given the password by its
// environment, wherever it stands in the database URL.
func TestPasswordIsNotOnTheCommandLine(t *testing.T) {
	dir := t.TempDir()
	program := "#!/bin/sh\nprintf '%s ' \"$@\" >" + dir + "/arguments\nprintf %s \"$PGPASSWORD\" >" + dir + "/password\n"
	if err := os.WriteFile(filepath.Join(dir, "pg_dump"), []byte(program), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	restore := "#!/bin/sh\necho '1; 2 3 TABLE DATA public members kith'\n"                         // reads what pg_dump wrote
	if err := os.WriteFile(filepath.Join(dir, "pg_restore"), []byte(restore), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	for name, address := range map[string]string{
		"beside the name":      "postgres://kith:hunter2%21@db.example/kith?sslmode=require",
		"in the query":         "postgres://db.example/kith?user=kith&password=hunter2%21&sslmode=require",
		"in the query, hidden": "postgres://db.example/kith?sslmode=require&p%61ssword=hunter2%21&user=kith",
		"in both":              "postgres://kith:first@db.example/kith?password=hunter2!&sslmode=require",
	} {
		if err := db.Backup(t.Context(), address, filepath.Join(t.TempDir(), "backup")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		arguments, password := read(t, dir+"/arguments"), read(t, dir+"/password")
		if strings.Contains(arguments, "hunter2") || strings.Contains(arguments, "first") || password != "hunter2!" {
			t.Errorf("%s: pg_dump %s with the password %q", name, arguments, password)
		}
		if !strings.Contains(arguments, "db.example/kith") || !strings.Contains(arguments, "sslmode=require") || !strings.Contains(arguments, "kith") {
			t.Errorf("%s: what else is in the address is lost: %s", name, arguments)
		}
	}
	err := db.Backup(t.Context(), "postgres://kith@db.example/kith?sslkey=k.pem&sslpassword=hunter2", filepath.Join(t.TempDir(), "backup"))
	if err == nil || !strings.Contains(err.Error(), "sslkey") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a passphrase: %v", err)
	}
	// The programs would leave their settings on connections that others use.
	err = db.Backup(t.Context(), "postgres://kith:hunter2@db.example/kith?pool_mode=transaction", filepath.Join(t.TempDir(), "backup"))
	if err == nil || !strings.Contains(err.Error(), "pooler") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("through a pooler: %v", err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
