package e2e

import (
	"encoding/json"
	"net/http"
	"testing"
)

// The paths of the MCP server.
const (
	pathCurrent    = "/mcp/v1"
	pathDeprecated = "/mcp"
	pathSandbox    = "/mcp/sandbox"
	pathSandboxOld = "/sandbox/mcp/v1"
)

// jsonType is the one header that MCP requests need.
const jsonType = "Content-Type: application/json"

// agent calls the MCP server under one path with one bearer; "" is none.
type agent struct {
	service *service
	path    string
	bearer  string
}

func (m *member) agent(t *testing.T) agent {
	t.Helper()
	return agent{m.service, pathCurrent, m.token(t).bearer}
}

func (s *service) visitor() agent { return agent{service: s, path: pathSandbox} }

// reply is a JSON-RPC message of the server.
type reply struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *replyError     `json:"error"`
}

type replyError struct {
	Code    int         `json:"code"`
	Message string      `json:"message"`
	Data    refusalData `json:"data"`
}

type refusalData struct {
	Reason         string   `json:"reason"`
	RequiredScopes []string `json:"required_scopes"`
}

// toolResult is the result of tools/call.
type toolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured map[string]any `json:"structuredContent"`
	IsError    bool           `json:"isError"`
}

// text is what a model reads of the result.
func (r toolResult) text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// post sends a body as it is.
func (a agent) post(t *testing.T, body string, headers ...string) answer {
	t.Helper()
	lines := append([]string{jsonType}, headers...)
	if a.bearer != "" {
		lines = append(lines, "Authorization: Bearer "+a.bearer)
	}
	return a.service.send(t, http.MethodPost, a.path, body, lines...)
}

// request is a JSON-RPC request as text; params nil leaves them out.
func request(t *testing.T, method string, params any) string {
	t.Helper()
	message := map[string]any{"jsonrpc": "2.0", "id": 1, "method": method}
	if params != nil {
		message["params"] = params
	}
	return encode(t, message)
}

// toolCall is the request to run a tool.
func toolCall(t *testing.T, tool string, arguments any) string {
	t.Helper()
	return request(t, "tools/call", map[string]any{"name": tool, "arguments": arguments})
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// reply reads the body as a JSON-RPC message.
func (a answer) reply(t *testing.T) reply {
	t.Helper()
	var r reply
	if err := json.Unmarshal([]byte(a.body), &r); err != nil {
		t.Fatalf("the answer %d is no JSON-RPC message: %v\n%s", a.status, err, a.body)
	}
	if r.Version != "2.0" {
		t.Errorf("jsonrpc is %q", r.Version)
	}
	return r
}

// try runs a tool that may fail in its own way.
func (a agent) try(t *testing.T, tool string, arguments any) toolResult {
	t.Helper()
	got := a.post(t, toolCall(t, tool, arguments))
	r := got.reply(t)
	if got.status != http.StatusOK || r.Error != nil {
		t.Fatalf("%s: got %d %s", tool, got.status, got.body)
	}
	var result toolResult
	if err := json.Unmarshal(r.Result, &result); err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return result
}

// call runs a tool that must succeed, and returns its structured content.
func (a agent) call(t *testing.T, tool string, arguments any) map[string]any {
	t.Helper()
	result := a.try(t, tool, arguments)
	if result.IsError {
		t.Fatalf("%s failed: %s", tool, result.text())
	}
	return result.Structured
}

// arguments saves typing.
type arguments = map[string]any

// rawJSON is a value that is sent as it is.
type rawJSON string

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// create adds a person and returns the id.
func (a agent) create(t *testing.T, fields arguments) string {
	t.Helper()
	return at[string](t, a.call(t, "create_connection", fields), "connection", "id")
}

// find returns the ids of the people that a search finds.
func (a agent) find(t *testing.T, query string) []string {
	t.Helper()
	var ids []string
	for _, hit := range at[[]any](t, a.call(t, "search_connections", arguments{"query": query}), "hits") {
		ids = append(ids, at[string](t, hit, "id"))
	}
	return ids
}

// at returns the member of a JSON value under the path.
func at[T any](t *testing.T, value any, path ...string) T {
	t.Helper()
	for _, name := range path {
		object, ok := value.(map[string]any)
		if !ok {
			t.Fatalf("%v: there is no %s", value, name)
		}
		value = object[name]
	}
	typed, ok := value.(T)
	if !ok {
		t.Fatalf("%v is %T, not %T", path, value, typed)
	}
	return typed
}
