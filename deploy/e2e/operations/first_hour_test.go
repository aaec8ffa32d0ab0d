// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/operations -run TestFirstHour

package operations

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// server is a machine whose folders are below one, and on which nothing is installed or started.
type server struct {
	folder string
	env    []string
}

func newServer(t *testing.T) server {
	t.Helper()
	s := server{folder: t.TempDir()}
	for _, folder := range []string{"bin", "etc", "lib", "root", "trial", "backups"} {
		if err := os.Mkdir(filepath.Join(s.folder, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range []string{"systemctl", "apt", "chown"} {
		if err := os.WriteFile(filepath.Join(s.folder, "bin", program), []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(s.path("etc/kith.env"), []byte("KITH_DATABASE_URL="+s.path("lib/kith.db")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.env = []string{
		"PATH=" + s.path("bin") + ":" + filepath.Dir(harness.PlainBinary) + ":" + os.Getenv("PATH"), "HOME=" + s.folder,
		"KITH_ENV_FILE=" + s.path("etc/kith.env"), "KITH_ADMIN_ADDR=off",
	}
	return s
}

func (s server) path(name string) string { return filepath.Join(s.folder, name) }

// run runs documented commands with the folders of this server, and returns what they print.
func (s server) run(t *testing.T, commands string) string {
	t.Helper()
	commands = strings.NewReplacer(
		"/var/lib/kith-trial", s.path("trial/new"), "/var/lib/kith", s.path("lib"), "/var/backups/kith", s.path("backups"), "/root/", s.path("root")+"/",
		"/etc/kith/", s.path("etc")+"/", "-o kith -g kith ", "",
	).Replace(commands)
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", commands)
	command.Dir, command.Env = s.folder, s.env
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v\n%s", commands, err, out)
	}
	return string(out)
}

// TestFirstHour runs the commands of first-hour.md that need neither systemd nor a public address: settings, the trial of a
// restore, and the move to another server.
func TestFirstHour(t *testing.T) {
	t.Parallel()
	old, next := newServer(t), newServer(t)
	block := func(heading string, n int) string {
		blocks := documented(t, "first-hour.md", "## "+heading)
		if len(blocks) <= n {
			t.Fatalf("%q has %d blocks of commands", heading, len(blocks))
		}
		return blocks[n]
	}
	tls, public, found := strings.Cut(block("Domain and TLS", 0), "kith doctor --public")
	if !found || strings.TrimSpace(public) != "https://kith.example" {
		t.Errorf("the check of the public address is %q", public)
	}
	old.run(t, tls)
	if got := old.run(t, "kith config"); !strings.Contains(got, "KITH_BASE_URL=https://kith.example\n") || !strings.Contains(got, "KITH_ACME=true\n") {
		t.Errorf("the settings are\n%s", got)
	}

	old.run(t, "kith migrate")
	if got := old.run(t, block("The first account", 0)); !strings.Contains(got, "https://kith.example/owner") {
		t.Errorf("the link of the owner is %q", got)
	}
	old.run(t, "printf 'correct horse battery' | kith member create ada --email ada@example.com --password-stdin; kith token create ada --name laptop; kith secret create")
	tokens := old.run(t, "kith token list ada")
	if got := old.run(t, block("Back up, and try a restore", 1)); !strings.Contains(got, "ada@example.com") {
		t.Errorf("the trial of a restore prints\n%s", got)
	}
	if _, err := os.Stat(old.path("trial/new")); !os.IsNotExist(err) {
		t.Errorf("the trial is left: %v", err)
	}

	old.run(t, block("Move to another server", 0))
	for from, to := range map[string]string{"root/kith-move": "root/kith-move", "root/kith-move.key": "root/kith-move.key"} {
		content, err := os.ReadFile(old.path(from))
		if err == nil {
			err = os.WriteFile(next.path(to), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	next.run(t, "kith migrate") // as the package's start did
	move, _, found := strings.Cut(block("Move to another server", 1), "systemctl start kith\n")
	if !found {
		t.Error("nothing starts the new server")
	}
	next.run(t, move)
	if got := next.run(t, "kith token list ada"); got != tokens {
		t.Errorf("the tokens were\n%sand are\n%s", tokens, got)
	}
	for _, check := range []string{"database", "files", "secret key"} {
		if got := next.run(t, "kith doctor || true"); !strings.Contains(got, "ok    "+check) {
			t.Errorf("%s on the new server:\n%s", check, got)
		}
	}
}
