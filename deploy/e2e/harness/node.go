package harness

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// minNode is the major version of Node.js that these programs need.
const minNode = 22

// NodeScript returns the path of a program of an npm package.
func NodeScript(t *testing.T, parts ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the external test tools are npm packages, which this run does not use")
	}
	script := Repository(append([]string{"deploy", "e2e", "node_modules"}, parts...)...)
	if _, err := os.Stat(script); err != nil {
		t.Fatalf("%s is missing: run `npm ci` in deploy/e2e, or `make test`, which does", script)
	}
	return script
}

// nodeBinary finds a Node.js that is new enough: the one in the path, or the one that
// npm ci installed.
func nodeBinary(t *testing.T) string {
	t.Helper()
	if found, err := exec.LookPath("node"); err == nil {
		version, _ := exec.CommandContext(t.Context(), found, "--version").Output()
		major, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(string(version)), "v"), ".")
		if n, err := strconv.Atoi(major); err == nil && n >= minNode {
			return found
		}
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	brought := Repository("deploy", "e2e", "node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node")
	if _, err := os.Stat(brought); err != nil {
		t.Fatalf("there is no Node.js %d or newer in the path, and npm ci installed none for this machine", minNode)
	}
	return brought
}

// NodeCommand returns the command that runs a script with settings, to be started by the caller.
func NodeCommand(t *testing.T, settings map[string]string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), nodeBinary(t), args...)
	command.Env = append(BareEnvironment(), Environment(settings)...)
	return command
}

// RunNode runs a script with arguments and settings.
func RunNode(t *testing.T, settings map[string]string, args ...string) Outcome {
	t.Helper()
	command := exec.CommandContext(t.Context(), nodeBinary(t), args...)
	command.Env = append(append(BareEnvironment(), Environment(settings)...), answersFolder+"="+answers.folder)
	return RunToEnd(t, command, "")
}

// RunNodeTests runs a file of Node.js tests.
func RunNodeTests(t *testing.T, file string, settings map[string]string) {
	t.Helper()
	NodeScript(t, "@modelcontextprotocol", "sdk", "package.json")
	const longest = "--test-timeout=600000" // milliseconds; a hanging test fails under its own name
	done := RunNode(t, settings, "--test", longest, "--test-reporter=spec", file)
	if passed := regexp.MustCompile(`(?m)^ℹ pass [1-9]`).MatchString(done.Stdout); !passed || done.Code != 0 {
		// The reporter lists failures in full at the end.
		_, failures, found := strings.Cut(done.Stdout, "failing tests:")
		if !found {
			failures = done.Stdout
		}
		const most = 6000
		t.Errorf("%s: %s%s", file, failures[:min(len(failures), most)], done.Stderr)
	}
}
