package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseEnvFile(t *testing.T) {
	t.Parallel()
	got, err := parseEnvFile(strings.NewReader("# a comment\n; another\n\n KITH_A = postgres://k:p#$w@db/kith \nKITH_B=\"with spaces\"\nKITH_C='single'\nKITH_D=\nKITH_E=\"\n"))
	want := map[string]string{"KITH_A": "postgres://k:p#$w@db/kith", "KITH_B": "with spaces", "KITH_C": "single", "KITH_D": "", "KITH_E": `"`}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	for _, wrong := range []string{"KITH_A", "=x", "export KITH_A=x"} {
		if _, err := parseEnvFile(strings.NewReader(wrong)); err == nil || !strings.Contains(err.Error(), "line 1 is not NAME=value") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// The file that the systemd unit reads has the database, so that commands find it.
func TestShippedEnvFile(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile("../../systemd/kith.service")
	if err != nil || !strings.Contains(string(unit), "\nEnvironmentFile="+defaultEnvFile+"\n") || strings.Contains(string(unit), "Environment=KITH_DATABASE_URL") {
		t.Errorf("the unit has its settings elsewhere: %v\n%s", err, unit)
	}
	file, err := os.Open("../../systemd/kith.env")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if settings, err := parseEnvFile(file); err != nil || settings["KITH_DATABASE_URL"] != "/var/lib/kith/kith.db" {
		t.Errorf("got %q, %v", settings, err)
	}
}

func TestCommandsWithoutSettings(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{"": true, "version": true, "man": true, "member create --help": true, "member list": false, "serve": false} {
		if got := needsNothing(strings.Fields(line)); got != want {
			t.Errorf("kith %s: %t", line, got)
		}
	}
}

// The variables of the process come before those of the file, and a file that is named must be there.
func TestEnvFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kith.env")
	if err := os.WriteFile(file, []byte("KITH_TEST_ONE=file\nKITH_TEST_TWO=file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KITH_ENV_FILE", "")
	t.Setenv("KITH_TEST_ONE", "process")
	t.Setenv("KITH_TEST_TWO", "")
	if err := os.Unsetenv("KITH_TEST_TWO"); err != nil {
		t.Fatal(err)
	}
	if err := readEnvFile([]string{"member", "list"}); err != nil || os.Getenv("KITH_TEST_TWO") != "" {
		t.Errorf("without a file: %v", err)
	}
	for _, args := range [][]string{{"--env-file", file + ".none", "config"}, {"--env-file=" + file + ".none"}} {
		if err := readEnvFile(args); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	if err := readEnvFile([]string{"member", "list", "--env-file", file}); err != nil || os.Getenv("KITH_TEST_ONE") != "process" || os.Getenv("KITH_TEST_TWO") != "file" {
		t.Errorf("%q and %q, %v", os.Getenv("KITH_TEST_ONE"), os.Getenv("KITH_TEST_TWO"), err)
	}
}
