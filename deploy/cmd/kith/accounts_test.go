package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An account moves with two commands: it is suspended here, active there, and can be deleted here.
func TestAccountMovesByCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	here, there, file := filepath.Join(dir, "here.db"), filepath.Join(dir, "there.db"), filepath.Join(dir, "ada.gz")
	for _, path := range []string{here, there} {
		command(t, path, "migrate")
	}
	const created = "Member ada was created"
	if out := command(t, here, "member create", "ada", "--email", "ada@example.com", "--password-stdin"); !strings.Contains(out, created) {
		t.Fatal(out)
	}
	for _, step := range []struct {
		database, name string
		args           []string
		says           string
	}{
		{here, "account export", []string{"ada", filepath.Join(dir, "no such folder", "x")}, "cannot be written"},
		{here, "account export", []string{"ada", filepath.Join(dir, "no such folder", "x"), "--move"}, "cannot be written"},
		{here, "member list", nil, "active"},
		{here, "account export", []string{"nobody", file}, `there is no member "nobody"`},
		{here, "account export", []string{"ada", file, "--move"}, "The member is suspended here"},
		{here, "account export", []string{"ada", file}, "already exists"},
		{here, "member list", nil, "suspended"},
		{here, "audit", []string{"ada"}, "Exported the account to another installation"},
		{here, "account import", []string{file}, "has the account already, as ada"},
		{there, "account import", []string{here}, "this is not a file from kith account export"},
		{there, "account import", []string{file + ".none"}, "no such file"},
		{there, "account import", []string{file}, "The account of ada was imported"},
		{there, "member list", nil, "active"},
		{there, "audit", []string{"ada"}, "Imported the account"},
		{there, "account delete", []string{"ada", "--confirm", "ada"}, "ada is not suspended"},
		{here, "account delete", []string{"ada", "--confirm", "eve"}, "nothing was deleted"},
		{here, "account delete", []string{"ada", "--confirm", "ada"}, "The account of ada is deleted"},
		{here, "audit", []string{"ada"}, `there is no member "ada"`},
		{here, "account import", []string{file}, "The account of ada was imported"},
	} {
		if out := command(t, step.database, step.name, step.args...); !strings.Contains(out, step.says) {
			t.Errorf("%s %v: %s", step.name, step.args, out)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the file: %v, %v", info, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.partial")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
