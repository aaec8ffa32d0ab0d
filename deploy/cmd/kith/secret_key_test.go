package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// With SQLite the key is beside the database; PostgreSQL needs the setting.
func TestSecretKeyCommands(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KITH_DATABASE_URL", filepath.Join(dir, "kith.db"))
	path := filepath.Join(dir, "secret.key")
	kith := func(args ...string) (int, string) {
		var out strings.Builder
		code := run(t.Context(), args, strings.NewReader(""), &out, &out)
		return code, out.String()
	}
	if code, out := kith("migrate"); code != 0 {
		t.Fatal(out)
	}
	if code, out := kith("secret", "rotate"); code == 0 || !strings.Contains(out, "secret.key") {
		t.Errorf("without a key: %d %s", code, out)
	}
	if code, out := kith("secret", "create"); code != 0 || !strings.Contains(out, path) {
		t.Fatalf("%d %s", code, out)
	}
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if code, out := kith("secret", "create"); code != 0 {
		t.Errorf("again: %d %s", code, out)
	}
	if again, err := os.ReadFile(path); err != nil || string(again) != string(first) {
		t.Error("a second create replaced the key")
	}
	if code, out := kith("secret", "rotate"); code != 0 || !strings.Contains(out, "0 secrets") {
		t.Errorf("%d %s", code, out)
	}
	rotated, err := os.ReadFile(path)
	if err != nil || string(rotated) == string(first) || strings.Contains(string(rotated), strings.Fields(string(first))[len(strings.Fields(string(first)))-1]) {
		t.Errorf("the old key stays: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	t.Setenv("KITH_DATABASE_URL", "postgres://nobody@localhost/none")
	if code, out := kith("secret", "create"); code == 0 || !strings.Contains(out, "KITH_SECRET_KEY_FILE") {
		t.Errorf("for PostgreSQL: %d %s", code, out)
	}
}
