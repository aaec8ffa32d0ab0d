package web_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// brittle is the database of a site, which can be made to fail at any one call.
type brittle struct {
	dbtest.Breaker

	// failed is set when a call failed, unsure if that was the answer to a commit: it was done.
	failed, unsure atomic.Bool
}

// errDown is the error of a store that cannot be reached.
var errDown = fault.Wrap(errors.New("dial tcp 10.0.0.7:5432: secret-host refused"), fault.Unavailable, "sql: the store cannot be reached")

// besides reports whether a statement records a security event, or reads the events to tell the
// member of. If such a statement fails, the request still succeeds.
func besides(statement string) bool {
	return strings.HasPrefix(statement, `INSERT INTO "security_events"`) || strings.HasPrefix(statement, "UPDATE security_events") || strings.Contains(statement, "session_id <> ")
}

// failAt makes only the n-th call from now on fail. Statements that besides reports do not count.
func (b *brittle) failAt(n int) {
	var calls atomic.Int64
	b.failed.Store(false)
	b.unsure.Store(false)
	b.Set(func(statement string) error {
		if besides(statement) || calls.Add(1) != int64(n) {
			return nil
		}
		b.failed.Store(true)
		b.unsure.Store(statement == "COMMITTED")
		return errDown
	})
}

func brittleSite(t *testing.T) (*webtest.Site, *brittle) {
	t.Helper()
	b := &brittle{}
	return webtest.New(t, webtest.Options{Breaker: &b.Breaker, Web: func(c *web.Config) {
		c.Login = &account.RatePolicy{Quota: 100_000, Window: time.Minute}
	}}), b
}

// wantOutage fails unless a response is the page of an outage, without internal
// details.
func wantOutage(t *testing.T, what string, p *webtest.Page) {
	t.Helper()
	wantNoAnswer(t, what, p, http.StatusServiceUnavailable, "1")
}

// wantNoAnswer is wantOutage for a status and a Retry-After.
func wantNoAnswer(t *testing.T, what string, p *webtest.Page, status int, retryAfter string) {
	t.Helper()
	if p.Status != status || p.Header.Get("Retry-After") != retryAfter || p.Heading() != "Kith cannot answer right now" {
		t.Errorf("%s: %d, Retry-After %q\n%s", what, p.Status, p.Header.Get("Retry-After"), p.Text())
	}
	for _, internal := range []string{"secret-host", "10.0.0.7", "sql:", "dial", "the store"} {
		if strings.Contains(fmt.Sprint(p.Body, p.Header), internal) {
			t.Errorf("%s: it contains %q", what, internal)
		}
	}
	if got := p.Header.Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("%s: it is %s", what, got)
	}
	policy := ownPolicy
	if len(p.All("nav")) > 0 { // the page of a member whose session could be read
		policy = membersPolicy
	}
	checkHeaders(t, what, p, policy)
	checkPage(t, p)
}

// TestOutage requests every page and every form with a store that fails at its first
// call, its second, and so on until nothing fails: an outage never looks like a mistake
// of the visitor, or like success.
func TestOutage(t *testing.T) {
	t.Parallel()
	s, store := brittleSite(t)
	visitors := 0
	for what, prepare := range requests(s) {
		calls := 0
		for n := 1; ; n++ {
			visitors++
			r, b := prepare(t, fmt.Sprint("visitor-", visitors))
			store.failAt(n)
			p := b.Do(r)
			failed := store.failed.Load()
			store.Set(nil)
			if !failed {
				if p.Status >= http.StatusBadRequest {
					t.Errorf("%s: %d when nothing failed\n%s", what, p.Status, p.Text())
				}
				break
			}
			calls++
			wantOutage(t, fmt.Sprintf("%s, call %d", what, n), p)
		}
		if calls == 0 {
			t.Errorf("%s never calls the store", what)
		}
	}
}

// request prepares a request of a new member.
type request func(t *testing.T, username string) (*http.Request, *webtest.Browser)

// requests returns requests that succeed if the store works.
func requests(s *webtest.Site) map[string]request {
	all := map[string]request{}
	for _, path := range []string{"/settings/profile", "/settings/mcp", "/activity", "/settings/security", "/settings/account", "/settings/account/export", "/sign-in", "/sign-up"} {
		all["GET "+path] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
			b := s.SignedIn(t, username)
			return b.Request(http.MethodGet, path, nil), b
		}
	}
	again := webtest.Values("password", webtest.Password, "new_password", newPassword, "repeat_password", newPassword)
	for action, c := range map[string]struct {
		page   string
		change url.Values
	}{
		"/settings/profile": {"/settings/profile", nil}, "/settings/mcp/tokens": {"/settings/mcp/tokens", webtest.Values("name", "x")},
		"/settings/mcp/tokens/revoke": {"/settings/mcp/tokens", nil}, "/settings/mcp/agents/revoke": {"/settings/mcp", nil},
		"/settings/security/password": {"/settings/security", again}, "/settings/security/sign-out": {"/settings/security", nil},
		"/settings/security/sessions/end-others": {"/settings/security", nil}, "/sign-out": {"/settings/profile", nil},
	} {
		all["POST "+action] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
			b := s.SignedIn(t, username)
			if strings.HasSuffix(action, "/revoke") {
				makeToken(t, b, webtest.Values("name", "x"))
				grantOf(t, s, b)
			}
			if strings.HasSuffix(action, "-others") {
				s.BrowserOf(t, b.Owner)
			}
			return b.Request(http.MethodPost, action, b.Get(c.page).Fill(action, c.change)), b
		}
	}
	all["POST /settings/account/delete"] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
		b := s.SignedIn(t, username)
		form := b.Get("/settings/account").Fill("/settings/account/delete", webtest.Values("username", username, "password", webtest.Password))
		return b.Request(http.MethodPost, "/settings/account/delete", form), b
	}
	all["POST /sign-in"] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
		s.Member(t, username)
		b := s.Browser(t)
		return b.Request(http.MethodPost, "/sign-in", b.Get("/sign-in").Fill("/sign-in", webtest.Values("login", username, "password", webtest.Password))), b
	}
	all["POST /sign-up"] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
		b := s.Browser(t)
		return b.Request(http.MethodPost, "/sign-up", b.Get("/sign-up").Fill("/sign-up", signUpForm(username))), b
	}
	addLinkRequests(s, all)
	addEmailRequests(s, all)
	addConsentRequests(s, all)
	addUndoRequests(s, all)
	return all
}

func addConsentRequests(s *webtest.Site, all map[string]request) {
	all["GET the consent page"] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
		b := s.SignedIn(t, username)
		return b.Request(http.MethodGet, authorizePath(s.Client(t, "Agent", "https://a.example/cb").ID, "https://a.example/cb"), nil), b
	}
	all["POST the consent form"] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
		b := s.SignedIn(t, username)
		page := b.Get(authorizePath(s.Client(t, "Agent", "https://a.example/cb").ID, "https://a.example/cb"))
		return b.Request(http.MethodPost, "/oauth/consent", allow(page)), b
	}
}

func addUndoRequests(s *webtest.Site, all map[string]request) {
	prepare := func(t *testing.T, username string) (*webtest.Browser, string) {
		b := s.SignedIn(t, username)
		_, changeID := webtest.Added(t, s, b.Owner, "Grace Hopper")
		return b, webtest.UndoPath(changeID)
	}
	all["GET the page to undo"] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
		b, path := prepare(t, username)
		return b.Request(http.MethodGet, path, nil), b
	}
	all["POST the form to undo"] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
		b, path := prepare(t, username)
		return b.Request(http.MethodPost, webtest.UndoForm, b.Get(path).Fill(webtest.UndoForm, nil)), b
	}
}

func addLinkRequests(s *webtest.Site, all map[string]request) {
	for i, what := range []string{"reset", "verify", "finish"} {
		path := func(t *testing.T, owner tenant.ID) string {
			reset, verify, finish := links(t, s, owner)
			return []string{reset, verify, finish}[i]
		}
		all["GET the page to "+what] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
			b := s.Browser(t)
			return b.Request(http.MethodGet, path(t, s.Member(t, username)), nil), b
		}
		all["POST the form to "+what] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
			b := s.Browser(t)
			p := b.Get(path(t, s.Member(t, username)))
			action := []string{"/reset", "/verify", "/verify"}[i]
			change := url.Values{}
			if what != "verify" {
				change = webtest.Values("new_password", newPassword, "repeat_password", newPassword)
			}
			return b.Request(http.MethodPost, action, p.Fill(action, change)), b
		}
	}
}

func addEmailRequests(s *webtest.Site, all map[string]request) {
	all["GET the page to change the address"] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
		b := s.SignedIn(t, username)
		return b.Request(http.MethodGet, storedChange(t, s, b.Owner, "new-"+username+"@people.example"), nil), b
	}
	all["POST the form to change the address"] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
		b := s.SignedIn(t, username)
		p := b.Get(storedChange(t, s, b.Owner, "new-"+username+"@people.example"))
		return b.Request(http.MethodPost, confirmForm, p.Form(confirmForm)), b
	}
}

// A browser that disconnects early causes no error in the log, and is not counted as an outage.
func TestBrowserThatLeaves(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var profile dbtest.Breaker
	s := webtest.New(t, webtest.Options{Breaker: &profile, Web: func(c *web.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }})
	b := s.SignedIn(t, "maria")
	profile.Set(func(statement string) error {
		if !strings.Contains(statement, `FROM "profiles"`) {
			return nil
		}
		return fmt.Errorf("read profile: %w", context.Canceled)
	})
	wantNoAnswer(t, "left", b.Get("/settings/profile"), 499, "")
	if !strings.Contains(log.String(), "level=WARN") || strings.Contains(log.String(), "level=ERROR") {
		t.Error(log.String())
	}
}
