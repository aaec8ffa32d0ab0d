package harness

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The paths of the MCP server.
const (
	PathCurrent    = "/mcp/v1"
	PathMember     = "/mcp/v1/me"
	PathDeprecated = "/mcp"
	PathSandbox    = "/mcp/sandbox"
	PathSandboxOld = "/sandbox/mcp/v1"
)

// JSONType is the only header that every MCP request needs.
const JSONType = "Content-Type: application/json"

// Agent calls the MCP server at one path with one bearer token; "" sends none.
type Agent struct {
	Service *Service
	Path    string
	Bearer  string
}

// Agent returns a caller of a path with a bearer token; "" sends none.
func (s *Service) Agent(path, bearer string) Agent { return Agent{s, path, bearer} }

func (m *Member) Agent(t *testing.T) Agent {
	t.Helper()
	return Agent{m.Service, PathCurrent, m.Token(t).Bearer}
}

func (s *Service) SandboxAgent() Agent { return Agent{Service: s, Path: PathSandbox} }

// Reply is a JSON-RPC message of the server.
type Reply struct {
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

// ToolResult is the result of tools/call.
type ToolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured map[string]any `json:"structuredContent"`
	IsError    bool           `json:"isError"`
}

// Text returns the text that a model reads from the result.
func (r ToolResult) Text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// Post sends a body unchanged.
func (a Agent) Post(t *testing.T, body string, headers ...string) Response {
	t.Helper()
	lines := append([]string{JSONType}, headers...)
	if a.Bearer != "" {
		lines = append(lines, "Authorization: Bearer "+a.Bearer)
	}
	got := a.Service.Send(t, http.MethodPost, a.Path, body, lines...)
	answers.keep(body, got.Body)
	return got
}

// Reaches sends a body to a service that may be killed meanwhile, and reports whether it was
// answered with 200 and a result that is no error.
func (a Agent) Reaches(ctx context.Context, body string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Service.Base+a.Path, strings.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+a.Bearer)
	res, err := Client.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = res.Body.Close() }()
	var reply struct {
		Result *ToolResult `json:"result"`
	}
	err = json.NewDecoder(res.Body).Decode(&reply)
	return err == nil && res.StatusCode == http.StatusOK && reply.Result != nil && !reply.Result.IsError
}

// Request returns a JSON-RPC request as text; nil params are left out.
func Request(t *testing.T, method string, params any) string {
	t.Helper()
	message := map[string]any{"jsonrpc": "2.0", "id": 1, "method": method}
	if params != nil {
		message["params"] = params
	}
	return Encode(t, message)
}

// ToolCall returns the request that calls a tool.
func ToolCall(t *testing.T, tool string, arguments any) string {
	t.Helper()
	return Request(t, "tools/call", map[string]any{"name": tool, "arguments": arguments})
}

func Encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Reply reads the body as a JSON-RPC message.
func (a Response) Reply(t *testing.T) Reply {
	t.Helper()
	var r Reply
	if err := json.Unmarshal([]byte(a.Body), &r); err != nil {
		t.Fatalf("the answer %d is not a JSON-RPC message: %v\n%s", a.Status, err, a.Body)
	}
	if r.Version != "2.0" {
		t.Errorf("jsonrpc is %q", r.Version)
	}
	return r
}

// Try calls a tool that may return a tool error.
func (a Agent) Try(t *testing.T, tool string, arguments any) ToolResult {
	t.Helper()
	got := a.Post(t, ToolCall(t, tool, arguments))
	r := got.Reply(t)
	if got.Status != http.StatusOK || r.Error != nil {
		t.Fatalf("%s: got %d %s", tool, got.Status, got.Body)
	}
	var result ToolResult
	if err := json.Unmarshal(r.Result, &result); err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return result
}

// Call calls a tool that must succeed, and returns its structured content.
func (a Agent) Call(t *testing.T, tool string, arguments any) map[string]any {
	t.Helper()
	result := a.Try(t, tool, arguments)
	if result.IsError {
		t.Fatalf("%s failed: %s", tool, result.Text())
	}
	return result.Structured
}

// Arguments are the arguments of a tool call.
type Arguments = map[string]any

// RawJSON is a JSON value that is sent unchanged.
type RawJSON string

// MarshalJSON implements json.Marshaler.
func (r RawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// Create creates a connection and returns its id.
func (a Agent) Create(t *testing.T, fields Arguments) string {
	t.Helper()
	return At[string](t, a.Call(t, "create_connection", fields), "connection", "id")
}

// Find searches and returns the ids of the hits.
func (a Agent) Find(t *testing.T, query string) []string {
	t.Helper()
	var ids []string
	for _, hit := range At[[]any](t, a.Call(t, "search_connections", Arguments{"query": query}), "hits") {
		ids = append(ids, At[string](t, hit, "id"))
	}
	return ids
}

// At returns the member of a JSON value at the path.
func At[T any](t *testing.T, value any, path ...string) T {
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
