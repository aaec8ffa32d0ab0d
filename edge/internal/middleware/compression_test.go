package middleware_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kith-crm/kith/edge/internal/middleware"
)

const tag = `"abc"`

func serveCompressed(t *testing.T, body, contentType string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	compress, err := middleware.NewCompression()
	if err != nil {
		t.Fatal(err)
	}
	handler := compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tag)
		w.Header().Set("Content-Type", contentType)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte(body + "!"))
	}))
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func TestWhatIsCompressed(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("all work and no play ", 1000)
	for name, test := range map[string]struct {
		body, kind, accept string
		compressed         bool
	}{
		"large":        {large, "application/json", "gzip", true},
		"in a list":    {large, "text/markdown; charset=utf-8", "br, gzip;q=0.5", true},
		"not accepted": {large, "application/json", "identity", false},
		"refused":      {large, "application/json", "gzip;q=0", false},
		"small":        {"{}", "application/json", "gzip", false},
		"of no use":    {large, "image/png", "gzip", false},
		"not asked":    {large, "application/json", "", false},
	} {
		w := serveCompressed(t, test.body, test.kind, "Accept-Encoding", test.accept)
		body, encoding := w.Body.String(), w.Header().Get("Content-Encoding")
		if (encoding == "gzip") != test.compressed {
			t.Errorf("%s: Content-Encoding %q", name, encoding)
		}
		wantTag := tag
		if test.compressed {
			wantTag = `"abc-gzip"`
			reader, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := io.ReadAll(reader)
			if err != nil {
				t.Fatal(err)
			}
			body = string(plain)
		}
		if body != test.body+"!" || w.Header().Get("ETag") != wantTag {
			t.Errorf("%s: tag %s, %d bytes", name, w.Header().Get("ETag"), len(body))
		}
	}
}

func TestNotModified(t *testing.T) {
	t.Parallel()
	for _, have := range []string{tag, `"abc-gzip"`} {
		w := serveCompressed(t, "x", "application/json", "Accept-Encoding", "gzip", "If-None-Match", have)
		if w.Code != http.StatusNotModified || w.Header().Get("ETag") != have || w.Body.Len() > 0 || w.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s: %d %v", have, w.Code, w.Header())
		}
	}
}
