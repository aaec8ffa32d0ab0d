package mcp_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

const listAll = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`

// listed has the parts of the result of tools/list that these tests use.
type listed struct {
	Result struct {
		Tools []struct {
			Name string         `json:"name"`
			Meta map[string]any `json:"_meta"`
		} `json:"tools"`
		NextCursor string `json:"nextCursor"`
	} `json:"result"`
}

func (l listed) names() []string {
	names := []string{}
	for _, tool := range l.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func list(t *testing.T, h http.Handler, target, body string, headers ...string) listed {
	t.Helper()
	a := post(t, h, target, body, headers...)
	var l listed
	if err := json.Unmarshal([]byte(a.body), &l); err != nil || a.status != http.StatusOK || a.Error != nil {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	return l
}

func tools(t *testing.T, keep func(*catalog.RPC) bool) []string {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, rpc := range c.Tools() {
		if keep(rpc) {
			names = append(names, rpc.Tool.Name)
		}
	}
	return names
}

func all(*catalog.RPC) bool         { return true }
func reading(rpc *catalog.RPC) bool { return !rpc.Writes }
func only(names ...string) func(*catalog.RPC) bool {
	return func(rpc *catalog.RPC) bool { return slices.Contains(names, rpc.Tool.Name) }
}

// holding returns the tools that a credential with the scopes may call.
func holding(scopes ...string) func(*catalog.RPC) bool {
	return func(rpc *catalog.RPC) bool { return len(rpc.Missing(scopes)) == 0 }
}

func and(a, b func(*catalog.RPC) bool) func(*catalog.RPC) bool {
	return func(rpc *catalog.RPC) bool { return a(rpc) && b(rpc) }
}

func or(a, b func(*catalog.RPC) bool) func(*catalog.RPC) bool {
	return func(rpc *catalog.RPC) bool { return a(rpc) || b(rpc) }
}

func TestToolsListHasWhatTheCallerMayUse(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for name, test := range map[string]struct {
		path, token string
		headers     []string
		want        func(*catalog.RPC) bool
	}{
		"nobody":                       {"/mcp/v1", "", nil, all},
		"every scope":                  {"/mcp/v1", backendtest.TokenAll, nil, all},
		"two scopes and no write":      {"/mcp/v1", backendtest.TokenReader, nil, holding("connections", "account")},
		"an OAuth client, old path":    {"/mcp", backendtest.TokenGrant, nil, holding("connections")},
		"a token limited to tools":     {"/mcp/v1", backendtest.TokenLimited, nil, only("search_connections", "get_account", "get_job")},
		"the sandbox":                  {"/mcp/sandbox", "", nil, all},
		"the sandbox ignores tokens":   {"/sandbox/mcp/v1", "dead", nil, all},
		"a toolset":                    {"/mcp/v1", "", []string{"X-MCP-Toolsets", "timeline"}, holding("timeline", "write")},
		"toolsets, white space":        {"/mcp/v1", "", []string{"X-MCP-Toolsets", " timeline ,,reminders, "}, holding("timeline", "reminders", "write")},
		"tools":                        {"/mcp/v1", "", []string{"X-MCP-Tools", "get_connection, search_connections"}, only("search_connections", "get_connection")},
		"a toolset and a tool":         {"/mcp/v1", "", []string{"X-MCP-Toolsets", "timeline", "X-MCP-Tools", "get_connection"}, or(holding("timeline", "write"), only("get_connection"))},
		"a toolset, reading":           {"/mcp/v1", "", []string{"X-MCP-Toolsets", "timeline", "X-MCP-Readonly", "true"}, and(holding("timeline"), reading)},
		"reading goes before a name":   {"/mcp/v1", "", []string{"X-MCP-Tools", "add_note,get_account", "X-MCP-Readonly", "yes"}, only("get_account")},
		"read-only off":                {"/mcp/v1", "", []string{"X-MCP-Readonly", " Off "}, all},
		"empty headers":                {"/mcp/v1", "", []string{"X-MCP-Toolsets", "", "X-MCP-Tools", " , ", "X-MCP-Readonly", ""}, all},
		"all toolsets":                 {"/mcp/v1", "", []string{"X-MCP-Toolsets", "timeline,all"}, all},
		"the default toolsets are all": {"/mcp/v1", "", []string{"X-MCP-Toolsets", "default"}, all},
		"headers never widen a token":  {"/mcp/v1", backendtest.TokenReader, []string{"X-MCP-Toolsets", "connections,timeline"}, holding("connections")},
		"nor a token's own list":       {"/mcp/v1", backendtest.TokenLimited, []string{"X-MCP-Tools", "add_note,search_connections"}, only("search_connections")},
		"the sandbox narrows, too":     {"/mcp/sandbox", "", []string{"X-MCP-Readonly", "true"}, reading},
		"a toolset in the sandbox":     {"/mcp/sandbox", "", []string{"X-MCP-Toolsets", "reminders"}, holding("reminders", "write")},
		"nothing is left":              {"/mcp/v1", "", []string{"X-MCP-Tools", "add_note", "X-MCP-Readonly", "1"}, func(*catalog.RPC) bool { return false }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			headers := test.headers
			if test.token != "" {
				headers = append(slices.Clone(headers), bearerOf(test.token)...)
			}
			got := list(t, e, test.path, listAll, headers...)
			if diff := cmp.Diff(tools(t, test.want), got.names()); diff != "" || got.Result.NextCursor != "" {
				t.Errorf("tools (-want +got), next cursor %q:\n%s", got.Result.NextCursor, diff)
			}
			sandbox := strings.Contains(test.path, "sandbox")
			for _, tool := range got.Result.Tools {
				_, marked := tool.Meta["kith/in_scope"]
				if writes := slices.Contains(tool.Meta["kith/scopes"].([]any), any("write")); marked != (sandbox && writes) {
					t.Errorf("%s: marked %t", tool.Name, marked)
				}
			}
		})
	}
}

func TestTwoHeaderLinesAreOneList(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header["X-Mcp-Tools"] = []string{"add_note", "get_account"}
		e.ServeHTTP(w, r)
	})
	if diff := cmp.Diff(tools(t, only("add_note", "get_account")), list(t, h, "/mcp/v1", listAll).names()); diff != "" {
		t.Error(diff)
	}
}

// An unknown name in the headers is an error for every method, also without a credential.
func TestUnknownNamesInHeaders(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		header, value string
		want, valid   []string
	}{
		"a toolset":                     {"X-MCP-Toolsets", "timelines", []string{`"timelines" (nearest: timeline, `, "account", "all."}, []string{"timeline", "all"}},
		"a scope that is not a toolset": {"X-MCP-Toolsets", "connections,write", []string{`"write"`}, []string{"timeline"}},
		"a tool":                        {"X-MCP-Tools", "add_notes", []string{`"add_notes" (nearest: add_note, `, "error.data.valid"}, []string{"add_note", "get_job"}},
		"three tools":                   {"X-MCP-Tools", "add_notes,get_account,find_job,x", []string{`"add_notes"`, `"find_job" (nearest: get_job`, `"x"`}, []string{"add_note"}},
		"many":                          {"X-MCP-Tools", strings.Repeat("nothing_like_it,", 50), []string{"nothing_like_it"}, nil},
		"long, not ASCII":               {"X-MCP-Tools", strings.Repeat("\xff<é>", 300), []string{"…"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, method := range []string{"initialize", "ping", "tools/list", "tools/call"} {
				body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"name":"get_account"}}`
				a := post(t, newEdge(t), "/mcp/v1", body, test.header, test.value)
				a.wantError(t, 400, -32600, "null")
				var e struct {
					Error struct {
						Message string
						Data    struct{ Valid []string }
					}
				}
				if err := json.Unmarshal([]byte(a.body), &e); err != nil {
					t.Fatal(err)
				}
				if n := len([]rune(e.Error.Message)); n > 300 {
					t.Errorf("%d characters: %s", n, e.Error.Message)
				}
				for _, want := range append(test.want, test.header) {
					if !strings.Contains(e.Error.Message, want) {
						t.Errorf("%s: %q is not in %q", method, want, e.Error.Message)
					}
				}
				for _, want := range test.valid {
					if !slices.Contains(e.Error.Data.Valid, want) {
						t.Errorf("%q is not among %v", want, e.Error.Data.Valid)
					}
				}
			}
		})
	}
}

// Headers limit calls as they limit the list. An invalid token is reported first.
func TestHeadersNarrowCalls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path, tool, token string
		headers           []string
		says, observed    string // says is "" if the call is forwarded
	}{
		"allowed":               {"/mcp/v1", "get_account", backendtest.TokenAll, []string{"X-MCP-Toolsets", "timeline"}, "", "get_account ok"},
		"another toolset":       {"/mcp/v1", "add_note", backendtest.TokenAll, []string{"X-MCP-Toolsets", "connections"}, "X-MCP-Toolsets", "add_note refused"},
		"another tool":          {"/mcp/v1", "get_account", backendtest.TokenAll, []string{"X-MCP-Tools", "add_note"}, "X-MCP-Tools", "get_account refused"},
		"a writing tool":        {"/mcp", "add_note", backendtest.TokenAll, []string{"X-MCP-Readonly", "true"}, "X-MCP-Readonly", "add_note refused"},
		"in the sandbox":        {"/mcp/sandbox", "get_account", "", []string{"X-MCP-Tools", "list_due"}, "X-MCP-Tools", "get_account refused"},
		"a dead token":          {"/mcp/v1", "add_note", "dead", []string{"X-MCP-Readonly", "true"}, "expired", "add_note unauthenticated"},
		"the sandbox's refusal": {"/mcp/sandbox", "add_note", "", []string{"X-MCP-Tools", "add_note"}, "read-only", "add_note refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEdge(t)
			headers := test.headers
			if test.token != "" {
				headers = append(slices.Clone(headers), bearerOf(test.token)...)
			}
			a := post(t, e, test.path, strings.Replace(callRight, "get_account", test.tool, 1), headers...)
			if diff := cmp.Diff([]string{test.observed}, e.tools.calls); diff != "" {
				t.Error(diff)
			}
			if test.says == "" {
				if a.Result == nil || a.Result.IsError {
					t.Errorf("got %s", a.body)
				}
				return
			}
			if a.Error == nil || !strings.Contains(a.body, test.says) || len(a.body) > 500 {
				t.Errorf("got %s, want %q", a.body, test.says)
			}
			if strings.HasPrefix(test.says, "X-") {
				a.wantError(t, 200, -32001, "1")
				if a.Error.Data.Reason != "narrowed_by_header" {
					t.Errorf("reason %q", a.Error.Data.Reason)
				}
			}
		})
	}
}

// A client that asks for pages gets the same tools in the same order.
func TestToolsListInPages(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for name, test := range map[string]struct {
		size    int
		headers []string
	}{
		"one by one":    {1, nil},
		"seven":         {7, nil},
		"more than all": {100, nil},
		"narrowed":      {3, []string{"X-MCP-Toolsets", "timeline,account"}},
		"of a token":    {4, bearerOf(backendtest.TokenReader)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := list(t, e, "/mcp/v1", listAll, test.headers...).names()
			got := []string{}
			params := `{"_meta":{"kith/page_size":` + strconv.Itoa(test.size) + `}}`
			for {
				l := list(t, e, "/mcp/v1", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":`+params+`}`, test.headers...)
				got = append(got, l.names()...)
				if n := len(l.names()); n == 0 || n > test.size {
					t.Fatalf("%d tools on a page of %d", n, test.size)
				}
				if l.Result.NextCursor == "" {
					break
				}
				params = `{"cursor":"` + l.Result.NextCursor + `"}`
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBadPages(t *testing.T) {
	t.Parallel()
	e := newEdge(t)
	for _, params := range []string{
		`{"cursor":""}`, `{"cursor":"x"}`, `{"cursor":5}`, `{"cursor":"MA"}`, `{"cursor":"MCBnZXRfam9i"}`, // 0 get_job
		`{"cursor":"OSBub19zdWNo"}`, // 9 no_such
		`{"_meta":{"kith/page_size":0}}`, `{"_meta":{"kith/page_size":101}}`, `{"_meta":{"kith/page_size":"7"}}`, `{"_meta":{"kith/page_size":1.5}}`,
	} {
		post(t, e, "/mcp/v1", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":`+params+`}`).wantError(t, 200, -32602, "1")
	}
}

// The error for an unknown tool suggests the right name.
func TestUnknownToolNamesTheNearest(t *testing.T) {
	t.Parallel()
	for wrong, right := range map[string]string{
		"add_notes": "add_note", "searchConnections": "search_connections", "search_connection": "search_connections", "find_people": "find_people_at",
		"": "search_connections", strings.Repeat("x", 300): "…", "undo": "undo_change",
	} {
		a := post(t, newEdge(t), "/mcp/v1", strings.Replace(callRight, "get_account", wrong, 1), bearerOf(backendtest.TokenAll)...)
		a.wantError(t, 200, -32602, "1")
		if !strings.Contains(a.body, right) || len(a.body) > 350 {
			t.Errorf("%q is answered with %s", wrong, a.body)
		}
	}
}
