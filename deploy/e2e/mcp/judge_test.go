// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run 'TestSDKInSandbox|TestSDKOfMember|TestConformance|TestInspector'

package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestSDKInSandbox: the official client, without a credential.
func TestSDKInSandbox(t *testing.T) {
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		harness.RunNodeTests(t, "sandbox.test.mjs", map[string]string{"BASE_URL": s.Base})
	})
}

// TestSDKOfMember: the official client, with a member's token.
func TestSDKOfMember(t *testing.T) {
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		for _, path := range []string{harness.PathCurrent, harness.PathDeprecated} {
			ada := s.NewMember(t)
			t.Run(path, func(t *testing.T) {
				harness.RunNodeTests(t, "member.test.mjs", map[string]string{
					"BASE_URL": s.Base, "MCP_PATH": path, "MEMBER_USERNAME": ada.Username, "MEMBER_TOKEN": ada.Token(t).Bearer,
					"READER_TOKEN": ada.Token(t, "connections", "timeline", "account").Bearer, "NOTE_TEXT": harness.Secrets.Text("note"),
				})
			})
		}
	})
}

// TestConformance: the official suite, in its newest revision and in the one that Kith
// implements. Tests that may fail are in the baseline, with the reason; a baseline entry
// that passes fails the test, so the baseline stays correct.
func TestConformance(t *testing.T) {
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		script := harness.NodeScript(t, "@modelcontextprotocol", "conformance", "dist", "index.js")
		for name, flags := range map[string][]string{"active suite": nil, "2025-06-18": {"--spec-version", "2025-06-18"}} {
			t.Run(name, func(t *testing.T) {
				args := append([]string{script, "server", "--url", s.Base + harness.PathSandbox, "--expected-failures", "conformance-baseline.yml"}, flags...)
				done := harness.RunNode(t, nil, args...)
				_, summary, _ := strings.Cut(done.Stdout, "=== SUMMARY ===")
				if done.Code != 0 || !strings.Contains(summary, "✓ server-initialize") {
					t.Errorf("exit code %d: %s%s", done.Code, summary, done.Stderr)
				}
			})
		}
	})
}

// TestInspector: the command line of MCP Inspector lists the tools and calls one.
func TestInspector(t *testing.T) {
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		script := harness.NodeScript(t, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
		inspect := func(path string, into any, flags ...string) {
			t.Helper()
			args := append([]string{script, "--cli", s.Base + path, "--transport", "http"}, flags...)
			done := harness.RunNode(t, nil, args...)
			if err := json.Unmarshal([]byte(done.Stdout), into); err != nil || done.Code != 0 {
				t.Fatalf("exit code %d: %s%s", done.Code, done.Stdout, done.Stderr)
			}
		}
		var list struct{ Tools []harness.ListedTool }
		inspect(harness.PathSandbox, &list, "--method", "tools/list")
		if len(list.Tools) < 8 {
			t.Errorf("it lists %v", list.Tools)
		}
		var result harness.ToolResult
		inspect(harness.PathSandbox, &result, "--method", "tools/call", "--tool-name", "search_connections", "--tool-arg", "query=microgrids")
		if result.IsError || len(harness.At[[]any](t, result.Structured, "hits")) == 0 {
			t.Errorf("the call answers %s", result.Text())
		}
		bearer := s.NewMember(t).Token(t).Bearer
		inspect(harness.PathCurrent, &result, "--header", "Authorization: Bearer "+bearer, "--method", "tools/call", "--tool-name", "create_connection", "--tool-arg", "name=Ina Spector")
		if result.IsError || harness.At[string](t, result.Structured, "connection", "name") != "Ina Spector" {
			t.Errorf("the call answers %s", result.Text())
		}
	})
}
