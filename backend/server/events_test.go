package server

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/sources"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, path, form string
		status             int
		location, want     string
	}{
		{"POST", "/sign-in", "", http.StatusSeeOther, "/settings", "sign_in ok"},
		{"POST", "/sign-in", "", http.StatusForbidden, "", "sign_in refused"},
		{"POST", "/sign-in", "", http.StatusTooManyRequests, "", "sign_in limited"},
		{"POST", "/sign-in", "", http.StatusServiceUnavailable, "", "sign_in failed"},
		{"POST", "/sign-in", "", 0, "", "sign_in failed"}, // it panics
		{"GET", "/sign-in", "", http.StatusOK, "", ""},
		{"GET", "/sign-in/maria", "", http.StatusNotFound, "", ""},
		{"POST", "/oauth/token", "grant_type=authorization_code", http.StatusOK, "", "code ok"},
		{"POST", "/oauth/token", "grant_type=refresh_token", http.StatusBadRequest, "", "refresh refused"},
		{"POST", "/oauth/token", "grant_type=maria", http.StatusBadRequest, "", "token refused"},
		{"POST", "/oauth/consent", "", http.StatusSeeOther, "https://a.example/cb?code=x&state=y", "consent ok"},
		{"POST", "/oauth/consent", "", http.StatusSeeOther, "https://a.example/cb?error=access_denied", "consent denied"},
		{"GET", "/oauth/authorize", "", http.StatusSeeOther, "https://a.example/cb?error=invalid_scope", "authorize refused"},
		{"GET", "/oauth/authorize", "", http.StatusSeeOther, "https://a.example/cb?error=server_error", "authorize failed"},
	} {
		var observed []string
		next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if c.status == 0 {
				panic("no")
			}
			if err := r.ParseForm(); err != nil {
				t.Error(err)
			}
			if c.location != "" {
				w.Header().Set("Location", c.location)
			}
			w.WriteHeader(c.status)
		})
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(c.form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		func() {
			defer func() { _ = recover() }()
			observeEvents(next, func(kind, result string) { observed = append(observed, kind+" "+result) }).ServeHTTP(httptest.NewRecorder(), r)
		}()
		if got := strings.Join(observed, "; "); got != c.want {
			t.Errorf("%s %s %d %s: observed %q, not %q", c.method, c.path, c.status, c.location, got, c.want)
		}
		for _, event := range observed {
			kind, result, _ := strings.Cut(event, " ")
			if !slices.Contains(oauthKinds(), kind) || !slices.Contains(oauthResults(), result) {
				t.Errorf("%s is not in the lists", event)
			}
		}
	}
}

// TestEventsExist checks that each event is a request that a handler answers.
func TestEventsExist(t *testing.T) {
	t.Parallel()
	url := t.TempDir() + "/kith.db"
	if _, err := Migrate(t.Context(), url, false); err != nil {
		t.Fatal(err)
	}
	c := Config{DatabaseURL: url, ServiceToken: "a-service-token-for-tests", BaseURL: "http://kith.example", SignUp: true}
	s, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(t.Context()) })
	for event := range events() {
		method, path, _ := strings.Cut(event, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
		r.Header.Set("Kith-Service-Token", c.ServiceToken)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		// A callback without a provider is not found, as a page.
		if page := w.Header().Get("Content-Security-Policy") != ""; (w.Code == http.StatusNotFound && !page) || w.Code == http.StatusMethodNotAllowed {
			t.Errorf("%s: %d %s", event, w.Code, w.Body)
		}
	}
}

func TestJobKinds(t *testing.T) {
	t.Parallel()
	c, err := Config{DatabaseURL: "x", ServiceToken: "a-service-token-for-tests"}.resolved()
	if err != nil {
		t.Fatal(err)
	}
	provider, err := c.Embeddings.provider()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, kind := range append(jobKinds(c, &db.DB{}, nil, provider, &sources.Sources{}, nil), decisions(nil), sendDigests(nil, nil)) {
		names = append(names, kind.Name)
	}
	if !slices.Equal(names, JobKinds()) {
		t.Errorf("%v run, %v are listed", names, JobKinds())
	}
}
