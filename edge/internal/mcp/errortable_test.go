package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// answer is the answer to a JSON-RPC call.
type answer struct {
	status int
	header http.Header
	body   string

	ID    json.RawMessage `json:"id"`
	Error *struct {
		Code int `json:"code"`
		Data struct {
			Reason         string   `json:"reason"`
			RequiredScopes []string `json:"required_scopes"`
		} `json:"data"`
	} `json:"error"`
	Result *struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	} `json:"result"`
}

// post sends a body with pairs of header names and values.
func post(t *testing.T, h http.Handler, target, body string, headers ...string) answer {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	a := answer{status: w.Code, header: w.Header(), body: w.Body.String()}
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			t.Fatalf("%s: %v", a.body, err)
		}
	}
	return a
}

func (a answer) wantError(t *testing.T, status, code int, id string) {
	t.Helper()
	if a.status != status || a.Error == nil || a.Error.Code != code || string(a.ID) != id || a.Result != nil {
		t.Errorf("got %d %s, want %d, code %d, id %s", a.status, a.body, status, code, id)
	}
}

const (
	ping      = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	callWrong = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_connections","arguments":{}}}`
	callRight = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_account","arguments":{}}}`
)

func bearerOf(token string) []string { return []string{"Authorization", "Bearer " + token} }

// callOf is a call of search_connections.
func callOf(query string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_connections","arguments":{"query":"` + query + `"}}}`
}

// TestErrorTable has a test for each MCP row of the specification's table of errors, except rate
// limits.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	e := newEdge(t) // for the rows that do not change the backend
	t.Run("body never parsed: bad JSON", func(t *testing.T) {
		t.Parallel()
		post(t, e, "/mcp/v1", `{`).wantError(t, 400, -32700, "null")
	})
	t.Run("body never parsed: too large", func(t *testing.T) {
		t.Parallel()
		body := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("a", 2<<20) + `"}}`
		post(t, e, "/mcp/v1", body).wantError(t, 413, -32600, "null")
	})
	t.Run("body never parsed: wrong media type", func(t *testing.T) {
		t.Parallel()
		post(t, e, "/mcp/v1", ping, "Content-Type", "text/plain").wantError(t, 415, -32600, "null")
	})
	t.Run("body never parsed: batch", func(t *testing.T) {
		t.Parallel()
		post(t, e, "/mcp/v1", "["+ping+"]").wantError(t, 400, -32600, "null")
	})
	t.Run("body never parsed: unsupported version header", func(t *testing.T) {
		t.Parallel()
		post(t, e, "/mcp/v1", ping, "MCP-Protocol-Version", "2024-11-05").wantError(t, 400, -32600, "null")
	})
	t.Run("unknown method", func(t *testing.T) {
		t.Parallel()
		post(t, e, "/mcp/v1", strings.Replace(ping, "ping", "x", 1)).wantError(t, 200, -32601, "1")
	})
	t.Run("unknown tool", func(t *testing.T) {
		t.Parallel()
		body := strings.Replace(callRight, "get_account", "no_such_tool", 1)
		post(t, e, "/mcp/v1", body, bearerOf(backendtest.TokenAll)...).wantError(t, 200, -32602, "1")
	})
	t.Run("bad cursor", func(t *testing.T) {
		t.Parallel()
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`
		post(t, e, "/mcp/v1", body).wantError(t, 200, -32602, "1")
	})
	t.Run("bad tool arguments", func(t *testing.T) {
		t.Parallel()
		a := post(t, e, "/mcp/v1", callWrong, bearerOf(backendtest.TokenAll)...)
		a.wantToolError(t, "- query must not be empty")
	})
	t.Run("refused: missing group scope", func(t *testing.T) {
		t.Parallel()
		body := strings.Replace(callRight, "get_account", "list_timeline", 1)
		a := post(t, e, "/mcp/v1", body, bearerOf(backendtest.TokenReader)...)
		a.wantRefusal(t, "missing_scope", "timeline")
	})
	t.Run("refused: missing write", func(t *testing.T) {
		t.Parallel()
		body := strings.Replace(callRight, "get_account", "create_connection", 1)
		a := post(t, e, "/mcp/v1", body, bearerOf(backendtest.TokenReader)...)
		a.wantRefusal(t, "missing_scope", "connections write")
	})
	t.Run("refused: a token that is limited to other tools", func(t *testing.T) {
		t.Parallel()
		body := strings.Replace(callRight, "get_account", "create_connection", 1)
		a := post(t, e, "/mcp/v1", body, bearerOf(backendtest.TokenLimited)...)
		a.wantRefusal(t, "limited_to_tools", "")
		const says = "this token is limited to named tools, and create_connection is not one of them. It may call search_connections."
		if !strings.Contains(a.body, says) || !strings.Contains(a.body, `"allowed_tools":["search_connections"]`) {
			t.Errorf("got %s", a.body)
		}
	})
	t.Run("refused: writing tool in the sandbox", func(t *testing.T) {
		t.Parallel()
		body := strings.Replace(callRight, "get_account", "create_connection", 1)
		for _, path := range []string{"/mcp/sandbox", "/sandbox/mcp/v1", "/sandbox/mcp/sandbox"} {
			post(t, e, path, body).wantRefusal(t, "read_only_account", "connections write")
		}
	})
	t.Run("out of credits", func(t *testing.T) {
		t.Parallel()
		a := post(t, e, "/mcp/v1", callOf(backendtest.QueryBroke), bearerOf(backendtest.TokenAll)...)
		a.wantToolError(t, "reset at 2026-12-01")
	})
	t.Run("the member must approve", func(t *testing.T) {
		t.Parallel()
		a := post(t, e, "/mcp/v1", callOf(backendtest.QueryAsked), bearerOf(backendtest.TokenAll)...)
		a.wantToolError(t, "approval_needed: this needs the approval of the member")
		const meta = `"_meta":{"code":"approval_needed","task_id":12,"decide_url":"https://kith.example/decide","expires_at":"2026-12-03T09:00:00Z"}`
		if !strings.Contains(a.body, meta) {
			t.Errorf("got %s", a.body)
		}
	})
	t.Run("no token on tools/call", func(t *testing.T) {
		t.Parallel()
		a := post(t, e, "/mcp/v1", callRight)
		a.wantChallenge(t, `Bearer resource_metadata="https://kith.example/.well-known/oauth-protected-resource/mcp/v1"`)
	})
	t.Run("a revoked token on any method", func(t *testing.T) {
		t.Parallel()
		for _, method := range []string{"initialize", "ping", "tools/list", "tools/call", "no/such"} {
			body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"name":"get_account"}}`
			a := post(t, e, "/mcp/v1", body, bearerOf("dead")...)
			a.wantChallenge(t, `error="invalid_token"`)
		}
	})
	t.Run("no token on /mcp", func(t *testing.T) {
		t.Parallel()
		for _, method := range []string{"initialize", "ping", "tools/list", "tools/call", "no/such"} {
			body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `"}`
			a := post(t, e, "/mcp", body)
			a.wantChallenge(t, `Bearer resource_metadata="https://kith.example/.well-known/oauth-protected-resource/mcp"`)
		}
	})
	t.Run("the store is down", func(t *testing.T) {
		t.Parallel()
		e := newEdge(t)
		e.backend.Fail(errors.New("connection refused"))
		a := post(t, e, "/mcp/v1", callRight, bearerOf(backendtest.TokenAll)...)
		a.wantError(t, 503, -32603, "1")
		if a.header.Get("Retry-After") != "1" || a.header.Get("WWW-Authenticate") != "" {
			t.Errorf("headers %v", a.header)
		}
	})
	t.Run("an internal error", func(t *testing.T) {
		t.Parallel()
		a := post(t, e, "/mcp/v1", callOf(backendtest.QueryBroken), bearerOf(backendtest.TokenAll)...)
		a.wantToolError(t, a.header.Get("X-Request-Id"))
		if strings.Contains(a.body, "hunter2") {
			t.Errorf("the cause is shown: %s", a.body)
		}
	})
}

func (a answer) wantToolError(t *testing.T, text string) {
	t.Helper()
	if a.status != http.StatusOK || a.Result == nil || !a.Result.IsError || len(a.Result.Content) != 1 ||
		!strings.Contains(a.Result.Content[0].Text, text) || a.Result.StructuredContent != nil {
		t.Errorf("got %d %s, want a tool error with %q", a.status, a.body, text)
	}
}

func (a answer) wantRefusal(t *testing.T, reason, scopes string) {
	t.Helper()
	a.wantError(t, 200, -32001, "1")
	if a.Error != nil && (a.Error.Data.Reason != reason || strings.Join(a.Error.Data.RequiredScopes, " ") != scopes) {
		t.Errorf("got data %+v", a.Error.Data)
	}
}

// allScopes is the part of a challenge that names the scopes to ask for.
const allScopes = `, scope="connections timeline organize reminders insights imports directory account write"`

func (a answer) wantChallenge(t *testing.T, part string) {
	t.Helper()
	a.wantError(t, 401, -32000, "1")
	lines := a.header.Values("WWW-Authenticate")
	if len(lines) != 1 || strings.Count(lines[0], "Bearer ") != 1 || !strings.Contains(lines[0], part) || !strings.HasSuffix(lines[0], allScopes) {
		t.Errorf("challenges %q, want one with %q", lines, part)
	}
}

func TestToolCallsAreObserved(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for name, test := range map[string]struct {
		body, token string
		want        string
	}{
		"ok":              {callRight, backendtest.TokenAll, "get_account ok"},
		"bad arguments":   {callWrong, backendtest.TokenAll, "search_connections invalid_arguments"},
		"not an object":   {strings.Replace(callRight, "{}}}", "[]}}", 1), backendtest.TokenAll, "get_account invalid_arguments"},
		"dead token":      {callRight, "dead", "get_account unauthenticated"},
		"unknown tool":    {strings.Replace(callRight, "get_account", "x", 1), backendtest.TokenAll, " unknown_tool"},
		"unknown, dead":   {strings.Replace(callRight, "get_account", "x", 1), "dead", " unauthenticated"},
		"refused":         {strings.Replace(callRight, "get_account", "add_note", 1), backendtest.TokenReader, "add_note refused"},
		"out of credits":  {callOf(backendtest.QueryBroke), backendtest.TokenAll, "search_connections refused"},
		"asked first":     {callOf(backendtest.QueryAsked), backendtest.TokenAll, "search_connections refused"},
		"internal":        {callOf(backendtest.QueryBroken), backendtest.TokenAll, "search_connections internal"},
		"not implemented": {strings.Replace(callRight, "get_account", "list_timeline", 1), backendtest.TokenAll, "list_timeline internal"},
	} {
		e.tools.calls = nil
		post(t, e, "/mcp/v1", test.body, bearerOf(test.token)...)
		if len(e.tools.calls) != 1 || e.tools.calls[0] != test.want {
			t.Errorf("%s: observed %q, want %q", name, e.tools.calls, test.want)
		}
	}
	e.tools.calls = nil
	e.backend.Fail(errors.New("connection refused"))
	post(t, e, "/mcp/v1", callRight, bearerOf(backendtest.TokenAll)...)
	if len(e.tools.calls) != 1 || e.tools.calls[0] != "get_account unavailable" {
		t.Errorf("outage: observed %q", e.tools.calls)
	}
}

// A call whose caller disconnected counts as abandoned, not as a failure.
func TestAbandonedToolCallsAreObserved(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	e.backend.Fail(ctx.Err())
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp/v1", strings.NewReader(callRight))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+backendtest.TokenAll)
	e.ServeHTTP(httptest.NewRecorder(), r)
	if len(e.tools.calls) != 1 || e.tools.calls[0] != "get_account abandoned" {
		t.Errorf("observed %q", e.tools.calls)
	}
}

// The backend gets the caller's credential, except in the sandbox.
func TestCredentialOfBackendCalls(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for path, want := range map[string]string{
		"/mcp/v1":              "Bearer " + backendtest.TokenAll,
		"/mcp":                 "Bearer " + backendtest.TokenAll,
		"/mcp/sandbox":         "Bearer " + backendtest.TokenSandbox,
		"/sandbox/mcp/v1":      "Bearer " + backendtest.TokenSandbox,
		"/sandbox/mcp/sandbox": "Bearer " + backendtest.TokenSandbox,
	} {
		sent := len(e.backend.Requests())
		a := post(t, e, path, callRight, bearerOf(backendtest.TokenAll)...)
		calls := e.backend.Requests()[sent:]
		if len(calls) != 1 || calls[0].Get("Authorization") != want ||
			calls[0].Get("Kith-Request-Id") != a.header.Get("X-Request-Id") {
			t.Errorf("%s: calls %v", path, calls)
		}
	}
}

// A token that is limited to named tools only sees those, and what every valid credential may call.
func TestLimitedTokenListsItsTools(t *testing.T) {
	t.Parallel()
	a := post(t, newEdge(t), "/mcp/v1", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, bearerOf(backendtest.TokenLimited)...)
	if n := strings.Count(a.body, `"inputSchema"`); n != 3 || !strings.Contains(a.body, `"name":"search_connections"`) {
		t.Errorf("%d tools: %s", n, a.body)
	}
}
