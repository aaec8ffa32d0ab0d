package discovery_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/discovery"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/route"
)

func guides() []string { return []string{"connect", "protocol", "recipes", "scopes", "paths"} }

// searching returns a handler that searches the documentation for a query.
func searching(d discovery.Documents, query string) route.Handler {
	return func(w http.ResponseWriter, r *http.Request, argument string) {
		r.URL.RawQuery = url.Values{"q": {query}}.Encode()
		d["/docs"](w, r, argument)
	}
}

// page is a document that is served as HTML.
type page struct {
	handler  route.Handler
	argument string
	path     string
}

func pagesOf(t *testing.T, d discovery.Documents) map[string]page {
	t.Helper()
	pages := map[string]page{
		"landing": {d["/"], "", "/"}, "people docs": {d["/docs/mcp"], "", "/docs/mcp"},
		"agent docs": {d["/mcp/docs"], "", "/mcp/docs"}, "errors": {d["/docs/errors"], "", "/docs/errors"},
		"docs": {d["/docs"], "", "/docs"}, "tools": {d["/docs/tools"], "", "/docs/tools"}, "search": {searching(d, "undo"), "", "/docs"},
		"empty search": {searching(d, "xyzzy"), "", "/docs"},
	}
	for _, name := range guides() {
		pages["guide "+name] = page{d["/docs/{guide}"], name, "/docs/" + name}
	}
	for _, name := range loadCatalog(t).ToolNames() {
		pages["tool "+name] = page{d["/docs/tools/{name}"], name, "/docs/tools/" + name}
	}
	for _, code := range httpapi.Codes() {
		pages["error "+string(code)] = page{d["/docs/errors/{code}"], string(code), "/docs/errors/" + string(code)}
	}
	pages["error -32001"] = page{d["/docs/errors/{code}"], "-32001", "/docs/errors/-32001"}
	return pages
}

func TestPagesAreAccessible(t *testing.T) {
	t.Parallel()
	for variant, change := range variants() {
		d := build(t, change)
		for name, p := range pagesOf(t, d) {
			t.Run(variant+"/"+name, func(t *testing.T) {
				t.Parallel()
				checkPage(t, text(t, p.handler, p.argument, "text/html"))
			})
		}
	}
}

func TestPagesHaveAPolicy(t *testing.T) {
	t.Parallel()
	d := build(t, nil)
	for name, p := range pagesOf(t, d) {
		w := get(p.handler, p.argument, "Accept", "text/html")
		policy := w.Header().Get("Content-Security-Policy")
		for _, wanted := range []string{"default-src 'none'", "style-src 'self'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'", "script-src 'self';", "connect-src 'self';"} {
			if !strings.Contains(policy, wanted) {
				t.Errorf("%s: %s", name, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || strings.Contains(policy, "https:") {
			t.Errorf("%s: %s", name, policy)
		}
	}
	if w := get(d["/mcp/docs"], ""); w.Header().Get("Content-Security-Policy") != "" {
		t.Error("Markdown changes the policy for data")
	}
}

// The page works without its script: it shows every request as a command line, and reads are also
// links.
func TestLandingWithoutScript(t *testing.T) {
	t.Parallel()
	body := text(t, build(t, nil)["/"], "", "text/html")
	all := parsePage(t, body)
	forms := named(all, "form")
	if len(forms) != 3 {
		t.Fatalf("%d forms", len(forms))
	}
	for _, f := range forms {
		if _, hidden := f.attributes["hidden"]; !hidden {
			t.Errorf("a form that needs the script is visible without it: %v", f.attributes)
		}
	}
	var curls, links []string
	for _, e := range all {
		if e.name == "pre" && strings.HasPrefix(e.text, "curl ") {
			curls = append(curls, e.text)
		}
		if e.name == "a" && strings.HasPrefix(e.attributes["href"], "/sandbox/") {
			links = append(links, e.attributes["href"])
		}
	}
	if len(curls) != 3 || len(links) != 2 {
		t.Errorf("command lines %q, links %q", curls, links)
	}
	if status := elementsWith(all, "role", "status"); len(status) != 3 || status[0].attributes["aria-live"] != "polite" {
		t.Errorf("answers are not announced: %v", status)
	}
}

func elementsWith(all []*element, attribute, value string) []*element {
	var found []*element
	for _, e := range all {
		if e.attributes[attribute] == value {
			found = append(found, e)
		}
	}
	return found
}

// The forms have the values from which the script builds the requests on the page.
func TestLandingForms(t *testing.T) {
	t.Parallel()
	all := parsePage(t, text(t, build(t, nil)["/"], "", "text/html"))
	want := map[string][]string{
		"try-profile-answer":   {"GET", "/sandbox/api/human/{}", "application/json", "", ""},
		"try-directory-answer": {"GET", "/sandbox/api/network/members?q={}&per_page=5", "application/json", "", ""},
		"try-tool-answer":      {"POST", "/sandbox/mcp/v1", "application/json, text/event-stream", requests()[3].Body, "query"},
	}
	for _, f := range named(all, "form") {
		a := f.attributes
		got := []string{a["data-try-verb"], a["data-try-pattern"], a["data-try-accept"], a["data-try-json"], a["data-try-argument"]}
		wanted := want[a["data-try-answer"]]
		if strings.Join(got, "\n") != strings.Join(wanted, "\n") {
			t.Errorf("%s: %q, want %q", a["data-try-answer"], got, wanted)
		}
	}
	var values []string
	for _, i := range elementsWith(all, "name", "value") {
		values = append(values, i.attributes["value"])
	}
	if got := strings.Join(values, " "); got != "demo climate microgrids" {
		t.Errorf("fields hold %q", got)
	}
}

func TestLandingWithoutSandbox(t *testing.T) {
	t.Parallel()
	body := text(t, build(t, withoutSandbox)["/"], "", "text/html")
	if strings.Contains(body, "<form") || strings.Contains(body, "<script") || strings.Contains(body, "sandbox") {
		t.Error("the page mentions a sandbox that does not exist")
	}
}

func TestVersionAndTextAreEscaped(t *testing.T) {
	t.Parallel()
	d := build(t, func(o *discovery.Options) {
		o.Version = `<b onclick="x">`
		o.Requests[0].Title = `<img src=x onerror="alert(1)">`
	})
	for name, p := range pagesOf(t, d) {
		body := text(t, p.handler, p.argument, "text/html")
		if strings.Contains(body, "<b onclick") || strings.Contains(body, "<img src=x") {
			t.Errorf("%s: text became markup", name)
		}
	}
}

func TestNewRefusesOptions(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*discovery.Options){
		"no base URL":  func(o *discovery.Options) { o.BaseURL = "" },
		"no version":   func(o *discovery.Options) { o.Version = "" },
		"no catalogue": func(o *discovery.Options) { o.Catalog = nil },
		"no problems":  func(o *discovery.Options) { o.Problems = nil },
		"no routes":    func(o *discovery.Options) { o.Routes = nil },
		"no protocols": func(o *discovery.Options) { o.Protocols = nil },
		"a bad route": func(o *discovery.Options) {
			o.Routes = append(o.Routes, route.Route{Pattern: "x", Methods: []string{http.MethodGet}})
		},
	} {
		o := options(t)
		change(&o)
		if _, err := discovery.New(o); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
