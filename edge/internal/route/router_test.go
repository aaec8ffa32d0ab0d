package route

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/edge/internal/cors"
	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/problem"
)

// refuser answers with the code alone.
type refuser struct{ prefix string }

func (f refuser) Refuse(w http.ResponseWriter, _ *http.Request, code problem.Code, _ string, _ ...problem.Field) {
	w.WriteHeader(code.Status())
	_, _ = w.Write([]byte(f.prefix + string(code)))
}

func testOptions(rows []Route) Options {
	handlers := map[string]Handler{}
	for _, r := range rows {
		handlers[r.HandlerName()] = func(w http.ResponseWriter, _ *http.Request, argument string) {
			_, _ = w.Write([]byte(r.HandlerName() + ":" + argument))
		}
	}
	return Options{
		BaseURL: "https://kith.example", Host: "kith.example", Handlers: handlers, CORS: cors.NewPolicy(),
		Refusers: map[Protocol]Refuser{HTTP: refuser{""}, MCP: refuser{"rpc "}, OAuth: refuser{"oauth "}, Page: refuser{"page "}},
		Now:      func() time.Time { return date("2027-01-01") },
	}
}

func testRouter(t *testing.T) *Router {
	t.Helper()
	rows := Mounted(Table(), true)
	gone := deprecated("2026-07-01")
	rows = append(rows, gone)
	rt, err := New(rows, testOptions(rows))
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func TestRouter(t *testing.T) {
	t.Parallel()
	rt := testRouter(t)
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

// An unknown path among the settings is a page for whoever asks for one.
func TestUnknownSettings(t *testing.T) {
	t.Parallel()
	rt := testRouter(t)
	const browsers = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for name, test := range map[string]struct{ path, accept, body string }{
		"a browser":             {"/settings/nothing", browsers, "page not_found"},
		"below a page":          {"/settings/mcp/nothing", browsers, "page not_found"},
		"with a slash too much": {"/settings/mcp/", "text/html", "page not_found"},
		"an escape":             {"/settings/%6dcp", "text/html", "page not_found"},
		"a program":             {"/settings/nothing", "application/json", "not_found"},
		"whoever takes all":     {"/settings/nothing", "*/*", "not_found"},
		"who says nothing":      {"/settings/nothing", "", "not_found"},
		"who wants no HTML":     {"/settings/nothing", "text/html;q=0, */*", "not_found"},
		"who wants little":      {"/settings/nothing", "*/*, text/html;q=0.1", "page not_found"},
		"a browser elsewhere":   {"/nothing", browsers, "not_found"},
		"much the same name":    {"/settingsx", browsers, "not_found"},
	} {
		r := httptest.NewRequest(http.MethodGet, test.path, nil)
		if test.accept != "" {
			r.Header.Set("Accept", test.accept)
		}
		w := httptest.NewRecorder()
		w.Header().Set("Access-Control-Allow-Origin", "*")
		rt.ServeHTTP(w, r)
		isPage, varies := strings.HasPrefix(test.body, "page"), strings.HasPrefix(test.path, "/settings/")
		if w.Code != http.StatusNotFound || w.Body.String() != test.body || (w.Header().Get("Vary") == "Accept") != varies ||
			(w.Header().Get("Access-Control-Allow-Origin") == "") != isPage {
			t.Errorf("%s: %d %q %v", name, w.Code, w.Body, w.Header())
		}
	}
}

func TestRouterMarksDeprecatedPaths(t *testing.T) {
	t.Parallel()
	rt := testRouter(t)
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

func TestRouterNamesTheRoute(t *testing.T) {
	t.Parallel()
	e := &exchange.Exchange{}
	r := httptest.NewRequest(http.MethodGet, "/sandbox/api/human/bob", nil)
	testRouter(t).ServeHTTP(httptest.NewRecorder(), r.WithContext(exchange.NewContext(r.Context(), e)))
	if e.Route != "sandbox-profile" {
		t.Errorf("route %q", e.Route)
	}
}

func TestPreflight(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	testRouter(t).ServeHTTP(w, httptest.NewRequest(http.MethodOptions, "/mcp/v1", nil))
	h := w.Header()
	if h.Get("Access-Control-Allow-Methods") != "POST" ||
		!strings.Contains(h.Get("Access-Control-Allow-Headers"), "mcp-protocol-version") {
		t.Errorf("headers %v", h)
	}
}

func TestNewRefusesRows(t *testing.T) {
	t.Parallel()
	good := Route{Name: "a", Pattern: "/a", Methods: []string{"GET"}, Summary: "A.", State: Current, Protocol: HTTP}
	change := func(f func(*Route)) Route { r := good; f(&r); return r }
	for name, test := range map[string]struct {
		rows []Route
		want string
	}{
		"nothing wrong":       {[]Route{good}, ""},
		"same name":           {[]Route{good, change(func(r *Route) { r.Pattern = "/b" })}, "is there twice"},
		"same path":           {[]Route{good, change(func(r *Route) { r.Name = "b" })}, "is there twice"},
		"no summary":          {[]Route{change(func(r *Route) { r.Summary = "" })}, "a name and a summary"},
		"no method":           {[]Route{change(func(r *Route) { r.Methods = nil })}, "needs a method"},
		"a method of its own": {[]Route{change(func(r *Route) { r.Methods = []string{"HEAD"} })}, "come by themselves"},
		"no refuser":          {[]Route{change(func(r *Route) { r.Protocol = "gopher" })}, "no refuser"},
	} {
		_, err := New(test.rows, testOptions(test.rows))
		if (test.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

func TestNewWantsAHandlerForEachRow(t *testing.T) {
	t.Parallel()
	rows := Mounted(Table(), true)
	o := testOptions(rows)
	delete(o.Handlers, Members)
	o.Handlers["stray"] = o.Handlers[Profile]
	_, err := New(rows, o)
	for _, want := range []string{`route "members": has no handler`, `route "sandbox-members": has no handler`, `handler "stray": has no route`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
