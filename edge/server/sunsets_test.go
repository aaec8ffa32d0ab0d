package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kith-crm/kith/edge/internal/backendtest"
	"github.com/kith-crm/kith/edge/internal/route"
)

// sunsetConfig is the configuration of a server that removes /mcp on 2027-07-01, with a clock
// that the test controls.
func sunsetConfig(backend *backendtest.Backend) (c Config, clock *atomic.Int64) {
	c, clock = testConfig(backend), &atomic.Int64{}
	c.Sunsets = map[string]string{"mcp": "2027-07-01"}
	c.Now = func() time.Time { return time.Unix(clock.Load(), 0) }
	clock.Store(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC).Unix())
	return c, clock
}

// documents returns every document that a server publishes, by path. The metadata of the protected
// resource is not among them: the specification fixes the resource that it names.
func documents(h http.Handler) map[string]string {
	list := map[string]string{}
	fill := strings.NewReplacer("{guide}", "connect", "{name}", "search_connections", "{code}", "rate_limited")
	for _, r := range route.Mounted(Routes(), true) {
		document := r.Original() == "landing" || r.Original() == "agent-index" || r.Original() == "openapi" || r.Original() == "llms" ||
			strings.HasPrefix(r.Original(), "docs") || r.Original() == "mcp-docs" || strings.HasSuffix(r.Original(), "-catalog") || strings.HasSuffix(r.Original(), "server-card")
		if !document {
			continue
		}
		for _, accept := range []string{"text/html", "text/markdown", "*/*"} {
			q := httptest.NewRequest(http.MethodGet, fill.Replace(r.Pattern), nil)
			q.Header.Set("Accept", accept)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, q)
			if w.Code == http.StatusOK {
				list[q.URL.Path+" as "+accept] = w.Body.String()
			}
		}
	}
	return list
}

// namesDeprecated finds the path /mcp, and no path below it.
var namesDeprecated = regexp.MustCompile(`(^|["'` + "`" + `>\s(]|http://kith\.example)/mcp(["'` + "`" + `<)\s,;:]|\.[\s"<]|$)`)

// mentions returns the documents that mention the deprecated path.
func mentions(h http.Handler) []string {
	var list []string
	for path, text := range documents(h) {
		// This is a command of Claude Code.
		text = strings.NewReplacer("`/mcp` in a session", "", "<code>/mcp</code> in a session", "").Replace(text)
		if namesDeprecated.MatchString(text) {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

// Without a sandbox, no document mentions it.
func TestNothingAdvertisesAMissingSandbox(t *testing.T) {
	t.Parallel()
	c := testConfig(backendtest.New())
	c.SandboxEnabled, c.SandboxUsername, c.SandboxToken = false, "", ""
	texts := documents(newServer(t, c).Handler())
	if len(texts) < 15 {
		t.Errorf("only %d documents", len(texts))
	}
	for path, text := range texts {
		if i := strings.Index(strings.ToLower(text), "sandbox"); i >= 0 {
			t.Errorf("%s: …%s…", path, text[max(0, i-150):min(len(text), i+100)])
		}
	}
}

// A path with a removal date works unchanged until then, and its answers name the date. Then it is
// removed, also from every document, while the server runs.
func TestSunset(t *testing.T) {
	t.Parallel()
	c, clock := sunsetConfig(backendtest.New())
	c.Addr = ":0" // on a loopback address MCP checks the Host
	c.RateLimits["mcp"] = "1000/60"
	h := newServer(t, c).Handler()
	for _, step := range []struct {
		now    string
		status int
		told   bool
	}{
		{"2026-11-22", http.StatusUnauthorized, true},
		{"2027-06-30", http.StatusUnauthorized, true},
		{"2027-07-01", http.StatusGone, false},
		{"2028-01-01", http.StatusGone, false},
	} {
		now, err := time.Parse(time.DateOnly, step.now)
		if err != nil {
			t.Fatal(err)
		}
		clock.Store(now.Unix())
		got := ask(h, http.MethodPost, "/mcp", ping)
		if got.Status != step.status || got.Header.Get("Sunset") != "Thu, 01 Jul 2027 00:00:00 GMT" || got.Header.Get("Deprecation") != "true" ||
			got.Header.Get("Link") != `<http://kith.example/mcp/v1>; rel="successor-version"` {
			t.Errorf("%s: %d %v", step.now, got.Status, got.Header)
		}
		name := "RateLimit-Policy" // the header has this spelling too
		if policy := got.Header[name]; len(policy) != 1 || !strings.HasPrefix(policy[0], `"mcp";`) {
			t.Errorf("%s: %d with the limit %q", step.now, got.Status, policy)
		}
		told := mentions(h)
		for _, path := range []string{"/llms.txt", "/mcp/docs", "/openapi.json", "/sandbox/v1", "/v1"} {
			if step.told && !slices.Contains(told, path+" as */*") {
				t.Errorf("%s: /mcp is not in %s", step.now, path)
			}
		}
		if !step.told && len(told) > 0 {
			t.Errorf("%s: /mcp is in %v", step.now, told)
		}
		if current := ask(h, http.MethodPost, "/mcp/v1", ping); current.Status != http.StatusOK || current.Header.Get("Sunset") != "" {
			t.Errorf("%s: /mcp/v1: %d %v", step.now, current.Status, current.Header)
		}
	}
}

// A start announces each sunset to the backend. Without sunsets it makes no call.
func TestStartAnnouncesSunsets(t *testing.T) {
	t.Parallel()
	backend := backendtest.New()
	start(t, newServer(t, testConfig(backend)))
	if calls := len(backend.Requests()); calls != 0 {
		t.Errorf("%d calls without a sunset", calls)
	}
	c, _ := sunsetConfig(backend)
	start(t, newServer(t, c))
	if got := backend.Announced(); !slices.Equal(got, []string{"mcp 2027-07-01"}) {
		t.Errorf("announced %v", got)
	}
}

// The server does not start if the backend refuses a sunset. The error says why.
func TestRefusedSunsetPreventsTheStart(t *testing.T) {
	t.Parallel()
	backend := backendtest.New()
	backend.RefuseSunset = "the earliest date is 2027-08-01"
	c, _ := sunsetConfig(backend)
	s := newServer(t, c)
	if err := s.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "the earliest date is 2027-08-01") {
		t.Errorf("got %v", err)
	}
	if s.Addr() != nil {
		t.Error("it listens")
	}
}

// A start waits for a backend that starts later, but not forever.
func TestSunsetWaitsForTheBackend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		backend := backendtest.New()
		backend.Fail(errors.New("connection refused"))
		c, _ := sunsetConfig(backend)
		s := newServer(t, c)
		begin := time.Now()
		if err := s.announceSunsets(t.Context()); err == nil || time.Since(begin) != announceTimeout {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		time.AfterFunc(3*time.Second, func() { backend.Fail(nil) })
		if err := s.announceSunsets(t.Context()); err != nil {
			t.Error(err)
		}
		stopped, stop := context.WithCancel(t.Context())
		backend.Fail(errors.New("connection refused"))
		time.AfterFunc(time.Second, stop)
		begin = time.Now()
		if err := s.announceSunsets(stopped); err == nil || time.Since(begin) != time.Second {
			t.Errorf("stopped, after %s: %v", time.Since(begin), err)
		}
	})
}

func TestSunsetsThatAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ route, date, want string }{
		"no date":         {"mcp", "soon", "not a date such as"},
		"a time":          {"mcp", "2027-07-01T00:00:00Z", "not a date such as"},
		"a current route": {"mcp-v1", "2027-07-01", "deprecated routes are: mcp"},
		"no route":        {"x", "2027-07-01", "deprecated routes are: mcp"},
		"no such day":     {"mcp", "2027-02-30", "not a date such as"},
	} {
		c := testConfig(backendtest.New())
		c.Sunsets = map[string]string{test.route: test.date}
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
