package harness

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	_ "modernc.org/sqlite" // the driver
)

// CheckOneSentence fails the test unless the command failed and gave the reason in one
// line. The log line about the starting build may come before it.
func CheckOneSentence(t *testing.T, done Outcome, words ...string) {
	t.Helper()
	if done.Code == 0 {
		t.Errorf("the exit code is 0; standard output: %s", done.Stdout)
	}
	complaint := done.Stderr
	if first, rest, _ := strings.Cut(complaint, "\n"); strings.Contains(first, "starting kith") && strings.Contains(first, StampedVersion) {
		complaint = rest
	}
	line, rest, _ := strings.Cut(complaint, "\n")
	if !strings.HasPrefix(line, "kith: ") || strings.TrimSpace(rest) != "" {
		t.Errorf("standard error is not one line with the reason: %q", done.Stderr)
	}
	for _, trace := range []string{"goroutine ", "panic", ".go:", "0x", "runtime error", "DATA RACE"} {
		if strings.Contains(done.Stdout+done.Stderr, trace) {
			t.Errorf("standard error has a stack trace or Go source path: %s", done.Stderr)
		}
	}
	for _, word := range words {
		if !strings.Contains(strings.ToLower(line), strings.ToLower(word)) {
			t.Errorf("standard error is %q, want %q in it", line, word)
		}
	}
	Secrets.MustNotBeIn(t, "the complaint", done.Stderr)
}

// RunBriefly runs kith in the folder, as another user if one is given. kith should exit on
// its own; if it does not, it is stopped, and its exit code 0 fails the check.
func RunBriefly(t *testing.T, folder string, env []string, as *syscall.Credential, args ...string) Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout/3)
	defer cancel()
	command := exec.CommandContext(ctx, PlainBinary, args...)
	command.Dir, command.Env = folder, append(BareEnvironment(), env...)
	command.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	return RunToEnd(t, command, "")
}

// RunShell runs a line in a shell, as a user who copied it would, and returns its output.
func RunShell(t *testing.T, line string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-c", line)
	command.Dir, command.Env = t.TempDir(), []string{"PATH=" + os.Getenv("PATH")}
	done := RunToEnd(t, command, "")
	if done.Code != 0 || done.Stderr != "" {
		t.Fatalf("%s\nexit code %d: %s", line, done.Code, done.Stderr)
	}
	return done.Stdout
}
