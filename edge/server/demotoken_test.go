package server

import (
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// The demo account's token is public. Paths for members refuse it like an invalid token; the
// sandbox's paths ignore all tokens.
func TestDemoTokenOutsideTheSandbox(t *testing.T) {
	t.Parallel()
	s := start(t, newServer(t, testConfig(backendtest.New())))
	line := "Authorization: Bearer " + backendtest.TokenSandbox
	const search = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_connections","arguments":{"query":"zoe"}}}`
	for name, request := range map[string]string{
		"tools/call":      post("/mcp/v1", search, line, "Idempotency-Key: k"),
		"ping":            post("/mcp/v1", ping, line),
		"deprecated path": post("/mcp", search, line),
		"identity":        post("/agent/identity", `{"type":"service_auth"}`, line),
	} {
		if r := raw(t, s, request); r.status != 401 || !strings.Contains(r.header.Get("WWW-Authenticate"), `error="invalid_token"`) {
			t.Errorf("%s: %d %v", name, r.status, r.header)
		}
	}
	for _, path := range []string{"/mcp/sandbox", "/sandbox/mcp/v1", "/sandbox/mcp/sandbox"} {
		for _, bearer := range []string{line, "Authorization: Bearer dead", "Kith-Sandbox-Visitor: 192.0.2.1"} {
			if r := raw(t, s, post(path, search, bearer)); r.status != 200 {
				t.Errorf("%s with %s: %d %s", path, bearer, r.status, r.body)
			}
		}
	}
}
