package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// The pages of the demo need no session, have their own rate limit and are read-only: a request
// that writes does not reach the backend. They do not exist without a sandbox.
func TestDemoPages(t *testing.T) {
	t.Parallel()
	for _, enabled := range []bool{true, false} {
		c := testConfig(backendtest.New())
		c.SandboxEnabled, c.RateLimits = enabled, nil
		var asked []string
		c.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = append(asked, r.Method+" "+r.URL.Path)
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Cache-Control": {"no-store"}}, Body: io.NopCloser(strings.NewReader("page")), Request: r}, nil
		})
		h := newServer(t, c).Handler()
		send := func(method, path string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, c.BaseURL+path, nil)
			r.Header.Set("Accept", "text/html")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		pages := []string{
			"/demo", "/demo/people", "/demo/people/con_1", "/demo/people/con_1/merge", "/demo/people/views", "/demo/people/bin", "/demo/people/bin/delete", "/demo/groups",
			"/demo/groups/grp_1", "/demo/groups/tag", "/demo/activity", "/demo/activity/undo", "/demo/activity/reads", "/demo/connect",
		}
		status, refused := http.StatusNotFound, http.StatusNotFound
		if enabled {
			status, refused = http.StatusOK, http.StatusMethodNotAllowed
		}
		policy := "RateLimit-Policy" // the header has this spelling too
		for _, path := range pages {
			w := send(http.MethodGet, path)
			if w.Code != status || enabled && (!slices.Equal(w.Header()[policy], []string{`"demo";q=120;w=60`}) || w.Header().Get("Cache-Control") != "no-store") {
				t.Errorf("GET %s: %d %v", path, w.Code, w.Header())
			}
		}
		read := len(asked)
		for _, path := range pages {
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
				if w := send(method, path); w.Code != refused {
					t.Errorf("%s %s: %d", method, path, w.Code)
				}
			}
		}
		for _, path := range []string{"/demo/people/con_1/note", "/demo/people/con_1/edit", "/demo/today/done", "/demo/groups/save", "/demo/sign-out", "/demo/settings", "/demo/settings/account/delete"} {
			if w := send(http.MethodPost, path); w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed {
				t.Errorf("POST %s: %d", path, w.Code)
			}
		}
		if len(asked) != read {
			t.Errorf("the backend was asked for %v", asked[read:])
		}
	}
}
