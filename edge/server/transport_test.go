package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestStrictTransport: over https every answer, including errors, has
// Strict-Transport-Security; over http none does, because that would lock people out.
func TestStrictTransport(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{"https://kith.example": "max-age=31536000", "http://localhost:8080": ""} {
		s, err := New(Config{BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/v1", "/llms.txt", "/nothing", "/mcp/v1", "/api/batch", "/sandbox"} {
			w := httptest.NewRecorder()
			s.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil))
			if got := w.Header().Get("Strict-Transport-Security"); got != want {
				t.Errorf("%s%s: %d with %q, want %q", base, path, w.Code, got, want)
			}
		}
	}
}
