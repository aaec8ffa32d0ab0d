// Run this file alone: deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run 'TestProtocolErrors|TestVersionNegotiation|TestVersionHeader|TestNotifications|TestDeprecatedPath'

package mcp

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/e2e/harness"
)

// TestProtocolErrors: these requests get a 200 with a JSON-RPC error and the request's
// id. No code is in the range that MCP reserves since 2026-07-28.
func TestProtocolErrors(t *testing.T) {
	tests := map[string]struct {
		body string
		code int
	}{
		"an unknown method":          {`{"jsonrpc":"2.0","id":"a","method":"roots/list"}`, harness.CodeUnknownMethod},
		"a method in another case":   {`{"jsonrpc":"2.0","id":"a","method":"Tools/List"}`, harness.CodeUnknownMethod},
		"an empty method":            {`{"jsonrpc":"2.0","id":"a","method":""}`, harness.CodeUnknownMethod},
		"a method with a NUL":        {`{"jsonrpc":"2.0","id":"a","method":"ping\u0000"}`, harness.CodeUnknownMethod},
		"a probe of a newer client":  {`{"jsonrpc":"2.0","id":"a","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, harness.CodeUnknownMethod},
		"an unknown tool":            {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"drop_database"}}`, harness.CodeInvalidParams},
		"a tool in another case":     {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"Get_Account"}}`, harness.CodeInvalidParams},
		"a tool with a space":        {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_account "}}`, harness.CodeInvalidParams},
		"a procedure of the backend": {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"/kith.access.v1.AccessService/GetPrincipal"}}`, harness.CodeInvalidParams},
		"no tool":                    {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{}}`, harness.CodeInvalidParams},
		"no params":                  {`{"jsonrpc":"2.0","id":"a","method":"tools/call"}`, harness.CodeInvalidParams},
		"params as an array":         {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":["get_account"]}`, harness.CodeInvalidParams},
		"a tool that is a number":    {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":1}}`, harness.CodeInvalidParams},
		"Name beside name":           {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_account","Name":"add_note"}}`, harness.CodeInvalidParams},
		"ARGUMENTS beside arguments": {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_account","arguments":{},"ARGUMENTS":{}}}`, harness.CodeInvalidParams},
		"arguments as an array":      {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_account","arguments":[]}}`, harness.CodeInvalidParams},
		"arguments as a string":      {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_account","arguments":"{}"}}`, harness.CodeInvalidParams},
		"a bad cursor":               {`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"cursor":"bm8="}}`, harness.CodeInvalidParams},
		"an empty cursor":            {`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"cursor":""}}`, harness.CodeInvalidParams},
		"a numeric protocol version": {`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":20250618}}`, harness.CodeInvalidParams},
	}
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		live := s.NewMember(t).Agent(t)
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				for _, a := range []harness.Agent{live, s.Agent(harness.PathDeprecated, live.Bearer), s.SandboxAgent(), s.Agent(harness.PathSandboxOld, "")} {
					got := a.Post(t, test.body)
					r := got.Reply(t)
					if r.Error == nil {
						t.Fatalf("%s: got %d %s, want 200 and %d", a.Path, got.Status, got.Body, test.code)
					}
					harness.CheckSame(t, a.Path, []any{got.Status, r.Error.Code, string(r.ID)}, []any{http.StatusOK, test.code, `"a"`})
					harness.CheckJSONBody(t, got)
				}
			})
		}
	})
}

// TestVersionNegotiation: the answer has the client's version if it is supported, else the
// default.
func TestVersionNegotiation(t *testing.T) {
	tests := map[string]string{
		"2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26",
		"2024-11-05": "2025-06-18", "2025-11-25": "2025-06-18", "2026-07-28": "2025-06-18", "": "2025-06-18", "latest": "2025-06-18",
	}
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		for offered, want := range tests {
			// Some clients send the version that they offer as a header, too.
			got := s.SandboxAgent().Post(t, harness.Request(t, "initialize", map[string]any{"protocolVersion": offered}), "MCP-Protocol-Version: "+offered)
			if got.Status != http.StatusOK || !strings.Contains(got.Body, `"protocolVersion":"`+want+`"`) {
				t.Errorf("%q: got %d %s, want %s", offered, got.Status, got.Body, want)
			}
			harness.CheckJSONBody(t, got)
		}
	})
}

// TestVersionHeader: without the header the version is 2025-03-26; an unsupported version
// is refused.
func TestVersionHeader(t *testing.T) {
	const header = "MCP-Protocol-Version: "
	tests := map[string]struct {
		headers []string
		status  int
	}{
		"absent":        {nil, http.StatusOK},
		"2025-06-18":    {[]string{header + "2025-06-18"}, http.StatusOK},
		"2025-03-26":    {[]string{header + "2025-03-26"}, http.StatusOK},
		"an older one":  {[]string{header + "2024-11-05"}, http.StatusBadRequest},
		"a newer one":   {[]string{header + "2026-07-28"}, http.StatusBadRequest},
		"empty":         {[]string{header}, http.StatusBadRequest},
		"not a version": {[]string{header + "yes"}, http.StatusBadRequest},
		"sent twice":    {[]string{header + "2025-06-18", header + "2025-06-18"}, http.StatusBadRequest},
		"two in a list": {[]string{header + "2025-06-18, 2025-03-26"}, http.StatusBadRequest},
	}
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		for name, test := range tests {
			for method, body := range harness.Messages(t) {
				if method == "initialize" {
					continue
				}
				t.Run(name+" with "+method, func(t *testing.T) {
					got := s.SandboxAgent().Post(t, body, test.headers...)
					if test.status != http.StatusOK {
						harness.CheckMalformed(t, got, test.status, harness.CodeInvalidRequest)
					} else if got.Status >= http.StatusBadRequest {
						t.Errorf("got %d %s", got.Status, got.Body)
					}
				})
			}
		}
	})
}

// TestNotifications: notifications get an empty 202, and none runs a tool.
func TestNotifications(t *testing.T) {
	tests := map[string]string{
		"of the specification": `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		"of a cancelled call":  `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		"unknown":              `{"jsonrpc":"2.0","method":"notifications/nonsense","params":[1]}`,
		"ping":                 `{"jsonrpc":"2.0","method":"ping"}`,
		"a result":             `{"jsonrpc":"2.0","id":7,"result":{}}`,
		"an error":             `{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}`,
		"a writing tool call":  `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"create_connection","arguments":{"name":"Silent Susan"}}}`,
	}
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		live := s.NewMember(t).Agent(t)
		for name, body := range tests {
			for _, a := range []harness.Agent{live, s.SandboxAgent()} {
				got := a.Post(t, body)
				if got.Status != http.StatusAccepted || got.Body != "" {
					t.Errorf("%s: got %d %q, want 202 and an empty body", name, got.Status, got.Body)
				}
			}
		}
		if found := live.Find(t, "Silent Susan"); len(found) != 0 {
			t.Errorf("a notification ran a tool: %v", found)
		}
	})
}

// TestDeprecatedPath: /mcp still works, and every answer names its successor.
func TestDeprecatedPath(t *testing.T) {
	harness.EdgeOnly(t, func(t *testing.T, s *harness.Service) {
		live := s.NewMember(t).Agent(t)
		old := s.Agent(harness.PathDeprecated, live.Bearer)
		for name, got := range map[string]harness.Response{
			"a call":         old.Post(t, harness.ToolCall(t, "get_account", harness.Arguments{})),
			"a notification": old.Post(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`),
			"a refusal":      s.Agent(harness.PathDeprecated, "").Post(t, harness.Request(t, "ping", nil)),
			"bad JSON":       old.Post(t, "{"),
			"GET":            s.Send(t, http.MethodGet, harness.PathDeprecated, ""),
		} {
			if d := got.Header.Values("Deprecation"); len(d) != 1 || d[0] != "true" {
				t.Errorf("%s: Deprecation is %q", name, d)
			}
			if l := got.Header.Values("Link"); len(l) != 1 || !strings.Contains(l[0], "/mcp/v1>") || !strings.Contains(l[0], `rel="successor-version"`) {
				t.Errorf("%s: Link is %q", name, l)
			}
			if got.Header.Get("Sunset") != "" {
				t.Errorf("%s: no removal date is set, but Sunset is %q", name, got.Header.Get("Sunset"))
			}
		}
		for _, path := range []string{harness.PathCurrent, harness.PathSandbox, harness.PathSandboxOld} {
			if got := (s.Agent(path, "")).Post(t, harness.Request(t, "ping", nil)); got.Header.Get("Deprecation") != "" || got.Header.Get("Link") != "" {
				t.Errorf("%s: %v", path, got.Header)
			}
		}
	})
}
