package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/backendtest"
)

// roundTrip is a function as an http.RoundTripper.
type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A browser with a session cookie gets the backend's page at /, uncompressed and without CORS
// headers. Everyone else gets the landing page. The Vary header separates the two in caches.
func TestStartPage(t *testing.T) {
	t.Parallel()
	for base, name := range map[string]string{"http://kith.example": "kith_session", "https://kith.example": "__Host-kith_session"} {
		c := testConfig(backendtest.New())
		c.BaseURL = base
		asked := 0
		c.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path != "/" {
				t.Errorf("the backend got a request for %s", r.URL.Path)
			}
			asked++
			body := io.NopCloser(strings.NewReader("today " + strings.Repeat("x", 5000)))
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Cache-Control": {"no-store"}, "Vary": {"Cookie"}}, Body: body, Request: r}, nil
		})
		h := newServer(t, c).Handler()
		for cookie, member := range map[string]bool{
			"": false, name + "=": false, name + "2=secret": false, "other=" + name: false, "kith_form=x": false,
			name + "=secret": true, "kith_form=x; " + name + "=stale": true,
		} {
			before := asked
			r := httptest.NewRequest(http.MethodGet, base+"/?done=undone", nil)
			r.Header.Set("Accept", "text/html")
			r.Header.Set("Accept-Encoding", "gzip")
			r.Header.Set("Origin", "https://evil.example")
			if cookie != "" {
				r.Header.Set("Cookie", cookie)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			headers := w.Header()
			vary := strings.Join(headers.Values("Vary"), ", ")
			if w.Code != http.StatusOK || (asked > before) != member || !strings.Contains(vary, "Cookie") {
				t.Errorf("%s, %q: %d, asked %t, Vary %q", base, cookie, w.Code, asked > before, vary)
			}
			private := headers.Get("Cache-Control") == "no-store" && headers.Get("Content-Encoding") == "" && headers.Get("Access-Control-Allow-Origin") == ""
			if private != member {
				t.Errorf("%s, %q: headers %v", base, cookie, headers)
			}
		}
	}
}

// The files that pages load are compressed. Pages are compressed only if no other site made the
// browser request them.
func TestCompressedPages(t *testing.T) {
	t.Parallel()
	c := testConfig(backendtest.New())
	c.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		header := http.Header{"Content-Type": {"text/html; charset=utf-8"}, "Cache-Control": {"no-store"}}
		return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(strings.Repeat("x", 5000))), Request: r}, nil
	})
	h := newServer(t, c).Handler()
	always := map[string]bool{"/assets/kith.css": true, "/assets/shell.js": true, "/sign-in": false, "/people": false, "/demo/people": false}
	for path, compressed := range always {
		for site, own := range map[string]bool{"": false, "cross-site": false, "same-site": false, "same-origin": true, "none": true} {
			r := httptest.NewRequest(http.MethodGet, c.BaseURL+path, nil)
			r.Header.Set("Accept-Encoding", "gzip")
			if site != "" {
				r.Header.Set("Sec-Fetch-Site", site)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			got := w.Header().Get("Content-Encoding") == "gzip"
			if w.Code != http.StatusOK || got != (compressed || own) || got == (w.Body.Len() > 1000) {
				t.Errorf("%s for %q: %d, %d bytes, headers %v", path, site, w.Code, w.Body.Len(), w.Header())
			}
		}
	}
	r := httptest.NewRequest(http.MethodPost, c.BaseURL+"/oauth/token", strings.NewReader("grant_type=x"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept-Encoding", "gzip")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Header().Get("Content-Encoding") != "" || w.Body.Len() != 5000 {
		t.Errorf("tokens: %d, %d bytes, headers %v", w.Code, w.Body.Len(), w.Header())
	}
}
