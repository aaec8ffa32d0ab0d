package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kith-crm/kith/edge/internal/httpapi"
)

func ask(t *testing.T, serve func(http.ResponseWriter, *http.Request, string), method, target string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	w.Header().Set("Content-Security-Policy", "of the data")
	serve(w, r, "")
	return w
}

func TestDocument(t *testing.T) {
	t.Parallel()
	d := httpapi.NewDocument("text/plain", []byte("hello"), http.Header{"Content-Security-Policy": {"of the page"}})
	w := ask(t, d.Serve, http.MethodGet, "/")
	h := w.Header()
	if w.Code != http.StatusOK || w.Body.String() != "hello" || h.Get("Content-Type") != "text/plain" || h.Get("Content-Length") != "5" ||
		h.Get("Etag") != d.ETag() || h.Get("Content-Security-Policy") != "of the page" || h.Get("Vary") != "Accept-Encoding" {
		t.Errorf("%d %v %q", w.Code, h, w.Body)
	}
	if head := ask(t, d.Serve, http.MethodHead, "/"); head.Body.Len() > 0 || head.Header().Get("Content-Length") != "5" {
		t.Errorf("HEAD: %v %q", head.Header(), head.Body)
	}
	if other := httpapi.NewDocument("text/plain", []byte("hullo"), nil); other.ETag() == d.ETag() {
		t.Error("two texts have one tag")
	}
}

func TestDocumentNotModified(t *testing.T) {
	t.Parallel()
	d := httpapi.NewDocument("text/plain", []byte("hello"), nil)
	tag := d.ETag()
	for match, want := range map[string]int{
		tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, `"a,b",` + tag + ` , "c"`: 304, "*": 304,
		`"x"`: 200, "": 200, tag[1:]: 200, `W/"x"`: 200,
	} {
		w := ask(t, d.Serve, http.MethodGet, "/", "If-None-Match", match)
		if w.Code != want || (want == 304) != (w.Body.Len() == 0) || w.Header().Get("Etag") != tag || w.Header().Get("Cache-Control") == "" {
			t.Errorf("%q: %d %v", match, w.Code, w.Header())
		}
		if want == 304 && w.Header().Get("Content-Length") != "" {
			t.Errorf("%q: 304 has a length", match)
		}
	}
	if w := ask(t, d.Serve, http.MethodGet, "/", "If-None-Match", `"x"`, "If-None-Match", tag); w.Code != http.StatusNotModified {
		t.Errorf("second line: %d", w.Code)
	}
}

func TestNegotiate(t *testing.T) {
	t.Parallel()
	serve := httpapi.Negotiate(httpapi.NewProblems("https://kith.example"),
		httpapi.NewDocument("text/html; charset=utf-8", []byte("html"), nil), httpapi.NewDocument("text/markdown; charset=utf-8", []byte("markdown"), nil))
	for accept, want := range map[string]string{
		"*/*": "html", "text/html": "html", "text/markdown": "markdown", "TEXT/Markdown": "markdown", "text/*;q=0.3": "html",
		"text/html;q=0.2,text/markdown;q=0.3": "markdown", "text/html;q=0.3,text/*;q=0.9": "markdown", "text/html;q=bad": "html",
		"text/markdown;q=0.001": "markdown", "text/html;q=0,*/*": "markdown", "text/*;q=0,text/html": "html", "image/png": "html",
		"text/markdown; variant=GFM; q=0.5": "markdown", ",": "html", "text/html;q=2": "html",
		"text/html; q=0.000, text/markdown;q=0": "", "*/*;q=0.0": "", "text/*;q=0": "",
	} {
		w := ask(t, serve, http.MethodGet, "/", "Accept", accept)
		if want == "" {
			if w.Code != http.StatusNotAcceptable || w.Header().Get("Vary") != "Accept" {
				t.Errorf("%q: %d %v", accept, w.Code, w.Header())
			}
			continue
		}
		if w.Code != http.StatusOK || w.Body.String() != want {
			t.Errorf("%q: %d %q", accept, w.Code, w.Body)
		}
	}
	if w := ask(t, serve, http.MethodGet, "/", "Accept", "text/html;q=0.1", "Accept", "text/markdown"); w.Body.String() != "markdown" {
		t.Errorf("two lines: %q", w.Body)
	}
}

func TestWantsPage(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": true, // browsers
		"text/html, application/xhtml+xml, */*":                           true,
		"text/html":                                                       true,
		"text/html;q=0.3, application/json;q=0.2":                         true,
		"":                                    false,
		"*/*":                                 false,
		"text/*":                              false,
		"application/json":                    false,
		"application/json, text/html":         false,
		"text/html, application/problem+json": false,
		"text/html;q=0.9, application/json":   false,
		"text/html;q=0.1, */*":                false,
		"text/html;q=0, */*":                  false,
		"application/json, text/event-stream": false,
	} {
		if got := httpapi.WantsPage([]string{accept}); got != want {
			t.Errorf("%q: %t", accept, got)
		}
	}
	if httpapi.WantsPage(nil) {
		t.Error("a caller without Accept gets a page")
	}
}
