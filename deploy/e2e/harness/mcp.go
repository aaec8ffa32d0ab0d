package harness

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// Error codes of the MCP server.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeUnknownMethod  = -32601
	CodeInvalidParams  = -32602
	CodeRefused        = -32001
)

// InvalidToken is the error parameter of a challenge when a credential was presented.
const InvalidToken = `error="invalid_token"`

// Messages has one message of each kind.
func Messages(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"initialize":        Request(t, "initialize", map[string]any{"protocolVersion": "2025-06-18"}),
		"ping":              Request(t, "ping", nil),
		"tools/list":        Request(t, "tools/list", nil),
		"tools/call":        ToolCall(t, "get_account", Arguments{}),
		"a writing call":    ToolCall(t, "create_connection", Arguments{"name": "Nobody"}),
		"an unknown method": Request(t, "no/such/method", nil),
		"a notification":    `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}
}

// CheckChallenge fails the test unless the answer is a 401 with exactly one challenge,
// which links to the metadata of the requested path.
func CheckChallenge(t *testing.T, a Agent, body, parameter string, headers ...string) {
	t.Helper()
	got := a.Post(t, body, headers...)
	if got.Status != http.StatusUnauthorized {
		t.Fatalf("got %d %s, want 401", got.Status, got.Body)
	}
	if r := got.Reply(t); r.Error == nil || r.Result != nil || r.Error.Message == "" {
		t.Errorf("the body is not a JSON-RPC error: %s", got.Body)
	}
	CheckJSONBody(t, got)
	challenges := got.Header.Values("WWW-Authenticate")
	metadata := `resource_metadata="` + a.Service.Base + "/.well-known/oauth-protected-resource" + a.Path + `"`
	if len(challenges) != 1 || !strings.HasPrefix(challenges[0], "Bearer ") || !strings.Contains(challenges[0], metadata) {
		t.Errorf("WWW-Authenticate is %q, want one Bearer with %s", challenges, metadata)
	}
	if !strings.Contains(strings.Join(challenges, ""), `, scope="connections `) {
		t.Errorf("WWW-Authenticate is %q, want the scopes to ask for in it", challenges)
	}
	if has := strings.Contains(strings.Join(challenges, ""), "error="); has != (parameter != "") {
		t.Errorf("WWW-Authenticate is %q, want %q in it", challenges, parameter)
	}
	if !strings.Contains(strings.Join(challenges, ""), parameter) {
		t.Errorf("WWW-Authenticate is %q, want %q in it", challenges, parameter)
	}
}

// CheckJSONBody checks the headers that every JSON-RPC answer has.
func CheckJSONBody(t *testing.T, got Response) {
	t.Helper()
	if kind := got.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("Content-Type is %q", kind)
	}
	if id, has := got.Header["Mcp-Session-Id"]; has {
		t.Errorf("the answer starts a session: %q", id)
	}
}

// CheckMalformed checks the answer to a body that is not a valid message.
func CheckMalformed(t *testing.T, got Response, status, code int) {
	t.Helper()
	if got.Status != status {
		t.Fatalf("got %d %s, want %d", got.Status, got.Body, status)
	}
	r := got.Reply(t)
	if r.Error == nil || r.Error.Message == "" {
		t.Fatalf("got %s, want the error %d", got.Body, code)
	}
	CheckSame(t, "code, id and result", []any{r.Error.Code, string(r.ID), string(r.Result)}, []any{code, "null", ""})
	CheckJSONBody(t, got)
}

// ListedTool has the fields of a tool in tools/list that these tests use.
type ListedTool struct {
	Name        string `json:"name"`
	Annotations struct {
		ReadOnly bool `json:"readOnlyHint"`
	} `json:"annotations"`
	Meta struct {
		Group  string   `json:"kith/group"`
		Scopes []string `json:"kith/scopes"`
	} `json:"_meta"`
}

func (a Agent) Tools(t *testing.T) []ListedTool {
	t.Helper()
	var list struct {
		Tools []ListedTool `json:"tools"`
	}
	if err := json.Unmarshal(a.Post(t, Request(t, "tools/list", nil)).Reply(t).Result, &list); err != nil || len(list.Tools) == 0 {
		t.Fatalf("there are no tools: %v", err)
	}
	return list.Tools
}

// MaxBody is the largest body that the MCP server reads.
const MaxBody = 2 << 20

// Padded returns a ping of exactly the size.
func Padded(size int) string {
	head, end := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`, `"}}`
	return head + strings.Repeat("x", size-len(head)-len(end)) + end
}
