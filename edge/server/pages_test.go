package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

// open sends the request of a browser when a person opens an address, with another Accept if given.
func open(h http.Handler, method, target, accept string, cookies ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", nil)
	r.RequestURI = target
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(target, "?")
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	for _, c := range cookies {
		r.Header.Add("Cookie", c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Errors are pages for browsers, signed in or not. Other callers, and all callers of the API, get
// an error in the format of the protocol.
func TestErrorsForBrowsers(t *testing.T) {
	t.Parallel()
	h := newServer(t, testConfig(backendtest.New())).Handler()
	const problem, rpc, oauth = "application/problem+json", "application/json", "application/json"
	for _, test := range []struct {
		method, target string
		status         int
		browser, other string // media types; "" for a page
	}{
		{"GET", "/nothing", 404, "", problem},
		{"GET", "/settingsx", 404, "", problem},
		{"GET", "/settings/nothing", 404, "", problem},
		{"GET", "/settings/%6dcp", 404, "", problem},
		{"GET", "/demo/nothing", 404, "", problem},
		{"GET", "/docs/errors/no-such-code", 404, "", problem},
		{"GET", "/.well-known/nothing", 404, "", problem},
		{"GET", "/%3Cscript%3Ealert(1)%3C/script%3E", 404, "", problem},
		{"GET", "/@amara/more", 404, "", problem},
		{"GET", "/@am.ara", 404, "", problem},
		{"GET", "/@nobody", 404, "", ""},
		{"GET", "/%zz", 400, "", problem},
		{"GET", "/llms.txt?token=x", 400, "", problem},
		{"POST", "/llms.txt", 405, "", problem},
		{"POST", "/members", 405, "", ""},
		{"GET", "/agent/identity", 405, "", problem},
		{"GET", "/mcp/v1", 405, "", rpc},
		{"BREW", "/", 501, "", problem},
		{"GET", "/oauth/token", 405, oauth, oauth},
		{"GET", "/api", 404, problem, problem},
		{"GET", "/api/nothing", 404, problem, problem},
		{"GET", "/api/human/nobody", 404, problem, problem},
		{"GET", "/api/network/members?per_page=x", 400, problem, problem},
		{"POST", "/api/human/amara", 405, problem, problem},
		{"GET", "/sandbox/api/human/nobody", 404, problem, problem},
		{"GET", "/api/jobs/1", 401, problem, problem},
	} {
		for _, accept := range []string{browserAccept, "", "*/*", "application/json", "application/json, text/html"} {
			for _, cookie := range []string{"", "kith_session=secret"} {
				want := test.other
				if accept == browserAccept {
					want = test.browser
				}
				if want == "" {
					want = "text/html; charset=utf-8"
				}
				w := open(h, test.method, test.target, accept, cookie)
				body := w.Body.String()
				if w.Code != test.status || w.Header().Get("Content-Type") != want || w.Header().Get("Cache-Control") != "no-store" {
					t.Errorf("%s %s, Accept %q: %d %v", test.method, test.target, accept, w.Code, w.Header())
				}
				isPage := strings.HasPrefix(want, "text/html")
				if (w.Header().Get("Access-Control-Allow-Origin") == "") != isPage || isPage && !strings.Contains(body, `<a href="/`) ||
					strings.Contains(body, "<script") || strings.Contains(body, "alert(") || strings.Contains(body, "secret") || len(w.Header()["Set-Cookie"]) > 0 {
					t.Errorf("%s %s, Accept %q: %v %s", test.method, test.target, accept, w.Header(), body)
				}
			}
		}
	}
}

// Failures of requests for pages are pages: a backend that is down, an overloaded server, a limit.
func TestFailuresForBrowsers(t *testing.T) {
	t.Parallel()
	backend := backendtest.New()
	c := testConfig(backend)
	c.RateLimits["profile"], c.RateLimits["directory"] = "3/60", "3/60"
	h := newServer(t, c).Handler()
	limit, policyHeader := "RateLimit", "RateLimit-Policy" // the header has this spelling too
	for _, targets := range [][]string{
		{"/@amara", "/api/human/amara.md", "/@nobody", "/@amara", "/api/human/amara"},
		{"/members", "/api/network/members", "/members?q=x", "/members", "/api/network/members"},
	} {
		for i, target := range targets {
			w := open(h, http.MethodGet, target, browserAccept)
			if refused := w.Code == http.StatusTooManyRequests; refused != (i >= 3) || refused != (w.Header().Get("Retry-After") != "") || w.Header()[limit] == nil || w.Header()[policyHeader] == nil {
				t.Errorf("%d: %s: %d %v", i, target, w.Code, w.Header())
			}
			if i == 3 && !strings.Contains(w.Body.String(), "seconds, and try again.") || i == 4 && !strings.Contains(w.Body.String(), `"code":"rate_limited"`) {
				t.Errorf("%s: %s", target, w.Body)
			}
		}
	}
	backend.Fail(http.ErrServerClosed)
	for _, target := range []string{"/sandbox", "/people", "/settings"} {
		w := open(h, http.MethodGet, target, browserAccept, "kith_session=secret")
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "<h1>The service is not available right now</h1>") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// The public pages have what other pages have: no CORS headers, limits, and compression.
func TestPublicPages(t *testing.T) {
	t.Parallel()
	c := testConfig(backendtest.New())
	c.RateLimits = nil
	h := newServer(t, c).Handler()
	policyHeader := "RateLimit-Policy" // the header has this spelling too
	for target, policy := range map[string]string{"/@amara": "profile", "/@AMARA": "profile", "/members": "directory", "/members?q=x&per_page=1": "directory"} {
		for _, cookie := range []string{"", "kith_session=secret"} {
			w := open(h, http.MethodGet, target, browserAccept, cookie)
			header := w.Header()
			if w.Code != http.StatusOK || header.Get("Cache-Control") != "public, max-age=60" || header.Get("Access-Control-Allow-Origin") != "" ||
				len(header["Set-Cookie"]) > 0 || !strings.HasPrefix(strings.Join(header[policyHeader], ""), `"`+policy+`";`) {
				t.Errorf("%s: %d %v", target, w.Code, header)
			}
		}
		if w := open(h, http.MethodHead, target, browserAccept); w.Code != http.StatusOK || w.Body.Len() > 0 {
			t.Errorf("HEAD %s: %d", target, w.Code)
		}
	}
}
