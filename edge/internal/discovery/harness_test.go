package discovery_test

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/discovery"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/mcp"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/sandbox"
	"github.com/kith-crm/kith/edge/server"
)

// With the flag -update, the tests rewrite the golden files: go test ./internal/discovery -update.
var update = flag.Bool("update", false, "rewrite the golden files")

const base = "https://kith.example"

// ownRoutes are the routes of the documents and those that they mention.
func ownRoutes() []route.Route {
	get := []string{http.MethodGet}
	return []route.Route{
		{Name: "landing", Methods: get, Pattern: "/"},
		{Name: "agent-index", Methods: get, Pattern: "/v1"},
		{Name: "llms", Methods: get, Pattern: "/llms.txt"},
		{Name: "mcp-docs", Methods: get, Pattern: "/mcp/docs"},
		{Name: "docs-mcp", Methods: get, Pattern: "/docs/mcp"},
		{Name: "docs", Methods: get, Pattern: "/docs"},
		{Name: "docs-guide", Methods: get, Pattern: "/docs/{guide}"},
		{Name: "docs-tools", Methods: get, Pattern: "/docs/tools"},
		{Name: "docs-tool", Methods: get, Pattern: "/docs/tools/{name}"},
		{Name: "docs-errors", Methods: get, Pattern: "/docs/errors"},
		{Name: "docs-error", Methods: get, Pattern: "/docs/errors/{code}"},
		{Name: "api-catalog", Methods: get, Pattern: "/.well-known/api-catalog"},
		{Name: "docs-stylesheet", Methods: get, Pattern: "/assets/docs.css"},
		{Name: "demo-light", Methods: get, Pattern: "/assets/demo-light.png"},
		{Name: "demo-dark", Methods: get, Pattern: "/assets/demo-dark.png"},
		{Name: "try-script", Methods: get, Pattern: "/assets/try.js"},
		{Name: "search-script", Methods: get, Pattern: "/assets/docs.js"},
		{Name: "openapi", Methods: get, Pattern: "/openapi.json"},
		{Name: "batch", Methods: []string{http.MethodPost}, Pattern: "/api/batch", RatePolicy: "batch"},
	}
}

// routes returns the mounted routes and ownRoutes.
func routes(sandbox bool) []route.Route {
	mounted := route.Mounted(server.Routes(), sandbox)
	for _, r := range ownRoutes() {
		if slices.ContainsFunc(mounted, func(there route.Route) bool { return there.Pattern == r.Pattern }) {
			continue
		}
		r.State, r.Protocol, r.Anonymous, r.Summary = route.Current, route.HTTP, true, "Of this test."
		mounted = append(mounted, r)
	}
	return mounted
}

// requests are ready-made requests like those of the sandbox.
func requests() []sandbox.Request {
	return []sandbox.Request{
		{Title: "Read the demo member's public profile", Method: "GET", Path: "/sandbox/api/human/demo", Accept: "application/json"},
		{Title: "Find members who work on climate", Method: "GET", Path: "/sandbox/api/network/members?q=climate&per_page=5", Accept: "application/json"},
		{
			Title: "List the tools", Method: "POST", Path: "/sandbox/mcp/v1", Accept: "application/json, text/event-stream",
			Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`,
		},
		{
			Title: "Search the network for microgrids", Method: "POST", Path: "/sandbox/mcp/v1", Accept: "application/json, text/event-stream",
			Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_connections","arguments":{"query":"microgrids"}}}`,
		},
		{
			Title: "Open one connection", Method: "POST", Path: "/sandbox/mcp/v1",
			Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_connection","arguments":{"id":"con_qo604yg551"}}}`,
		},
	}
}

func loadCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func options(t testing.TB) discovery.Options {
	t.Helper()
	return discovery.Options{
		BaseURL: base, Version: "1.2.3", Routes: routes(true), Catalog: loadCatalog(t), Protocols: mcp.Versions(),
		Problems: httpapi.NewProblems(base), Policies: ratelimit.Defaults(), Requests: requests(), SignUpOpen: true, DemoUsername: "demo",
	}
}

var (
	sharing sync.Mutex
	shared  discovery.Documents // the documents of a server with every feature
)

// build makes documents. With unchanged options they are made once, for all tests.
func build(t testing.TB, change func(*discovery.Options)) discovery.Documents {
	t.Helper()
	if change == nil {
		sharing.Lock()
		defer sharing.Unlock()
		if shared == nil {
			shared = build(t, func(*discovery.Options) {})
		}
		return shared
	}
	o := options(t)
	change(&o)
	d, err := discovery.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// withoutSandbox are the options of a server that has none.
func withoutSandbox(o *discovery.Options) {
	o.Routes, o.Requests, o.DemoUsername = routes(false), nil, ""
}

// bare returns the options of a server with only the documents and MCP.
func bare(o *discovery.Options) {
	withoutSandbox(o)
	wanted := ownRoutes()
	o.Routes = slices.DeleteFunc(o.Routes, func(r route.Route) bool {
		return r.Protocol != route.MCP && (r.Pattern == "/api/batch" || r.Pattern == "/openapi.json" ||
			!slices.ContainsFunc(wanted, func(w route.Route) bool { return w.Pattern == r.Pattern }))
	})
	o.Policies = nil
}

// variants are the kinds of servers to test.
func variants() map[string]func(*discovery.Options) {
	return map[string]func(*discovery.Options){"whole": nil, "without sandbox": withoutSandbox, "bare": bare}
}

// get sends a GET request to a handler; headers alternate between names and values.
func get(h route.Handler, argument string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h(w, r, argument)
	return w
}

// text returns a document in a media type, and fails if the answer has another type.
func text(t testing.TB, h route.Handler, argument, media string) string {
	t.Helper()
	w := get(h, argument, "Accept", media)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != media+"; charset=utf-8" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	return w.Body.String()
}

// golden compares a text with a file, or writes the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is stale (-file +code):\n%s", path, diff)
	}
}
