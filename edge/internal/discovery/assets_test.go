package discovery

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAsset(t *testing.T) {
	t.Parallel()
	a, err := newAsset("/assets/docs.css", "text/css")
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{
		a.address(): "public, max-age=31536000, immutable", a.path: "public, max-age=300", a.path + "?v=1": "public, max-age=300",
		a.path + "?v=%zz": "public, max-age=300",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path, r.URL.RawQuery, _ = strings.Cut(target, "?")
		w := httptest.NewRecorder()
		a.serve(w, r, "")
		if w.Header().Get("Cache-Control") != want || !strings.HasPrefix(w.Body.String(), "/* ") {
			t.Errorf("%s: %v", target, w.Header())
		}
	}
}
