package page_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/page"
	"github.com/kith-crm/kith/edge/internal/requestlog"
)

func newPages(t *testing.T) *page.Pages {
	t.Helper()
	pages, err := page.New("https://kith.example", "/assets/docs.css?v=1")
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

func request(method, path string) *http.Request {
	r := httptest.NewRequest(method, path, nil)
	return r.WithContext(requestlog.NewContext(r.Context(), &requestlog.Event{RequestID: "req_1"}))
}

// Each error page says what is wrong, links to another page and shows the request id. It does not
// repeat the address.
func TestErrors(t *testing.T) {
	t.Parallel()
	pages := newPages(t)
	for _, code := range httpapi.Codes() {
		w := httptest.NewRecorder()
		w.Header().Set("Access-Control-Allow-Origin", "*")
		pages.WriteError(w, request(http.MethodGet, "/xss<script>alert(1)</script>?q=<script>"), httpapi.Error{Code: code, Detail: `A "detail" <b>.`})
		body, h := w.Body.String(), w.Header()
		for _, want := range []string{"<h1>" + strings.ReplaceAll(code.Title(), "'", "&#39;") + "</h1>", `<a href="/">Go to the start page</a>`, "Request req_1", "/assets/docs.css?v=1"} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %q in %s", code, want, body)
			}
		}
		if w.Code != code.Status() || strings.Contains(body, "<script") || strings.Contains(body, "xss") || strings.Contains(body, "<b>") {
			t.Errorf("%s: %d %s", code, w.Code, body)
		}
		if h.Get("Content-Type") != page.Type || h.Get("Cache-Control") != "no-store" || h.Get("Access-Control-Allow-Origin") != "" ||
			!strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") || strings.Contains(h.Get("Content-Security-Policy"), "script") {
			t.Errorf("%s: %v", code, h)
		}
		if (h.Get("Retry-After") != "") != (w.Code == http.StatusServiceUnavailable) {
			t.Errorf("%s: Retry-After %q", code, h.Get("Retry-After"))
		}
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	pages := newPages(t)
	for _, test := range []struct {
		name, path, cookie, wait string
		fault                    httpapi.Error
		want, not                []string
	}{
		{
			"no page", "/nothing", "", "", httpapi.Error{Code: httpapi.NotFound, Detail: httpapi.NoPathDetail},
			[]string{"This page does not exist.", `action="/members"`, `href="/sign-in"`}, []string{"No resource", "/people"},
		},
		{
			"no page, to a member", "/nothing", "__Host-kith_session", "", httpapi.Error{Code: httpapi.NotFound, Detail: httpapi.NoPathDetail},
			[]string{`action="/people"`, ">Today<"}, []string{`action="/members"`, "/sign-in"},
		},
		{
			"no profile", "/@nobody", "kith_session", "", httpapi.Error{Code: httpapi.NotFound, Detail: "No public profile has this username."},
			[]string{"No public profile has this username.", `action="/members"`}, nil,
		},
		{
			"below the settings", "/settings/x", "", "", httpapi.Error{Code: httpapi.NotFound, Detail: httpapi.NoPathDetail},
			[]string{`<a href="/settings">Go to your settings</a>`}, []string{"Go to the start page"},
		},
		{
			"a form's address", "/sign-out", "", "", httpapi.Error{Code: httpapi.MethodNotAllowed, Detail: "This path serves POST."},
			[]string{"cannot be opened in a browser", `action="/members"`}, []string{"POST"},
		},
		{
			"too many", "/members", "", "17", httpapi.Error{Code: httpapi.RateLimited, Detail: "Retry-After says it."},
			[]string{"Wait 17 seconds, and try again."}, []string{"Retry-After", "<form"},
		},
		{
			"an outage", "/people", "", "", httpapi.Error{Code: httpapi.Unavailable, Detail: httpapi.BusyDetail},
			[]string{"Try again in a moment."}, []string{"<form"},
		},
		{
			"an internal error", "/people", "", "", httpapi.Error{Code: httpapi.Internal, Detail: httpapi.InternalDetail},
			[]string{"logged under the id below"}, []string{"<form"},
		},
	} {
		w, r := httptest.NewRecorder(), request(http.MethodGet, test.path)
		if test.cookie != "" {
			r.AddCookie(&http.Cookie{Name: test.cookie, Value: "secret-of-the-session"})
		}
		if test.wait != "" {
			w.Header().Set("Retry-After", test.wait)
		}
		pages.WriteError(w, r, test.fault)
		for _, want := range test.want {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: no %q in %s", test.name, want, w.Body)
			}
		}
		for _, not := range append(test.not, "secret-of-the-session") {
			if strings.Contains(w.Body.String(), not) {
				t.Errorf("%s: %q is in %s", test.name, not, w.Body)
			}
		}
	}
}

func TestHeadHasNoBody(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	newPages(t).WriteError(w, request(http.MethodHead, "/"), httpapi.Error{Code: httpapi.NotFound})
	if w.Code != http.StatusNotFound || w.Body.Len() > 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestLinkHeader(t *testing.T) {
	t.Parallel()
	got := page.LinkHeader(page.Alternate{Type: "application/json", Address: "https://a.example/x"}, page.Alternate{Type: "text/markdown", Address: "https://a.example/x.md"})
	if want := `<https://a.example/x>; rel="alternate"; type="application/json", <https://a.example/x.md>; rel="alternate"; type="text/markdown"`; got != want {
		t.Errorf("got %s", got)
	}
}
