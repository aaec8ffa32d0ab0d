package e2e

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// minNode is the major version of Node.js that the judges need.
const minNode = 22

// judgeScript returns the path of an npm package's program.
func judgeScript(t *testing.T, parts ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("the outside judges are npm packages")
	}
	script, err := filepath.Abs(filepath.Join(append([]string{"node_modules"}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(script); err != nil {
		t.Fatalf("%s is missing: run `npm ci` in deploy/e2e, or `make test`, which does", script)
	}
	return script
}

// nodeBinary finds a Node.js that is new enough: the one in the path, or the one
// that npm ci brought along.
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
	brought, err := filepath.Abs(filepath.Join("node_modules", "node-"+runtime.GOOS+"-"+arch, "bin", "node"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(brought); err != nil {
		t.Fatalf("there is no Node.js %d or newer in the path, and npm ci brought none for this machine", minNode)
	}
	return brought
}

// node runs a script with arguments and settings.
func node(t *testing.T, settings map[string]string, args ...string) outcome {
	t.Helper()
	command := exec.CommandContext(t.Context(), nodeBinary(t), args...)
	command.Env = append(bareEnvironment(), environment(settings)...)
	return runToEnd(t, command, "")
}

// runNodeTests runs a file of Node.js tests.
func runNodeTests(t *testing.T, file string, settings map[string]string) {
	t.Helper()
	judgeScript(t, "@modelcontextprotocol", "sdk", "package.json")
	const longest = "--test-timeout=600000" // milliseconds; waiting for what never comes ends with the name of who waits
	done := node(t, settings, "--test", longest, "--test-reporter=spec", file)
	if passed := regexp.MustCompile(`(?m)^ℹ pass [1-9]`).MatchString(done.stdout); !passed || done.code != 0 {
		// What failed is told in full at the end.
		_, failures, found := strings.Cut(done.stdout, "failing tests:")
		if !found {
			failures = done.stdout
		}
		const most = 6000
		t.Errorf("%s: %s%s", file, failures[:min(len(failures), most)], done.stderr)
	}
}

// TestSDKInSandbox: the official client, without a credential.
func TestSDKInSandbox(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		runNodeTests(t, "sandbox.test.mjs", map[string]string{"BASE_URL": s.base})
	})
}

// TestSDKOfMember: the official client, with a member's token.
func TestSDKOfMember(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		for _, path := range []string{pathCurrent, pathDeprecated} {
			ada := s.newMember(t)
			t.Run(path, func(t *testing.T) {
				runNodeTests(t, "member.test.mjs", map[string]string{
					"BASE_URL": s.base, "MCP_PATH": path, "MEMBER_USERNAME": ada.username, "MEMBER_TOKEN": ada.token(t).bearer,
					"READER_TOKEN": ada.token(t, "connections", "timeline", "account").bearer, "NOTE_TEXT": secrets.text("note"),
				})
			})
		}
	})
}

// TestConformance: the official suite, in the newest revision and in the one
// spoken here. What may fail is in the baseline, with its reason; an entry that
// does not fail any more fails the test, so that the baseline stays true.
func TestConformance(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		script := judgeScript(t, "@modelcontextprotocol", "conformance", "dist", "index.js")
		for name, flags := range map[string][]string{"active suite": nil, "2025-06-18": {"--spec-version", "2025-06-18"}} {
			t.Run(name, func(t *testing.T) {
				args := append([]string{script, "server", "--url", s.base + pathSandbox, "--expected-failures", "conformance-baseline.yml"}, flags...)
				done := node(t, nil, args...)
				_, summary, _ := strings.Cut(done.stdout, "=== SUMMARY ===")
				if done.code != 0 || !strings.Contains(summary, "✓ server-initialize") {
					t.Errorf("exit code %d: %s%s", done.code, summary, done.stderr)
				}
			})
		}
	})
}

// TestConformanceOfAuthorization: the same suite looks at the authorization
// server. All of it passes, so that there is no baseline.
func TestConformanceOfAuthorization(t *testing.T) {
	eachSite(t, func(t *testing.T, s *service) {
		s.start()
		_, port, err := net.SplitHostPort(freeAddress(t))
		if err != nil {
			t.Fatal(err)
		}
		settings := s.person(t)
		settings["CALLBACK_PORT"] = port
		s.runWithBrowser(t, "conformance.test.mjs", settings)
	})
}

// TestInspector: its command line lists the tools and calls one.
func TestInspector(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		script := judgeScript(t, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
		inspect := func(path string, into any, flags ...string) {
			t.Helper()
			args := append([]string{script, "--cli", s.base + path, "--transport", "http"}, flags...)
			done := node(t, nil, args...)
			if err := json.Unmarshal([]byte(done.stdout), into); err != nil || done.code != 0 {
				t.Fatalf("exit code %d: %s%s", done.code, done.stdout, done.stderr)
			}
		}
		var list struct{ Tools []listedTool }
		inspect(pathSandbox, &list, "--method", "tools/list")
		if len(list.Tools) < 8 {
			t.Errorf("it lists %v", list.Tools)
		}
		var result toolResult
		inspect(pathSandbox, &result, "--method", "tools/call", "--tool-name", "search_connections", "--tool-arg", "query=microgrids")
		if result.IsError || len(at[[]any](t, result.Structured, "hits")) == 0 {
			t.Errorf("the call answers %s", result.text())
		}
		bearer := s.newMember(t).token(t).bearer
		inspect(pathCurrent, &result, "--header", "Authorization: Bearer "+bearer, "--method", "tools/call", "--tool-name", "create_connection", "--tool-arg", "name=Ina Spector")
		if result.IsError || at[string](t, result.Structured, "connection", "name") != "Ina Spector" {
			t.Errorf("the call answers %s", result.text())
		}
	})
}
