package discovery_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/discovery"
	"github.com/kith-crm/kith/edge/internal/route"
)

// assets returns the handlers of the files that pages load, by their paths.
func assets(d discovery.Documents) map[string]route.Handler {
	files := map[string]route.Handler{}
	for path, handler := range d {
		if strings.HasPrefix(path, route.AssetPrefix) {
			files[path] = handler
		}
	}
	return files
}

// argumentOf returns a value of the pattern's parameter for which a document exists.
func argumentOf(pattern string) string {
	return map[string]string{"/docs/errors/{code}": "gone", "/docs/{guide}": "connect", "/docs/tools/{name}": "add_note"}[pattern]
}

func TestDocumentsAreCacheable(t *testing.T) {
	t.Parallel()
	for path, handler := range build(t, nil) {
		argument := argumentOf(path)
		w := get(handler, argument)
		h := w.Header()
		etag := h.Get("ETag")
		if w.Code != http.StatusOK || h.Get("Cache-Control") != "public, max-age=300" || !strings.HasPrefix(etag, `"`) ||
			!strings.Contains(h.Get("Vary"), "Accept-Encoding") || w.Body.Len() == 0 {
			t.Errorf("%s: %d %v", path, w.Code, h)
		}
		if again := get(handler, argument, "If-None-Match", "W/"+etag); again.Code != http.StatusNotModified || again.Body.Len() > 0 ||
			again.Header().Get("ETag") != etag {
			t.Errorf("%s: %d %v", path, again.Code, again.Header())
		}
		head := httptest.NewRecorder()
		handler(head, httptest.NewRequest(http.MethodHead, "/", nil), argument)
		if head.Code != http.StatusOK || head.Body.Len() > 0 || head.Header().Get("Content-Length") != h.Get("Content-Length") {
			t.Errorf("HEAD %s: %d %v", path, head.Code, head.Header())
		}
	}
}

func TestFormsByAccept(t *testing.T) {
	t.Parallel()
	d := build(t, nil)
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for accept, want := range map[string][2]string{ // of the documents for people and for agents
		"":                                 {"text/html", "text/markdown"},
		"*/*":                              {"text/html", "text/markdown"},
		"text/*":                           {"text/html", "text/markdown"},
		browser:                            {"text/html", "text/html"},
		"text/markdown":                    {"text/markdown", "text/markdown"},
		"text/html;q=0.5, text/markdown":   {"text/markdown", "text/markdown"},
		"text/html, text/markdown;q=0.9":   {"text/html", "text/html"},
		"text/html;q=0":                    {"text/markdown", "text/markdown"},
		"application/json":                 {"text/html", "text/markdown"},
		"text/html;q=0, text/markdown;q=0": {"", ""},
		"*/*;q=0":                          {"", ""},
	} {
		for i, handler := range []route.Handler{d["/docs/mcp"], d["/mcp/docs"]} {
			var headers []string
			if accept != "" {
				headers = []string{"Accept", accept}
			}
			w := get(handler, "", headers...)
			if want[i] == "" {
				if w.Code != http.StatusNotAcceptable || w.Header().Get("Content-Type") != "application/problem+json" {
					t.Errorf("%q: %d %v", accept, w.Code, w.Header())
				}
				continue
			}
			if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != want[i]+"; charset=utf-8" {
				t.Errorf("%q: %d %s", accept, w.Code, got)
			}
			if !strings.HasPrefix(w.Header().Get("Vary"), "Accept,") {
				t.Errorf("%q: Vary %q", accept, w.Header().Get("Vary"))
			}
		}
	}
}

func TestAPICatalogIsALinkset(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		w := httptest.NewRecorder()
		build(t, nil)["/.well-known/api-catalog"](w, httptest.NewRequest(method, "/.well-known/api-catalog", nil), "")
		if got := w.Header().Get("Content-Type"); got != `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"` {
			t.Errorf("%s: %s", method, got)
		}
		if got := w.Header().Get("Link"); got != `<https://kith.example/.well-known/api-catalog>; rel="api-catalog"` {
			t.Errorf("%s: %s", method, got)
		}
	}
}

func TestAssetsAreKept(t *testing.T) {
	t.Parallel()
	d := build(t, nil)
	all := append(parsePage(t, text(t, d["/"], "", "text/html")), parsePage(t, text(t, d["/docs/tools"], "", "text/html"))...)
	var loaded []string
	for _, e := range all {
		if address := e.attributes["href"] + e.attributes["src"] + e.attributes["srcset"]; strings.HasPrefix(address, "/assets/") && strings.Contains(address, "?v=") && !slices.Contains(loaded, address) {
			loaded = append(loaded, address)
		}
	}
	if len(loaded) != 5 || len(assets(d)) != 5 {
		t.Fatalf("pages load %q of %v", loaded, assets(d))
	}
	for path, serve := range assets(d) {
		for _, address := range loaded {
			if !strings.HasPrefix(address, path+"?") {
				continue
			}
			for target, want := range map[string]string{
				address: "public, max-age=31536000, immutable", path: "public, max-age=300", path + "?v=other": "public, max-age=300",
			} {
				w := httptest.NewRecorder()
				serve(w, httptest.NewRequest(http.MethodGet, target, nil), "")
				if w.Header().Get("Cache-Control") != want || w.Header().Get("Cross-Origin-Resource-Policy") != "same-origin" {
					t.Errorf("%s: %v", target, w.Header())
				}
			}
		}
	}
}

// TestIndexLinks follows the links like a new client: /llms.txt, /v1, the sandbox.
func TestIndexLinks(t *testing.T) {
	t.Parallel()
	d := build(t, nil)
	if !strings.Contains(get(d["/llms.txt"], "").Body.String(), "("+base+"/v1)") {
		t.Fatal("/llms.txt does not name /v1")
	}
	var index struct {
		MCP struct {
			Sandbox string
		}
		Authentication struct {
			Methods []struct{ Type, Sandbox string }
		}
	}
	if err := json.Unmarshal(get(d["/v1"], "").Body.Bytes(), &index); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{index.MCP.Sandbox, index.Authentication.Methods[0].Sandbox} {
		u, err := url.Parse(address)
		if err != nil || u.Host != "kith.example" || !strings.Contains(u.Path, "/sandbox") {
			t.Errorf("/v1 has %q", address)
		}
	}
}
