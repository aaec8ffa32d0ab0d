package main

import (
	"bytes"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// shown are the commands that print something of the database, with arguments. The first group
// changes nothing.
func shown() map[string][]string {
	return map[string][]string{
		"member list": nil, "token list": {"ada"}, "device list": {"ada"}, "feed list": {"ada"}, "client list": nil, "client show": {"cli_x"}, "audit": {"ada"}, "config": nil,
		"migrate": nil, "version": nil, "man": nil, "completion": {"bash"}, "owner-link": nil,
		"member create": {"bob", "--email", "bob@example.com", "--password-stdin"}, "member set": {"ada", "--locale", "de-DE"},
		"member set-plan": {"ada", "pro"}, "member limit": {"ada", "--credits", "5"}, "member find": {"ada@example.com"}, "member verify-email": {"ada"}, "member suspend": {"ada"}, "member resume": {"ada"},
		"member set-password": {"ada", "--password-stdin"}, "member revoke": {"ada"}, "member reset-factors": {"ada"},
		"token create": {"ada", "--name", "x"}, "token revoke": {"ada", "pat_x"}, "device create": {"ada", "--name", "x"}, "device revoke": {"ada", "pat_x"}, "feed create": {"ada", "--name", "x", "--part", "birthdays"}, "feed revoke": {"ada", "pat_x"}, "client revoke": {"cli_x"},
	}
}

// others are the commands that are not called here, and why.
func others() map[string]string {
	return map[string]string{
		"serve": "serves members and their agents", "backend": "serves members and their agents", "edge": "has no database",
		"backup": "writes the whole database, as operators must", "restore": "writes a database", "migrate-data": "writes a database", "health": "asks a running process",
		"member export": "writes what the member wrote, for them", "account export": "writes the whole account, to move it", "account import": "writes an account", "account delete": "deletes an account",
		"secret create": "writes the file with the secret key", "secret rotate": "writes the file with the secret key",
		"doctor": "counts, and asks the environment: e2e/operations",
	}
}

// An operator can look at a member by many commands, but only a backup has what the member wrote.
// A new command has to be listed here.
func TestNoCommandShowsNotes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kith.db")
	const secret = "xylophone"
	command(t, path, "migrate")
	command(t, path, "member create", "ada", "--email", "ada@example.com", "--password-stdin")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, statement := range []string{
		`INSERT INTO notes (tenant_id, id, body, pinned, noted_at, version, created_at, updated_at) SELECT id, 'not_x', 'xylophone', FALSE, created_at, 1, created_at, created_at FROM members`,
		`INSERT INTO connections (tenant_id, id, name, nickname, location, bio, starred, met_on, met_how, source, cadence_days, version, data_version, folded_name, created_at, updated_at)
SELECT id, 'con_x', 'xylophone', '', '', 'xylophone', FALSE, '', '', 'x', 0, 1, 0, 'xylophone', created_at, created_at FROM members`,
		`INSERT INTO clients (id, name, redirect_uris, created_at) SELECT 'cli_x', 'Agent', '["https://a.example/cb"]', created_at FROM members`,
		`INSERT INTO security_events (tenant_id, at, kind, subject, address, device, session_id, object_id, times, last_at)
SELECT id, created_at, 'signed_in', 's', '192.0.2.0/24', 'Firefox on Linux', '', '', 1, created_at FROM members`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	for _, leaf := range leaves(t) {
		args, called := shown()[leaf]
		if reason := others()[leaf]; called == (reason != "") {
			t.Errorf("the command %q has to be listed once in this test", leaf)
		}
		if !called {
			continue
		}
		if out := command(t, path, leaf, args...); strings.Contains(out, secret) {
			t.Errorf("%s shows what the member wrote:\n%s", leaf, out)
		}
	}
	if out := command(t, path, "audit", "ada"); !strings.Contains(out, "Signed in") || !strings.Contains(out, "192.0.2.0/24") || !strings.Contains(out, "Suspended the account") {
		t.Errorf("the events are:\n%s", out)
	}
	if out := command(t, path, "client show", "cli_x"); !strings.Contains(out, "https://a.example/cb") {
		t.Errorf("the client is:\n%s", out)
	}
}

// leaves returns the names of all commands, sorted.
func leaves(t *testing.T) []string {
	t.Helper()
	parser, err := kong.New(&commands{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, node := range parser.Model.Leaves(false) {
		name := node.Name
		for up := node.Parent; up != nil && up.Parent != nil; up = up.Parent {
			name = up.Name + " " + name
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// command runs a command with a database, and returns all that it prints, with its error.
func command(t *testing.T, path, name string, args ...string) string {
	t.Helper()
	var c commands
	parser, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	selected, err := parser.Parse(append(strings.Fields(name), args...))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	c.DatabaseURL = path
	var out bytes.Buffer
	in := strings.NewReader("a long enough one")
	if err := selected.Run(&program{ctx: t.Context(), in: in, out: &out, err: &out, settings: &c.settings, build: thisBuild()}); err != nil {
		return out.String() + err.Error()
	}
	return out.String()
}

// A command with other settings than the service's makes no empty database beside it, and says what to do.
func TestCommandsMakeNoDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kith.db")
	for _, name := range leaves(t) {
		args, called := shown()[name]
		if !called || slices.Contains([]string{"config", "migrate", "version", "man", "completion"}, name) {
			continue
		}
		if out := command(t, path, name, args...); !strings.Contains(out, "there is no database") {
			t.Errorf("%s: %s", name, out)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the database: %v", err)
	}
}
