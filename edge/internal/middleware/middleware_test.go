package middleware_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/observability/logging"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/middleware"
	"github.com/kith-crm/kith/edge/internal/requestlog"
)

// counter is an Observer that records its calls.
type counter struct {
	entered, left int
	route, method string
	status        int
	duration      time.Duration
}

func (c *counter) Enter() { c.entered++ }
func (c *counter) Leave() { c.left++ }
func (c *counter) Observe(_ context.Context, route, method string, status int, d time.Duration) {
	c.route, c.method, c.status, c.duration = route, method, status, d
}

// serve sends a request through a handler with the middleware.
func serve(t *testing.T, next http.HandlerFunc, r *http.Request) (*httptest.ResponseRecorder, *counter, []map[string]any) {
	t.Helper()
	var log bytes.Buffer
	c := &counter{}
	now := time.Unix(0, 0)
	h := middleware.Headers(false, middleware.Log(middleware.LogOptions{
		Logger:   slog.New(slog.NewJSONHandler(&log, nil)),
		Problems: httpapi.NewProblems("https://kith.example"), Observer: c,
		Now: func() time.Time { now = now.Add(time.Millisecond); return now },
	}, next))
	w := httptest.NewRecorder()
	func() {
		defer func() {
			if cause := recover(); cause != nil {
				w.Header().Set("Test-Aborted", "yes")
				if err, _ := cause.(error); !errors.Is(err, http.ErrAbortHandler) {
					t.Errorf("panic %v", cause)
				}
			}
		}()
		h.ServeHTTP(w, r)
	}()
	var lines []map[string]any
	for line := range strings.Lines(log.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, entry)
	}
	return w, c, lines
}

func TestEveryAnswerIsMarked(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodGet, "/secret-path?q=secret-query", nil)
	r.Header.Set("Authorization", "Bearer secret-token")
	r.Header.Set("X-Request-Id", "of-the-caller")
	w, c, lines := serve(t, func(w http.ResponseWriter, r *http.Request) {
		e := requestlog.FromContext(r.Context())
		e.Route = "profile"
		e.Note(slog.String("tool", "x"))
		w.WriteHeader(http.StatusTeapot)
	}, r)
	id := w.Header().Get("X-Request-Id")
	if !logging.ValidRequestID(id) || id == "of-the-caller" {
		t.Errorf("request id %q", id)
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Credentials": "", "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if !strings.Contains(w.Header().Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
		t.Error("the challenge is hidden from web pages")
	}
	if c.entered != 1 || c.left != 1 || c.route != "profile" || c.method != "GET" || c.status != 418 || c.duration <= 0 {
		t.Errorf("observed %+v", c)
	}
	if len(lines) != 1 || lines[0]["request_id"] != id || lines[0]["route"] != "profile" || lines[0]["status"] != 418.0 ||
		lines[0]["tool"] != "x" || lines[0]["method"] != "GET" || lines[0]["principal"] != "anonymous" || lines[0]["duration_ms"] != 1.0 {
		t.Errorf("logged %v", lines)
	}
	if text, _ := json.Marshal(lines); strings.Contains(string(text), "secret") {
		t.Errorf("the log holds a secret: %s", text)
	}
}

// A header that a handler sets is kept. A 304 gets none: the caller keeps those of its cached answer.
func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	const own = "default-src 'none'; style-src 'self'"
	for name, c := range map[string]struct {
		handler           http.HandlerFunc
		policy, nosniffed string
	}{
		"a page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Security-Policy", own)
			_, _ = w.Write([]byte("page"))
		}, own, "nosniff"},
		"nothing": {func(http.ResponseWriter, *http.Request) {}, "default-src 'none'; frame-ancestors 'none'", "nosniff"},
		"a 304":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, "", ""},
	} {
		w, _, _ := serve(t, c.handler, httptest.NewRequest(http.MethodGet, "/", nil))
		if got := w.Header().Values("Content-Security-Policy"); strings.Join(got, "|") != c.policy || w.Header().Get("X-Content-Type-Options") != c.nosniffed {
			t.Errorf("%s: %v", name, w.Header())
		}
		if w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: no CORS: %v", name, w.Header())
		}
	}
}

func TestUnmatchedRequest(t *testing.T) {
	t.Parallel()
	_, c, lines := serve(t, func(http.ResponseWriter, *http.Request) {}, httptest.NewRequest("BREW", "/", nil))
	if c.route != "unknown" || c.status != 200 || lines[0]["method"] != "other" || lines[0]["route"] != "unknown" {
		t.Errorf("observed %+v, logged %v", c, lines)
	}
}

func TestPanicBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	w, c, lines := serve(t, func(http.ResponseWriter, *http.Request) { panic("hunter2") },
		httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != 500 || c.status != 500 || c.left != 1 || w.Header().Get("Content-Type") != "application/problem+json" ||
		strings.Contains(w.Body.String(), "hunter2") || !strings.Contains(w.Body.String(), w.Header().Get("X-Request-Id")) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if len(lines) != 2 || lines[0]["panic"] != "hunter2" || lines[0]["stack"] == "" || lines[1]["level"] != "ERROR" {
		t.Errorf("logged %v", lines)
	}
}

func TestPanicDuringAnAnswer(t *testing.T) {
	t.Parallel()
	w, c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		panic("too late")
	}, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Header().Get("Test-Aborted") != "yes" || w.Body.String() != "half" || c.status != 200 || c.left != 1 {
		t.Errorf("got %d %s, observed %+v", w.Code, w.Body, c)
	}
}

func TestAbortedHandler(t *testing.T) {
	t.Parallel()
	w, _, lines := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Header().Get("Test-Aborted") != "yes" || len(lines) != 1 {
		t.Errorf("logged %v", lines)
	}
}

// A backend call that failed because the caller disconnected counts as a 499. Other failures still
// count as failures.
func TestCallerDisconnects(t *testing.T) {
	t.Parallel()
	for answered, want := range map[int]int{503: 499, 502: 499, 504: 499, 500: 500, 404: 404, 200: 200} {
		ctx, leave := context.WithCancel(t.Context())
		_, c, lines := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			leave()
			w.WriteHeader(answered)
		}, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		if c.status != want || lines[0]["status"] != float64(want) || (lines[0]["level"] == "ERROR") != (want >= 500) {
			t.Errorf("%d: observed %+v, logged %v", answered, c, lines)
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	_, c, _ := serve(t, func(http.ResponseWriter, *http.Request) { leave() }, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
	if c.status != 499 {
		t.Errorf("observed %+v of a caller who disconnected before anything was written", c)
	}
	_, c, _ = serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, httptest.NewRequest(http.MethodGet, "/", nil))
	if c.status != 503 {
		t.Errorf("observed %+v of a caller who did not disconnect", c)
	}
}

func TestInterimAnswersAreNotFinal(t *testing.T) {
	t.Parallel()
	_, c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNotFound)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	}, httptest.NewRequest(http.MethodGet, "/", nil))
	if c.status != 404 {
		t.Errorf("observed %+v", c)
	}
}
