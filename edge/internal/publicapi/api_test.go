package publicapi_test

import (
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/edge/internal/backendtest"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/page"
	"github.com/kith-crm/kith/edge/internal/publicapi"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const base = "https://kith.example"

var newPages = sync.OnceValues(func() (*page.Pages, error) { return page.New(base, "/assets/docs.css") })

func newAPI(t testing.TB, backend *backendtest.Backend, ttl time.Duration, now func() time.Time) *publicapi.API {
	t.Helper()
	client, err := upstream.New(upstream.Options{
		BaseURL: "http://backend", Transport: backend.Transport(), ServiceToken: backendtest.ServiceToken,
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := newPages()
	if err != nil {
		t.Fatal(err)
	}
	api, err := publicapi.New(publicapi.Options{
		Backend: client, Problems: httpapi.NewProblems(base), Pages: pages, Logger: slog.New(slog.DiscardHandler), BaseURL: base,
		CacheTTL: ttl, Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

type handler func(http.ResponseWriter, *http.Request, string)

// get calls a handler with pairs of header names and values.
func get(h handler, target, argument string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h(w, r, argument)
	return w
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s:\n%s", name, diff)
	}
}

func TestRepresentations(t *testing.T) {
	t.Parallel()
	api := newAPI(t, backendtest.New(), 0, nil)
	for name, w := range map[string]*httptest.ResponseRecorder{
		"full.json":    get(api.ServeJSON, "/", "amara"),
		"full.md":      get(api.ServeMarkdown, "/", "amara"),
		"minimal.json": get(api.ServeJSON, "/", "bo-b"),
		"minimal.md":   get(api.ServeMarkdown, "/", "bo-b"),
		"members.json": get(api.ServeMembers, "/api/network/members", ""),
		"empty.json":   get(api.ServeMembers, "/api/network/members?cursor=next", ""),
	} {
		golden(t, name, w.Body.Bytes())
		wantType := "application/json"
		if strings.HasSuffix(name, ".md") {
			wantType = "text/markdown; charset=utf-8"
		}
		h := w.Header()
		if w.Code != 200 || h.Get("Content-Type") != wantType || h.Get("Cache-Control") != "public, max-age=60" ||
			h.Get("Vary") != "Accept-Encoding" || len(h.Get("ETag")) != 34 {
			t.Errorf("%s: %d %v", name, w.Code, h)
		}
	}
}

func TestUsernames(t *testing.T) {
	t.Parallel()
	api := newAPI(t, backendtest.New(), 0, nil)
	for username, status := range map[string]int{
		"amara": 200, "AMARA": 200, "bo-b": 200,
		"nobody": 404, "am": 404, "-amara": 404, "amara-": 404, "a_b": 404, "am~ra": 404, "": 404,
		strings.Repeat("a", 30): 404, strings.Repeat("a", 31): 404,
	} {
		if w := get(api.ServeJSON, "/", username); w.Code != status {
			t.Errorf("%q: %d, want %d", username, w.Code, status)
		}
	}
	if a, b := get(api.ServeJSON, "/", "nobody"), get(api.ServeJSON, "/", "a_b"); a.Body.String() != b.Body.String() {
		t.Errorf("an unknown username and an invalid one have different answers: %s, %s", a.Body, b.Body)
	}
}

func TestConditionalRequests(t *testing.T) {
	t.Parallel()
	api := newAPI(t, backendtest.New(), 0, nil)
	etag := get(api.ServeJSON, "/", "amara").Header().Get("ETag")
	if other := get(api.ServeMarkdown, "/", "amara").Header().Get("ETag"); other == etag {
		t.Error("two representations have one entity tag")
	}
	for header, status := range map[string]int{
		etag: 304, "W/" + etag: 304, "*": 304, `"x", ` + etag: 304, `"x",W/"y" , ` + etag: 304,
		`"x"`: 200, "": 200, strings.Trim(etag, `"`): 200, `"a` + etag: 200, `"`: 200, `garbage, ` + etag: 200,
	} {
		w := get(api.ServeJSON, "/", "amara", "If-None-Match", header)
		if w.Code != status || w.Header().Get("ETag") != etag || w.Header().Get("Cache-Control") == "" {
			t.Errorf("If-None-Match %s: %d %v", header, w.Code, w.Header())
		}
		if status == 304 && (w.Body.Len() > 0 || w.Header().Get("Content-Length") != "") {
			t.Errorf("a 304 has a body: %v", w.Header())
		}
	}
	if w := get(api.ServeJSON, "/", "amara", "If-None-Match", `"x"`, "If-None-Match", etag); w.Code != 304 {
		t.Errorf("two lines: %d", w.Code)
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	api := newAPI(t, backendtest.New(), 0, nil)
	r := httptest.NewRequest(http.MethodHead, "/", nil)
	w := httptest.NewRecorder()
	api.ServeJSON(w, r, "amara")
	full := get(api.ServeJSON, "/", "amara")
	if diff := cmp.Diff(full.Header(), w.Header()); diff != "" || w.Code != 200 || w.Body.Len() > 0 {
		t.Errorf("%d %q %s", w.Code, w.Body, diff)
	}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	api := newAPI(t, backendtest.New(), 0, nil)
	for accept, status := range map[string]int{
		"": 200, "*/*": 200, "text/html": 200, "application/json;q=0.1": 200, "text/html, */*;q=0.01": 200,
		"application/json;q=0": 406, "application/json; Q=0.000": 406, "*/*;q=0": 406, "application/*;q=0, */*": 406,
		"*/*;q=0, application/json": 200, "text/markdown;q=0": 200, "text/html, application/json;v=1;q=0": 406,
	} {
		if w := get(api.ServeJSON, "/", "amara", "Accept", accept); w.Code != status {
			t.Errorf("Accept %q: %d, want %d", accept, w.Code, status)
		}
	}
	if w := get(api.ServeMarkdown, "/", "amara", "Accept", "text/markdown;q=0"); w.Code != 406 {
		t.Errorf("Markdown: %d", w.Code)
	}
	if w := get(api.ServeMembers, "/", "", "Accept", "application/json;q=0"); w.Code != 406 {
		t.Errorf("directory: %d", w.Code)
	}
}

func TestDirectoryQuery(t *testing.T) {
	t.Parallel()
	api := newAPI(t, backendtest.New(), 0, nil)
	for query, want := range map[string]string{ // part of the errors; "" for a page
		"":                                   "",
		"q=":                                 "",
		"q=grids&per_page=1":                 "",
		"per_page=100&unknown=x":             "",
		"cursor=next":                        "",
		"q=" + strings.Repeat("%C3%A9", 200): "",
		"q=" + strings.Repeat("%C3%A9", 201): `"field":"q","message":"must be at most 200 characters"`,
		"q=a&q=b":                            `"field":"q","message":"must be given once"`,
		"per_page=0":                         `"field":"per_page","message":"must be an integer from 1 to 100"`,
		"per_page=101":                       `"field":"per_page"`,
		"per_page=-1":                        `"field":"per_page"`,
		"per_page=+5":                        `"field":"per_page"`,
		"per_page=%2B5":                      `"field":"per_page"`,
		"per_page=1e3":                       `"field":"per_page"`,
		"per_page=1000000000":                `"field":"per_page"`,
		"per_page=05":                        `"field":"per_page"`,
		"per_page=":                          `"field":"per_page"`,
		"per_page=x&cursor=":                 `"field":"cursor","message":"must be the next_cursor of a page"`,
		"cursor=tampered":                    `"field":"cursor","message":"cursor: it is not a cursor of this list"`,
		"cursor=" + strings.Repeat("a", 513): `"field":"cursor"`,
		"q=a;b=c":                            `"errors"`,
		"q=%zz":                              `"errors"`,
	} {
		w := get(api.ServeMembers, "/api/network/members?"+query, "")
		status := 200
		if want != "" {
			status = 400
		}
		if w.Code != status || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q: %d %s, want %d with %s", query, w.Code, w.Body, status, want)
		}
	}
}

func TestOutage(t *testing.T) {
	t.Parallel()
	backend := backendtest.New()
	backend.Fail(errors.New("connection refused"))
	api := newAPI(t, backend, time.Second, nil)
	for _, h := range []handler{api.ServeJSON, api.ServeMarkdown, api.ServeMembers} {
		w := get(h, "/", "amara")
		if w.Code != 503 || w.Header().Get("Retry-After") != "1" || w.Header().Get("ETag") != "" ||
			w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
	}
	backend.Fail(connect.NewError(connect.CodeInternal, errors.New("database password is hunter2")))
	for _, h := range []handler{api.ServeJSON, api.ServeMarkdown, api.ServeMembers} {
		if w := get(h, "/", "amara"); w.Code != 500 || strings.Contains(w.Body.String(), "hunter2") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}
