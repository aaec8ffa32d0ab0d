package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// TestProtocolErrors: these are answered with 200 and a JSON-RPC error with the
// request's id. None is in the range that MCP reserves since 2026-07-28.
func TestProtocolErrors(t *testing.T) {
	tests := map[string]struct {
		body string
		code int
	}{
		"an unknown method":             {`{"jsonrpc":"2.0","id":"a","method":"prompts/list"}`, codeUnknownMethod},
		"a method in another case":      {`{"jsonrpc":"2.0","id":"a","method":"Tools/List"}`, codeUnknownMethod},
		"an empty method":               {`{"jsonrpc":"2.0","id":"a","method":""}`, codeUnknownMethod},
		"a method with a NUL":           {`{"jsonrpc":"2.0","id":"a","method":"ping\u0000"}`, codeUnknownMethod},
		"a probe of a newer client":     {`{"jsonrpc":"2.0","id":"a","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, codeUnknownMethod},
		"an unknown tool":               {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"drop_database"}}`, codeInvalidParams},
		"a tool in another case":        {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"Get_Account"}}`, codeInvalidParams},
		"a tool with a space":           {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_account "}}`, codeInvalidParams},
		"a procedure of the backend":    {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"/kith.access.v1.AccessService/GetPrincipal"}}`, codeInvalidParams},
		"no tool":                       {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{}}`, codeInvalidParams},
		"no params":                     {`{"jsonrpc":"2.0","id":"a","method":"tools/call"}`, codeInvalidParams},
		"params as an array":            {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":["get_account"]}`, codeInvalidParams},
		"a tool that is a number":       {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":1}}`, codeInvalidParams},
		"Name beside name":              {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_account","Name":"add_note"}}`, codeInvalidParams},
		"ARGUMENTS beside arguments":    {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_account","arguments":{},"ARGUMENTS":{}}}`, codeInvalidParams},
		"arguments as an array":         {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_account","arguments":[]}}`, codeInvalidParams},
		"arguments as a string":         {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_account","arguments":"{}"}}`, codeInvalidParams},
		"arguments null":                {`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"get_account","arguments":null}}`, codeInvalidParams},
		"a bad cursor":                  {`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"cursor":"bm8="}}`, codeInvalidParams},
		"an empty cursor":               {`{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"cursor":""}}`, codeInvalidParams},
		"a protocol version, no string": {`{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":20250618}}`, codeInvalidParams},
	}
	eachTopology(t, func(t *testing.T, s *service) {
		live := s.newMember(t).agent(t)
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				for _, a := range []agent{live, {s, pathDeprecated, live.bearer}, s.visitor(), {s, pathSandboxOld, ""}} {
					got := a.post(t, test.body)
					r := got.reply(t)
					if got.status != http.StatusOK || r.Error == nil || r.Error.Code != test.code || string(r.ID) != `"a"` {
						t.Errorf("%s: got %d %s, want 200 and %d", a.path, got.status, got.body, test.code)
					}
					checkJSONBody(t, got)
				}
			})
		}
	})
}

// TestVersionNegotiation: the client's version if it is spoken, else the default.
func TestVersionNegotiation(t *testing.T) {
	tests := map[string]string{
		"2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26",
		"2024-11-05": "2025-06-18", "2025-11-25": "2025-06-18", "2026-07-28": "2025-06-18", "": "2025-06-18", "latest": "2025-06-18",
	}
	eachTopology(t, func(t *testing.T, s *service) {
		for offered, want := range tests {
			// The header is not looked at while the version is being agreed on.
			got := s.visitor().post(t, request(t, "initialize", map[string]any{"protocolVersion": offered}), "MCP-Protocol-Version: "+offered)
			if got.status != http.StatusOK || !strings.Contains(got.body, `"protocolVersion":"`+want+`"`) {
				t.Errorf("%q: got %d %s, want %s", offered, got.status, got.body, want)
			}
			checkJSONBody(t, got)
		}
	})
}

// TestVersionHeader: absent is 2025-03-26; what is not spoken is refused.
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
		"no version":    {[]string{header + "yes"}, http.StatusBadRequest},
		"there twice":   {[]string{header + "2025-06-18", header + "2025-06-18"}, http.StatusBadRequest},
		"two in a list": {[]string{header + "2025-06-18, 2025-03-26"}, http.StatusBadRequest},
	}
	eachTopology(t, func(t *testing.T, s *service) {
		for name, test := range tests {
			for method, body := range messages(t) {
				if method == "initialize" {
					continue
				}
				t.Run(name+" with "+method, func(t *testing.T) {
					got := s.visitor().post(t, body, test.headers...)
					if test.status != http.StatusOK {
						checkMalformed(t, got, test.status, codeInvalidRequest)
					} else if got.status >= http.StatusBadRequest {
						t.Errorf("got %d %s", got.status, got.body)
					}
				})
			}
		}
	})
}

// TestNotifications: they are taken with an empty 202, and none runs a tool.
func TestNotifications(t *testing.T) {
	tests := map[string]string{
		"of the specification": `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		"of a cancelled call":  `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		"that nobody knows":    `{"jsonrpc":"2.0","method":"notifications/nonsense","params":[1]}`,
		"ping":                 `{"jsonrpc":"2.0","method":"ping"}`,
		"a result":             `{"jsonrpc":"2.0","id":7,"result":{}}`,
		"an error":             `{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}`,
		"a writing tool call":  `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"create_connection","arguments":{"name":"Silent Susan"}}}`,
	}
	eachTopology(t, func(t *testing.T, s *service) {
		live := s.newMember(t).agent(t)
		for name, body := range tests {
			for _, a := range []agent{live, s.visitor()} {
				got := a.post(t, body)
				if got.status != http.StatusAccepted || got.body != "" {
					t.Errorf("%s: got %d %q, want 202 and nothing", name, got.status, got.body)
				}
			}
		}
		if found := live.find(t, "Silent Susan"); len(found) != 0 {
			t.Errorf("a notification ran a tool: %v", found)
		}
	})
}

// TestDeprecatedPath: /mcp works unchanged, and every answer names its successor.
func TestDeprecatedPath(t *testing.T) {
	eachTopology(t, func(t *testing.T, s *service) {
		live := s.newMember(t).agent(t)
		old := agent{s, pathDeprecated, live.bearer}
		for name, got := range map[string]answer{
			"a call":         old.post(t, toolCall(t, "get_account", arguments{})),
			"a notification": old.post(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`),
			"a refusal":      agent{s, pathDeprecated, ""}.post(t, request(t, "ping", nil)),
			"bad JSON":       old.post(t, "{"),
			"GET":            s.send(t, http.MethodGet, pathDeprecated, ""),
		} {
			if d := got.header.Values("Deprecation"); len(d) != 1 || d[0] != "true" {
				t.Errorf("%s: Deprecation is %q", name, d)
			}
			if l := got.header.Values("Link"); len(l) != 1 || !strings.Contains(l[0], "/mcp/v1>") || !strings.Contains(l[0], `rel="successor-version"`) {
				t.Errorf("%s: Link is %q", name, l)
			}
			if got.header.Get("Sunset") != "" {
				t.Errorf("%s: no removal date is set, but Sunset is %q", name, got.header.Get("Sunset"))
			}
		}
		for _, path := range []string{pathCurrent, pathSandbox, pathSandboxOld} {
			if got := (agent{s, path, ""}).post(t, request(t, "ping", nil)); got.header.Get("Deprecation") != "" || got.header.Get("Link") != "" {
				t.Errorf("%s: %v", path, got.header)
			}
		}
	})
}
