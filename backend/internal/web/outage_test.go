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

	"github.com/kith-crm/kith/backend/internal/cardfile"
	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/grant"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/provider"
	"github.com/kith-crm/kith/backend/internal/session"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/token"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// brittle is the store of a site, whose calls can be made to fail one by one.
type brittle struct {
	web.Store

	// left is how many calls still work; the one after them fails. Negative: all.
	left atomic.Int64
	// failed tells that a call failed.
	failed atomic.Bool
}

// errDown is what a store says that cannot be reached.
var errDown = fault.Wrap(errors.New("dial tcp 10.0.0.7:5432: secret-host refused"), fault.Unavailable, "sql: the store cannot be reached")

// failAt has the n-th call from now on fail, and no other.
func (b *brittle) failAt(n int) { b.failed.Store(false); b.left.Store(int64(n - 1)) }

func (b *brittle) call() error {
	if b.left.Load() < 0 || b.left.Add(-1) >= 0 {
		return nil
	}
	b.failed.Store(true)
	return errDown
}

func get[T any](b *brittle, read func() (T, error)) (T, error) {
	if err := b.call(); err != nil {
		var none T
		return none, err
	}
	return read()
}

func (b *brittle) do(write func() error) error {
	if err := b.call(); err != nil {
		return err
	}
	return write()
}

func (b *brittle) FindMember(ctx context.Context, login string) (*member.Member, error) {
	return get(b, func() (*member.Member, error) { return b.Store.FindMember(ctx, login) })
}

func (b *brittle) GetMemberByID(ctx context.Context, id tenant.ID) (*member.Member, error) {
	return get(b, func() (*member.Member, error) { return b.Store.GetMemberByID(ctx, id) })
}

func (b *brittle) SetPassword(ctx context.Context, id tenant.ID, hash string) error {
	return b.do(func() error { return b.Store.SetPassword(ctx, id, hash) })
}

func (b *brittle) DeleteMember(ctx context.Context, id tenant.ID) error {
	return b.do(func() error { return b.Store.DeleteMember(ctx, id) })
}

func (b *brittle) CreateMember(ctx context.Context, m *member.Member) error {
	return b.do(func() error { return b.Store.CreateMember(ctx, m) })
}

func (b *brittle) GetMailLink(ctx context.Context, hash string, purpose member.LinkPurpose) (*member.MailLink, error) {
	return get(b, func() (*member.MailLink, error) { return b.Store.GetMailLink(ctx, hash, purpose) })
}

func (b *brittle) ResetPassword(ctx context.Context, linkHash, hash string) error {
	return b.do(func() error { return b.Store.ResetPassword(ctx, linkHash, hash) })
}

func (b *brittle) VerifyEmail(ctx context.Context, linkHash string) error {
	return b.do(func() error { return b.Store.VerifyEmail(ctx, linkHash) })
}

func (b *brittle) GetSignUp(ctx context.Context, hash string) (*member.SignUp, error) {
	return get(b, func() (*member.SignUp, error) { return b.Store.GetSignUp(ctx, hash) })
}

func (b *brittle) CompleteSignUp(ctx context.Context, hash, username, passwordHash string) (*member.Member, error) {
	return get(b, func() (*member.Member, error) { return b.Store.CompleteSignUp(ctx, hash, username, passwordHash) })
}

func (b *brittle) CreateLoginSession(ctx context.Context, s *session.LoginSession) error {
	return b.do(func() error { return b.Store.CreateLoginSession(ctx, s) })
}

func (b *brittle) GetLoginSession(ctx context.Context, hash string) (*session.LoginSession, error) {
	return get(b, func() (*session.LoginSession, error) { return b.Store.GetLoginSession(ctx, hash) })
}

func (b *brittle) DeleteLoginSession(ctx context.Context, hash string) error {
	return b.do(func() error { return b.Store.DeleteLoginSession(ctx, hash) })
}

func (b *brittle) DeleteLoginSessions(ctx context.Context, owner tenant.ID, keep string) error {
	return b.do(func() error { return b.Store.DeleteLoginSessions(ctx, owner, keep) })
}

func (b *brittle) SpendAttempts(ctx context.Context, limits ...session.Limit) (session.Decision, error) {
	if err := b.call(); err != nil {
		return session.Decision{}, err
	}
	return b.Store.SpendAttempts(ctx, limits...)
}

func (b *brittle) GetProfile(ctx context.Context, owner tenant.ID) (*profile.Profile, error) {
	return get(b, func() (*profile.Profile, error) { return b.Store.GetProfile(ctx, owner) })
}

func (b *brittle) UpdateProfile(ctx context.Context, p *profile.Profile) error {
	return b.do(func() error { return b.Store.UpdateProfile(ctx, p) })
}

func (b *brittle) ListGrants(ctx context.Context, owner tenant.ID) ([]grant.Grant, error) {
	return get(b, func() ([]grant.Grant, error) { return b.Store.ListGrants(ctx, owner) })
}

func (b *brittle) RevokeAgent(ctx context.Context, owner tenant.ID, clientID string) error {
	return b.do(func() error { return b.Store.RevokeAgent(ctx, owner, clientID) })
}

func (b *brittle) CreatePersonalToken(ctx context.Context, t *token.PersonalToken) error {
	return b.do(func() error { return b.Store.CreatePersonalToken(ctx, t) })
}

func (b *brittle) ListPersonalTokens(ctx context.Context, owner tenant.ID) ([]token.PersonalToken, error) {
	return get(b, func() ([]token.PersonalToken, error) { return b.Store.ListPersonalTokens(ctx, owner) })
}

func (b *brittle) RevokePersonalToken(ctx context.Context, owner tenant.ID, id string, at time.Time) error {
	return b.do(func() error { return b.Store.RevokePersonalToken(ctx, owner, id, at) })
}

func (b *brittle) ListIdentities(ctx context.Context, owner tenant.ID) ([]provider.LinkedIdentity, error) {
	return get(b, func() ([]provider.LinkedIdentity, error) { return b.Store.ListIdentities(ctx, owner) })
}

func (b *brittle) DeleteIdentities(ctx context.Context, owner tenant.ID) error {
	return b.do(func() error { return b.Store.DeleteIdentities(ctx, owner) })
}

// brittleData is what a member of a brittle site keeps.
type brittleData struct {
	web.TenantData

	store *brittle
}

func (d brittleData) ListChanges(ctx context.Context, query change.Query) ([]change.Change, error) {
	return get(d.store, func() ([]change.Change, error) { return d.TenantData.ListChanges(ctx, query) })
}

func (d brittleData) UndoChange(ctx context.Context, page, id string, dryRun bool) (change.Undone, error) {
	return get(d.store, func() (change.Undone, error) { return d.TenantData.UndoChange(ctx, page, id, dryRun) })
}

func (d brittleData) ListNames(ctx context.Context, ids []string) (map[string]string, error) {
	return get(d.store, func() (map[string]string, error) { return d.TenantData.ListNames(ctx, ids) })
}

func (d brittleData) Export(ctx context.Context, each func(object any) error) error {
	return d.store.do(func() error { return d.TenantData.Export(ctx, each) })
}

func (d brittleData) ExportPeople(ctx context.Context, withTimeline bool, each func(page cardfile.People) error) error {
	return d.store.do(func() error { return d.TenantData.ExportPeople(ctx, withTimeline, each) })
}

func brittleSite(t *testing.T) (*webtest.Site, *brittle) {
	t.Helper()
	b := &brittle{}
	b.left.Store(-1)
	return webtest.New(t, webtest.Options{Web: func(c *web.Config) {
		data := c.Data
		b.Store, c.Store = c.Store, b
		c.Data = func(owner tenant.ID) web.TenantData { return brittleData{data(owner), b} }
		c.Login = &session.RatePolicy{Quota: 100_000, Window: time.Minute}
	}}), b
}

// wantOutage fails unless an answer is the page of an outage, with nothing in it
// that is nobody's business.
func wantOutage(t *testing.T, what string, p *webtest.Page) {
	t.Helper()
	if p.Status != http.StatusServiceUnavailable || p.Header.Get("Retry-After") != "1" || p.Heading() != "Kith cannot answer right now" {
		t.Errorf("%s: %d, Retry-After %q\n%s", what, p.Status, p.Header.Get("Retry-After"), p.Text())
	}
	for _, internal := range []string{"secret-host", "10.0.0.7", "sql:", "dial", "the store"} {
		if strings.Contains(fmt.Sprint(p.Body, p.Header), internal) {
			t.Errorf("%s: it says %q", what, internal)
		}
	}
	if got := p.Header.Get("Content-Type"); got != "text/html; charset=utf-8" {
		t.Errorf("%s: it is %s", what, got)
	}
	checkHeaders(t, what, p, ownPolicy)
	checkPage(t, p)
}

// TestOutage has every page and every form meet a store that fails at its first
// call, its second, and so on until nothing failed: never does an outage look
// like a mistake of the visitor's, or like success.
func TestOutage(t *testing.T) {
	t.Parallel()
	s, store := brittleSite(t)
	visitors := 0
	for what, prepare := range visits(s) {
		calls := 0
		for n := 1; ; n++ {
			visitors++
			r, b := prepare(t, fmt.Sprint("visitor-", visitors))
			store.failAt(n)
			p := b.Do(r)
			failed := store.failed.Load()
			store.left.Store(-1)
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
			t.Errorf("%s calls the store for nothing", what)
		}
	}
}

// visit prepares a request of a new member.
type visit func(t *testing.T, username string) (*http.Request, *webtest.Browser)

// visits are requests that go well when the store does.
func visits(s *webtest.Site) map[string]visit {
	all := map[string]visit{}
	for _, path := range []string{"/settings/profile", "/settings/mcp", "/settings/activity", "/settings/security", "/settings/account", "/settings/account/export", "/sign-in", "/sign-up"} {
		all["GET "+path] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
			b := s.SignedIn(t, username)
			return b.Request(http.MethodGet, path, nil), b
		}
	}
	again := values("password", webtest.Password, "new_password", newPassword, "repeat_password", newPassword)
	for action, c := range map[string]struct {
		page   string
		change url.Values
	}{
		"/settings/profile": {"/settings/profile", nil}, "/settings/mcp/tokens": {"/settings/mcp", values("name", "x")},
		"/settings/mcp/tokens/revoke": {"/settings/mcp", nil}, "/settings/mcp/agents/revoke": {"/settings/mcp", nil},
		"/settings/security/password": {"/settings/security", again}, "/settings/security/sign-out": {"/settings/security", nil},
		"/sign-out": {"/settings/profile", nil},
	} {
		all["POST "+action] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
			b := s.SignedIn(t, username)
			if strings.HasSuffix(action, "/revoke") {
				makeToken(t, b, values("name", "x"))
				grantOf(t, s, b)
			}
			return b.Request(http.MethodPost, action, b.Get(c.page).Fill(action, c.change)), b
		}
	}
	all["POST /settings/account/delete"] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
		b := s.SignedIn(t, username)
		form := b.Get("/settings/account").Fill("/settings/account/delete", values("username", username, "password", webtest.Password))
		return b.Request(http.MethodPost, "/settings/account/delete", form), b
	}
	all["POST /sign-in"] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
		s.Member(t, username)
		b := s.Browser(t)
		return b.Request(http.MethodPost, "/sign-in", b.Get("/sign-in").Fill("/sign-in", values("login", username, "password", webtest.Password))), b
	}
	all["POST /sign-up"] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
		b := s.Browser(t)
		return b.Request(http.MethodPost, "/sign-up", b.Get("/sign-up").Fill("/sign-up", signUpForm(username))), b
	}
	addLinkVisits(s, all)
	addConsentVisits(s, all)
	addUndoVisits(s, all)
	return all
}

func addConsentVisits(s *webtest.Site, all map[string]visit) {
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

func addUndoVisits(s *webtest.Site, all map[string]visit) {
	prepare := func(t *testing.T, username string) (*webtest.Browser, string) {
		b := s.SignedIn(t, username)
		_, changeID := added(t, s, b.Owner, "Grace Hopper")
		return b, undoPath(changeID)
	}
	all["GET the page to undo"] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
		b, path := prepare(t, username)
		return b.Request(http.MethodGet, path, nil), b
	}
	all["POST the form to undo"] = func(t *testing.T, username string) (*http.Request, *webtest.Browser) {
		b, path := prepare(t, username)
		return b.Request(http.MethodPost, undoForm, b.Get(path).Fill(undoForm, nil)), b
	}
}

func addLinkVisits(s *webtest.Site, all map[string]visit) {
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
				change = values("new_password", newPassword, "repeat_password", newPassword)
			}
			return b.Request(http.MethodPost, action, p.Fill(action, change)), b
		}
	}
}

// left is a store that a browser does not wait for.
type left struct{ web.Store }

func (left) GetProfile(context.Context, tenant.ID) (*profile.Profile, error) {
	return nil, fmt.Errorf("read profile: %w", context.Canceled)
}

// A browser that leaves early is no error that operators have to look at.
func TestBrowserThatLeaves(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) {
		c.Store, c.Logger = left{c.Store}, slog.New(slog.NewTextHandler(&log, nil))
	}})
	b := s.SignedIn(t, "maria")
	wantOutage(t, "left", b.Get("/settings/profile"))
	if !strings.Contains(log.String(), "level=WARN") || strings.Contains(log.String(), "level=ERROR") {
		t.Error(log.String())
	}
}
