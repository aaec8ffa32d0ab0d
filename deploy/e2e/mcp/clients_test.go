// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestClients

package mcp

import (
	"os"
	"path/filepath"
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
