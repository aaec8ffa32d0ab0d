package docs_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/kith-crm/kith/deploy/docs"
	edge "github.com/kith-crm/kith/edge/server"
)

var pageLink = regexp.MustCompile(`href="(/docs/[a-z-]+)(?:#([^"]+))?"`)

// TestManuals: the service shows each document, and what they link to at /docs is there.
func TestManuals(t *testing.T) {
	t.Parallel()
	manuals, err := docs.Manuals()
	if err != nil {
		t.Fatal(err)
	}
	front, err := edge.New(edge.Config{Manuals: manuals})
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	get := func(path string) string {
		if pages[path] == "" {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost:8080"+path, http.NoBody)
			r.Header.Set("Accept", "text/html")
			w := httptest.NewRecorder()
			front.Handler().ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				t.Errorf("%s gets %d", path, w.Code)
			}
			pages[path] = w.Body.String()
		}
		return pages[path]
	}
	for _, m := range manuals {
		page := get("/docs/" + m.Name)
		if !strings.Contains(page, ">"+m.Title()+"</h1>") {
			t.Errorf("%s has no title %q", m.Name, m.Title())
		}
		if strings.Contains(page, ".md\"") || strings.Contains(page, ".md#") {
			t.Errorf("%s has a link to a file", m.Name)
		}
		for _, link := range pageLink.FindAllStringSubmatch(page, -1) {
			if target := get(link[1]); link[2] != "" && !strings.Contains(target, `id="`+link[2]+`"`) {
				t.Errorf("%s leads to %s#%s, which is not there", m.Name, link[1], link[2])
			}
		}
	}
	if list := get("/docs"); !strings.Contains(list, `href="/docs/first-hour"`) {
		t.Error("the overview has no link to the first hour")
	}
}
