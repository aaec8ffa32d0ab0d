package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/backendtest"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/route"
)

// codeOnly is an ErrorWriter that writes only the code.
type codeOnly struct{ prefix string }

func (c codeOnly) WriteError(w http.ResponseWriter, _ *http.Request, e httpapi.Error) {
	w.WriteHeader(e.Code.Status())
	_, _ = w.Write([]byte(c.prefix + string(e.Code)))
}

func testErrorWriters() map[route.Protocol]httpapi.ErrorWriter {
	return map[route.Protocol]httpapi.ErrorWriter{
		route.HTTP: codeOnly{""}, route.MCP: codeOnly{"rpc "}, route.OAuth: codeOnly{"oauth "}, route.Page: codeOnly{"page "}, route.DAV: codeOnly{"dav "},
	}
}

// testPipeline serves the routes with handlers that answer with the route's name and
// the argument.
func testPipeline(t *testing.T, observer RequestObserver) http.Handler {
	t.Helper()
	config := testConfig(backendtest.New())
	config.Requests = observer
	c, err := resolve(config)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newParts(c)
	if err != nil {
		t.Fatal(err)
	}
	routes := append(Routes(), route.Route{
		Name: "old", Pattern: "/old", Methods: []string{http.MethodGet}, Summary: "Old.", Protocol: route.HTTP,
		State: route.Deprecated, Successor: "/new", Sunset: time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC),
	})
	for i, r := range routes {
		routes[i].Build = nil
		routes[i].Handle = func(w http.ResponseWriter, _ *http.Request, argument string) {
			_, _ = w.Write([]byte(r.Name + ":" + argument))
		}
	}
	table, err := route.New(route.Mounted(routes, true), route.Options{
		BaseURL: "https://kith.example", Host: "kith.example", ErrorWriters: testErrorWriters(),
		Now: func() time.Time { return time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return p.pipeline(table)
}

func TestPipeline(t *testing.T) {
	t.Parallel()
	rt := testPipeline(t, nil)
	for name, test := range map[string]struct {
		method, target string
		status         int
		body, allow    string
	}{
		"a profile":                     {"GET", "/api/human/Bob", 200, "profile:Bob", ""},
		"HEAD is GET":                   {"HEAD", "/api/human/bob.md", 200, "profile-markdown:bob", ""},
		"a query is not the path":       {"GET", "/api/human/bob?x=1", 200, "profile:bob", ""},
		"under the sandbox":             {"GET", "/sandbox/api/human/bob", 200, "profile:bob", ""},
		"own host in absolute form":     {"GET", "http://KITH.example:80/mcp/v1", 405, "rpc method_not_allowed", "POST"},
		"other host in absolute form":   {"GET", "http://evil.example/mcp/v1", 421, "misdirected_request", ""},
		"userinfo":                      {"GET", "http://a@kith.example/mcp/v1", 400, "malformed_request", ""},
		"another scheme":                {"GET", "ftp://kith.example/mcp/v1", 400, "malformed_request", ""},
		"asterisk":                      {"GET", "*", 400, "malformed_request", ""},
		"OPTIONS asterisk":              {"OPTIONS", "*", 204, "", ""},
		"unknown path":                  {"GET", "/nothing", 404, "not_found", ""},
		"unknown path for OPTIONS":      {"OPTIONS", "/nothing", 404, "not_found", ""},
		"fragment":                      {"GET", "/api/human/bob#x", 400, "malformed_request", ""},
		"wrong method":                  {"POST", "/api/human/bob", 405, "method_not_allowed", "GET, HEAD"},
		"wrong method for MCP":          {"DELETE", "/mcp", 405, "rpc method_not_allowed", "POST"},
		"OPTIONS":                       {"OPTIONS", "/mcp/v1", 204, "", "POST"},
		"TRACE":                         {"TRACE", "/mcp/v1", 501, "not_implemented", ""},
		"CONNECT":                       {"CONNECT", "/mcp/v1", 501, "not_implemented", ""},
		"made-up method":                {"BREW", "/mcp/v1", 501, "not_implemented", ""},
		"lowercase method":              {"post", "/mcp/v1", 501, "not_implemented", ""},
		"semicolon in the query":        {"GET", "/api/human/bob?q=a;b=c", 400, "malformed_request", ""},
		"broken escape in the query":    {"GET", "/api/human/bob?q=%zz", 400, "malformed_request", ""},
		"bad UTF-8 in the query":        {"GET", "/api/human/bob?q=%ff", 400, "malformed_request", ""},
		"control in the query":          {"GET", "/api/human/bob?q=%00", 400, "malformed_request", ""},
		"credential in the query":       {"POST", "/mcp/v1?access_token=x", 400, "rpc credential_in_query", ""},
		"credential in a public query":  {"GET", "/api/human/bob?api_key=x", 400, "credential_in_query", ""},
		"credential in another case":    {"GET", "/api/human/bob?Token=x", 400, "credential_in_query", ""},
		"after the sunset":              {"GET", "/old", 410, "gone", ""},
		"after the sunset, for OPTIONS": {"OPTIONS", "/old", 410, "gone", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(test.method, "/", nil)
			r.RequestURI = test.target
			w := httptest.NewRecorder()
			rt.ServeHTTP(w, r)
			if w.Code != test.status || w.Body.String() != test.body || w.Header().Get("Allow") != test.allow {
				t.Errorf("got %d %q Allow %q", w.Code, w.Body, w.Header().Get("Allow"))
			}
		})
	}
}

func TestDeprecatedPathsAreMarked(t *testing.T) {
	t.Parallel()
	rt := testPipeline(t, nil)
	for method, status := range map[string]int{"POST": 200, "GET": 405, "OPTIONS": 204} {
		w := httptest.NewRecorder()
		rt.ServeHTTP(w, httptest.NewRequest(method, "/mcp", nil))
		if w.Code != status || w.Header().Get("Deprecation") != "true" ||
			w.Header().Get("Link") != `<https://kith.example/mcp/v1>; rel="successor-version"` {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
	}
	w := httptest.NewRecorder()
	rt.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp/v1", nil))
	if w.Header().Get("Deprecation") != "" {
		t.Error("the current path is marked as deprecated")
	}
}

// lastRoute records the route of the last request.
type lastRoute struct{ name string }

func (*lastRoute) Enter() {}
func (*lastRoute) Leave() {}
func (l *lastRoute) Observe(_ context.Context, route, _ string, _ int, _ time.Duration) {
	l.name = route
}

func TestRouteIsObserved(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/sandbox/api/human/bob": "sandbox-profile", "/nothing": "unknown"} {
		var seen lastRoute
		testPipeline(t, &seen).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
		if seen.name != want {
			t.Errorf("%s: route %q", path, seen.name)
		}
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	testPipeline(t, nil).ServeHTTP(w, httptest.NewRequest(http.MethodOptions, "/mcp/v1", nil))
	h := w.Header()
	if h.Get("Access-Control-Allow-Methods") != "POST" {
		t.Errorf("headers %v", h)
	}
	allowed := strings.Split(h.Get("Access-Control-Allow-Headers"), ", ")
	for _, name := range []string{"mcp-protocol-version", "x-mcp-toolsets", "x-mcp-tools", "x-mcp-readonly", "if-none-match"} {
		if !slices.Contains(allowed, name) {
			t.Errorf("%s is not among %q", name, allowed)
		}
	}
}
