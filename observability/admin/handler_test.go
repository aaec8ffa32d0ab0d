package admin_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/observability/admin"
)

func TestHandlerServes(t *testing.T) {
	t.Parallel()
	h := admin.Handler(admin.Options{
		Metrics: text("kith_build_info 1\n"),
		Ready:   func(context.Context) error { return nil },
	})
	tests := []struct {
		path   string
		status int
		want   string // part of the body
	}{
		{"/", 200, `<a href="/debug/pprof/">`},
		{"/healthz", 200, "ok\n"},
		{"/readyz", 200, "ready\n"},
		{"/metrics", 200, "kith_build_info 1\n"},
		{"/debug/pprof/", 200, "goroutine"},
		{"/debug/pprof/heap?debug=1", 200, "heap profile"},
		{"/debug/pprof/goroutine?debug=1", 200, "goroutine profile"},
		{"/debug/pprof/cmdline", 200, "admin.test"},
		{"/debug/pprof/symbol", 200, "num_symbols"},
		{"/debug/pprof/trace?seconds=0.01", 200, ""},
		{"/debug/pprof/nothing", 404, "Unknown profile"},
		{"/debug/pprof", 307, ""},
		{"/healthz/", 404, ""},
		{"/nothing", 404, ""},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			res, body := do(t, h, "GET", tt.path)
			if res.StatusCode != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("%d %q, want %d with %q", res.StatusCode, body, tt.status, tt.want)
			}
			if got := res.Header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control = %q, want no-store", got)
			}
		})
	}
}

// The page at / links to what is served, and to nothing else.
func TestIndex(t *testing.T) {
	t.Parallel()
	all := []string{"/status", "/readyz", "/healthz", "/metrics", "/debug/pprof/"}
	for name, c := range map[string]struct {
		options admin.Options
		want    []string
	}{
		"all":        {admin.Options{Metrics: text("m"), Status: text("s")}, all},
		"the least":  {admin.Options{Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7)}}, all[1:3]},
		"no metrics": {admin.Options{Status: text("s")}, []string{"/status", "/readyz", "/healthz", "/debug/pprof/"}},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://192.0.2.7/", nil)
		if c.options.Addr == nil {
			r.Host = "localhost"
		}
		admin.Handler(c.options).ServeHTTP(w, r)
		var linked []string
		for _, link := range regexp.MustCompile(`<a href="([^"]+)">`).FindAllStringSubmatch(w.Body.String(), -1) {
			linked = append(linked, link[1])
		}
		if w.Code != http.StatusOK || !slices.Equal(linked, c.want) || !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'; style-src 'sha256-") {
			t.Errorf("%s: %d with links to %v, and the policy %q", name, w.Code, linked, w.Header().Get("Content-Security-Policy"))
		}
	}
}

func TestHandlerTakesGetAndHeadOnly(t *testing.T) {
	t.Parallel()
	h := admin.Handler(admin.Options{Metrics: text("m")})
	for _, path := range []string{
		"/", "/healthz", "/readyz", "/metrics", "/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/debug/pprof/symbol",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			if res, _ := do(t, h, "HEAD", path); res.StatusCode != 200 {
				t.Errorf("HEAD: %d, want 200", res.StatusCode)
			}
			for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"} {
				res, _ := do(t, h, method, path)
				if allow := res.Header.Get("Allow"); res.StatusCode != 405 || allow != "GET, HEAD" {
					t.Errorf("%s: %d, Allow %q; want 405, GET, HEAD", method, res.StatusCode, allow)
				}
			}
		})
	}
}

func TestReadyzLogsTheError(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	h := admin.Handler(admin.Options{
		Ready:  func(context.Context) error { return errors.New("dial postgres at 10.0.0.7: refused") },
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	res, body := do(t, h, "GET", "/readyz")
	if res.StatusCode != 503 || strings.Count(body, ".") != 1 || strings.Contains(body, "postgres") {
		t.Errorf("%d %q, want 503 with one sentence that leaves the cause out", res.StatusCode, body)
	}
	if !strings.Contains(log.String(), "dial postgres at 10.0.0.7: refused") {
		t.Errorf("the error is not logged: %q", log.String())
	}
	if res, body := do(t, h, "GET", "/healthz"); res.StatusCode != 200 {
		t.Errorf("/healthz = %d %q, want 200 for a process that is not ready", res.StatusCode, body)
	}
}

func TestReadyzBoundsTheCheck(t *testing.T) {
	t.Parallel()
	h := admin.Handler(admin.Options{Ready: func(ctx context.Context) error {
		deadline, ok := ctx.Deadline()
		if !ok || time.Until(deadline) > time.Second {
			return errors.New("no deadline within a second")
		}
		return nil
	}})
	if res, body := do(t, h, "GET", "/readyz"); res.StatusCode != 200 {
		t.Errorf("%d %q, want 200", res.StatusCode, body)
	}
}

func TestZeroOptions(t *testing.T) {
	t.Parallel()
	h := admin.Handler(admin.Options{})
	for path, want := range map[string]int{"/readyz": 200, "/healthz": 200, "/metrics": 404} {
		if res, _ := do(t, h, "GET", path); res.StatusCode != want {
			t.Errorf("%s = %d, want %d", path, res.StatusCode, want)
		}
	}
	failing := admin.Handler(admin.Options{Ready: func(context.Context) error { return io.EOF }})
	if res, _ := do(t, failing, "GET", "/readyz"); res.StatusCode != 503 {
		t.Errorf("without a logger: %d, want 503", res.StatusCode)
	}
}

// do sends a request to h and returns the answer and its body.
func do(t *testing.T, h http.Handler, method, path string) (*http.Response, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "http://localhost:8081"+path, nil))
	return w.Result(), w.Body.String()
}

// text is a handler that answers with s.
func text(s string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) })
}
