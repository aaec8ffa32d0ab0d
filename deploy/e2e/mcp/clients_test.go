// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run 'TestClients|TestClientsSignIn'

package mcp

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestClients: the clients that agents are built with, without a credential and with a
// member's token.
func TestClients(t *testing.T) {
	calls, err := os.ReadFile(wrongCalls)
	if err != nil {
		t.Fatal(err)
	}
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		agent, names := wrongNetwork(t, s)
		folder := t.TempDir()
		file := filepath.Join(folder, "wrong-calls.jsonl")
		if err := os.WriteFile(file, []byte(names.Replace(string(calls))), 0o600); err != nil {
			t.Fatal(err)
		}
		harness.RunNodeTests(t, "clients.test.mjs", map[string]string{
			"BASE_URL": s.Base, "MEMBER_TOKEN": agent.Bearer, "WRONG_CALLS": file,
			"MCP_REMOTE_CONFIG_DIR": folder, "OPENAI_AGENTS_DISABLE_TRACING": "1", "MASTRA_TELEMETRY_DISABLED": "1",
		})
	})
}

// TestClientsSignIn: mcp-remote, an old version too, starts without a credential at the address that /connect
// gives it. It registers, sends the person to sign in, and calls a tool as them.
func TestClientsSignIn(t *testing.T) {
	authorize := regexp.MustCompile(`/oauth/authorize\?\S+`)
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		for _, version := range []string{"mcp-remote", "mcp-remote-0.1.37"} {
			t.Run(version, func(t *testing.T) {
				person := s.NewPerson(t)
				command := harness.NodeCommand(t, map[string]string{"MCP_REMOTE_CONFIG_DIR": t.TempDir(), "BROWSER": "true"},
					harness.NodeScript(t, version, "dist", "proxy.js"), s.Base+harness.PathMember)
				in, inErr := command.StdinPipe()
				out, outErr := command.StdoutPipe()
				log, logErr := command.StderrPipe()
				for _, err := range []error{inErr, outErr, logErr, command.Start()} {
					if err != nil {
						t.Fatal(err)
					}
				}
				t.Cleanup(func() { _, _ = in.Close(), command.Process.Kill() })
				asked := ""
				said := bufio.NewScanner(log)
				for asked == "" && said.Scan() {
					asked = authorize.FindString(said.Text())
				}
				if asked == "" {
					t.Fatal("it does not ask the person to sign in")
				}
				go func() { _, _ = io.Copy(io.Discard, log) }() // it stops while nobody reads
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Consent(t, person, asked).String(), nil)
				if err != nil {
					t.Fatal(err)
				}
				back, err := http.DefaultClient.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				_ = back.Body.Close()
				for _, message := range []string{
					`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}`,
					`{"jsonrpc":"2.0","method":"notifications/initialized"}`, harness.ToolCall(t, "get_account", harness.Arguments{}),
				} {
					if _, err := fmt.Fprintln(in, message); err != nil {
						t.Fatal(err)
					}
				}
				answers := bufio.NewScanner(out)
				answers.Buffer(nil, 1<<20)
				for answers.Scan() {
					if strings.Contains(answers.Text(), `"structuredContent"`) {
						if !strings.Contains(answers.Text(), person["MEMBER_USERNAME"]) {
							t.Errorf("it answers %s", answers.Text())
						}
						return
					}
				}
				t.Errorf("no answer to the call: %v", answers.Err())
			})
		}
	})
}
