package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// completion returns the script for a shell.
func completion(t *testing.T, shell string) string {
	t.Helper()
	var script, errors bytes.Buffer
	if code := run(t.Context(), []string{"completion", shell}, nil, &script, &errors); code != 0 || errors.Len() > 0 {
		t.Fatalf("%d %s", code, &errors)
	}
	return script.String()
}

// TestCompletion: bash completes what a person would type, and the scripts of all shells have every command.
func TestCompletion(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "kith")
	if err := os.WriteFile(script, []byte(completion(t, "bash")), 0o600); err != nil {
		t.Fatal(err)
	}
	for typed, want := range map[string]string{
		"ser": "serve", "--base": "--base-url", "member cre": "create", "member create --em": "--email", "doctor --pub": "--public", "--log-level info tok": "token", "token": "token",
	} {
		before, last := "", typed
		if at := strings.LastIndex(typed, " "); at >= 0 {
			before, last = typed[:at], typed[at+1:]
		}
		line := "source " + script + "; COMP_WORDS=(kith " + before + " '" + last + "'); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _kith; printf '%s ' \"${COMPREPLY[@]}\""
		out, err := exec.CommandContext(t.Context(), "bash", "-euc", line).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%q completes to %q, not %q: %v", typed, out, want, err)
		}
	}
	for _, shell := range []string{"zsh", "fish", "bash"} {
		text := completion(t, shell)
		for _, leaf := range leaves(t) {
			if !strings.Contains(text, leaf[strings.LastIndex(leaf, " ")+1:]) {
				t.Errorf("%s does not know %s", shell, leaf)
			}
		}
		if path, err := exec.LookPath(shell); err == nil {
			check := exec.CommandContext(t.Context(), path, "-n")
			check.Stdin = strings.NewReader(text)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", shell, err, out)
			}
		}
	}
}
