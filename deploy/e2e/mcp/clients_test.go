// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run 'TestClients|TestClientsSignIn'

package mcp

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
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

// TestClientsSignIn: every client that can sign in starts without a credential at the address that /connect gives it.
// It registers, sends the person to sign in, and calls a tool as them.
func TestClientsSignIn(t *testing.T) {
	remote := func(version string) func(*testing.T, *harness.Service) *exec.Cmd {
		return func(t *testing.T, s *harness.Service) *exec.Cmd {
			return harness.NodeCommand(t, map[string]string{"MCP_REMOTE_CONFIG_DIR": t.TempDir(), "BROWSER": "true"},
				harness.NodeScript(t, version, "dist", "proxy.js"), s.Base+harness.PathMember)
		}
	}
	ways := map[string]func(*testing.T, *harness.Service) *exec.Cmd{
		"mcp-remote": remote("mcp-remote"), "mcp-remote-0.1.37": remote("mcp-remote-0.1.37"), "inspector": inspector,
	}
	for _, name := range []string{
		"@modelcontextprotocol/sdk", "@modelcontextprotocol/client", "@ai-sdk/mcp", "@openai/agents", "@langchain/mcp-adapters", "@mastra/mcp",
	} {
		ways[name] = func(t *testing.T, s *harness.Service) *exec.Cmd {
			secrets := filepath.Join(t.TempDir(), "secrets")
			t.Cleanup(func() { harness.Secrets.KeepFile(t, secrets) })
			return harness.NodeCommand(t, map[string]string{
				"BASE_URL": s.Base, "SECRETS_FILE": secrets, "OPENAI_AGENTS_DISABLE_TRACING": "1", "MASTRA_TELEMETRY_DISABLED": "1",
			}, "sign-in.mjs", name)
		}
	}
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		for name, start := range ways {
			t.Run(name, func(t *testing.T) { signIn(t, s, start(t, s), strings.HasPrefix(name, "mcp-remote")) })
		}
	})
}

// inspector returns the Inspector's command line. It tells where to sign in only on a terminal, which script makes.
func inspector(t *testing.T, s *harness.Service) *exec.Cmd {
	t.Helper()
	command := harness.NodeCommand(t, map[string]string{"HOME": t.TempDir()},
		harness.NodeScript(t, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js"), "--cli", s.Base+harness.PathMember, "--transport", "http",
		"--method", "tools/call", "--tool-name", "get_account", "--callback-url", "http://"+harness.FreeAddress(t)+"/callback")
	terminal := exec.CommandContext(t.Context(), "script", "-qec", strings.Join(command.Args, " "), "/dev/null")
	terminal.Env = command.Env
	return terminal
}

// toSignIn is where a client sends the person, at the end of a line or before a control character of a terminal.
var toSignIn = regexp.MustCompile(`/oauth/authorize\?[^\s\x07\x1b]+`)

// signIn runs a client, signs a person in where it sends them, and wants it to answer with their account. A client that
// speaks MCP is told what to call.
func signIn(t *testing.T, s *harness.Service, command *exec.Cmd, speaks bool) {
	t.Helper()
	person := s.NewPerson(t)
	in, inErr := command.StdinPipe()
	out, outErr := command.StdoutPipe()
	log, logErr := command.StderrPipe()
	for _, err := range []error{inErr, outErr, logErr, command.Start()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _, _ = in.Close(), command.Process.Kill() })
	said := make(chan string)
	var reading sync.WaitGroup
	for _, stream := range []io.Reader{out, log} {
		reading.Go(func() {
			lines := bufio.NewScanner(stream)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				select {
				case said <- lines.Text():
				case <-t.Context().Done():
					return
				}
			}
		})
	}
	go func() {
		reading.Wait()
		close(said)
	}()
	var all []string
	asked := ""
	for line := range said {
		all = append(all, line)
		if strings.Contains(line, person["MEMBER_USERNAME"]) {
			return
		}
		if found := toSignIn.FindString(line); asked == "" && found != "" {
			asked = found
			comeBack(t, s.Consent(t, person, asked))
			if speaks {
				tell(t, in)
			}
		}
	}
	t.Errorf("it does not answer with the account (asked to sign in: %t):\n%s", asked != "", strings.Join(all[max(0, len(all)-40):], "\n"))
}

// comeBack follows the redirect to the client.
func comeBack(t *testing.T, to *url.URL) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	back, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = back.Body.Close()
}

// tell calls a tool over MCP.
func tell(t *testing.T, in io.Writer) {
	t.Helper()
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, harness.ToolCall(t, "get_account", harness.Arguments{}),
	} {
		if _, err := fmt.Fprintln(in, message); err != nil {
			t.Fatal(err)
		}
	}
}
