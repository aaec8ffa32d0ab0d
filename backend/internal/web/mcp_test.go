package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// grantOf creates a grant for a client in the store, and returns its access token.
func grantOf(t *testing.T, s *webtest.Site, b *webtest.Browser) string {
	t.Helper()
	return grantTo(t, s, b, s.Client(t, "Agent Smith", "https://a.example/cb"))
}

func grantTo(t *testing.T, s *webtest.Site, b *webtest.Browser, c *oauth.Client) string {
	t.Helper()
	p := b.Get(authorizePath(c.ID, "https://a.example/cb", "scope", "connections timeline"))
	form := p.Form("/oauth/consent")
	form.Set("decision", "allow")
	form.Set("days", "0")
	return redeem(t, s, b.Post("/oauth/consent", form))
}

// redeem exchanges the code from a consent page for tokens, in the store, and returns
// the access token.
func redeem(t *testing.T, s *webtest.Site, answer *webtest.Page) string {
	t.Helper()
	to := answer.Header.Get("Location")
	_, rest, ok := strings.Cut(to, "code=")
	if !ok {
		t.Fatalf("no code: %d %s\n%s", answer.Status, to, answer.Text())
	}
	code, _, _ := strings.Cut(rest, "&")
	access := oauth.PrefixAccessToken + code
	now := s.Clock.Now()
	_, err := oauth.RedeemCode(t.Context(), s.Store, oauth.Hash(code), oauth.Pair{
		AccessHash: oauth.Hash(access), RefreshHash: oauth.Hash(oauth.PrefixRefreshToken + code), AccessExpiresAt: now.Add(time.Hour), RefreshExpiresAt: now.Add(24 * time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	return access
}

// makeToken creates a personal token with the form, and returns the page that shows it.
func makeToken(t *testing.T, b *webtest.Browser, change url.Values) *webtest.Page {
	t.Helper()
	sent := b.Submit(b.Get("/settings/mcp/tokens"), "/settings/mcp/tokens", change)
	wantRedirect(t, sent, "/settings/mcp/tokens")
	return b.Follow(sent)
}

// A token is shown once, to the browser that created it; reloading the page neither
// shows it again nor creates another.
func TestATokenIsShownOnce(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]webtest.Options{"over http": {}, "over https": {TLS: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := webtest.New(t, options)
			b := s.SignedIn(t, "maria")
			sent := b.Submit(b.Get("/settings/mcp/tokens"), "/settings/mcp/tokens", webtest.Values("name", "script"))
			wantRedirect(t, sent, "/settings/mcp/tokens")
			sealed := b.Cookie("kith_made")
			if strings.Contains(fmt.Sprint(sent.Header, sent.Body), "kith_pat_") || sealed == "" {
				t.Error("the redirect contains the token, or has no cookie")
			}
			for _, c := range sent.Cookies {
				if c.MaxAge != 60 || !c.HttpOnly || c.Secure != options.TLS || c.SameSite != http.SameSiteLaxMode || c.Path != "/" {
					t.Errorf("its cookie: %v", c)
				}
			}
			head := b.Do(b.Request(http.MethodHead, "/settings/mcp/tokens", nil))
			if head.Status != http.StatusOK || b.Cookie("kith_made") == "" {
				t.Error("a HEAD request used it up")
			}
			// The same cookie in another browser of the member, or of another member.
			for _, other := range []*webtest.Browser{s.BrowserOf(t, b.Owner), s.SignedIn(t, "other")} {
				other.SetCookie(other.CookieName("kith_made"), sealed)
				if p := other.Get("/settings/mcp/tokens"); p.Status != http.StatusOK || p.ByID("made-token") != nil {
					t.Errorf("another browser is shown the token: %d", p.Status)
				}
			}
			shown := b.Follow(sent)
			if !strings.HasPrefix(webtest.TextOf(shown.ByID("made-token")), "kith_pat_") || b.Cookie("kith_made") != "" {
				t.Error("it is not shown, or its cookie is kept")
			}
			for range 2 {
				if p := b.Follow(sent); p.ByID("made-token") != nil {
					t.Error("it is shown again")
				}
			}
			if tokens, err := account.ListPersonalTokens(t.Context(), s.Store, b.Owner); err != nil || len(tokens) != 1 {
				t.Errorf("%d tokens, %v", len(tokens), err)
			}
			for _, planted := range []string{"x", sealed[:20], sealed + "A", strings.Repeat("A", 100), "%"} {
				b.SetCookie(b.CookieName("kith_made"), planted)
				if p := b.Get("/settings/mcp/tokens"); p.Status != http.StatusOK || p.ByID("made-token") != nil || b.Cookie("kith_made") != "" {
					t.Errorf("%q: %d", planted, p.Status)
				}
			}
		})
	}
}

func TestPersonalTokens(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		page := b.Get("/settings/mcp/tokens")
		want(t, page, http.StatusOK, "You have none")
		agents := b.Get("/settings/mcp")
		want(t, agents, http.StatusOK, "No agent has access", "Nothing was changed yet", s.URL+"/mcp/v1")
		if webtest.LinkTo(agents, "Personal tokens, for scripts that cannot sign in") != "/settings/mcp/tokens" {
			t.Error("no link to the tokens")
		}
		form := page.Form("/settings/mcp/tokens")
		if got := strings.Join(form["scope"], " "); got != "connections timeline organize reminders insights imports directory account" || form.Get("expires") != "90" {
			t.Errorf("offered: %q for %s days", got, form.Get("expires"))
		}
		made := makeToken(t, b, map[string][]string{"name": {" backup  script "}, "scope": {"connections", "write"}, "expires": {"30"}})
		want(t, made, http.StatusOK, "backup script", "not shown again")
		bearer := webtest.TextOf(made.ByID("made-token"))
		p, err := oauth.Authenticate(t.Context(), s.Store, bearer)
		if err != nil || strings.Join(p.Credential.Scopes, " ") != "connections write" || !p.Credential.ExpiresAt.Equal(s.Clock.Now().Add(30*24*time.Hour)) || p.Tenant != b.Owner {
			t.Fatalf("got %+v, %v", p, err)
		}
		listed := b.Get("/settings/mcp/tokens")
		want(t, listed, http.StatusOK, "backup script", "Your people", "reads, changes and deletes", "not used yet", "works until")
		if strings.Contains(listed.Body, bearer) || strings.Contains(listed.Body, strings.TrimPrefix(bearer, "kith_pat_")) {
			t.Error("the token is shown again")
		}
		if err := oauth.MarkUsed(t.Context(), s.Store, p.Credential.ID, s.Clock.Now()); err != nil {
			t.Fatal(err)
		}
		want(t, b.Get("/settings/mcp/tokens"), http.StatusOK, "last used on "+s.Clock.Now().Format("2 January 2006, 15:04 UTC"))
		wantRedirect(t, b.Submit(listed, "/settings/mcp/tokens/revoke", nil), "/settings/mcp/tokens?done=token-revoked")
		if _, err := oauth.Authenticate(t.Context(), s.Store, bearer); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("the revoked token: %v", err)
		}
		want(t, b.Get("/settings/mcp/tokens?done=token-revoked"), http.StatusOK, "The token is revoked", "You have none")
		want(t, b.Submit(listed, "/settings/mcp/tokens/revoke", nil), http.StatusNotFound)
	})
}

func TestPersonalTokenRules(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	page := b.Get("/settings/mcp/tokens")
	for name, c := range map[string]struct {
		change map[string][]string
		words  string
	}{
		"no name":             {map[string][]string{"name": {"  "}}, "Use 1 to 100 characters."},
		"a long name":         {map[string][]string{"name": {strings.Repeat("x", 101)}}, "Use 1 to 100 characters."},
		"no scope":            {map[string][]string{"name": {"x"}, "scope": nil}, "Choose at least one area."},
		"writing alone":       {map[string][]string{"name": {"x"}, "scope": {"write"}}, "Choose at least one area. Leave to change things counts for the ticked areas alone"},
		"an unknown scope":    {map[string][]string{"name": {"x"}, "scope": {"connections", "everything"}}, "Choose from those below."},
		"two scopes in one":   {map[string][]string{"name": {"x"}, "scope": {"connections write"}}, "Choose from those below."},
		"a scope twice":       {map[string][]string{"name": {"x"}, "scope": {"connections", "connections"}}, "Choose from those below."},
		"an unknown lifetime": {map[string][]string{"name": {"x"}, "expires": {"-1"}}, "Choose how long it works."},
		"no lifetime":         {map[string][]string{"name": {"x"}, "expires": nil}, "Choose how long it works."},
		"a lifetime of words": {map[string][]string{"name": {"x"}, "expires": {"90 "}}, "Choose how long it works."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := b.Submit(page, "/settings/mcp/tokens", c.change)
			want(t, p, http.StatusUnprocessableEntity, c.words)
		})
	}
	never := makeToken(t, b, map[string][]string{"name": {"for ever"}, "expires": {"0"}})
	want(t, never, http.StatusOK, "It does not end.")
}

func TestTokensAreBounded(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	page := b.Get("/settings/mcp/tokens")
	for range 49 {
		dbtest.Token(t, s.Store, b.Owner, "connections")
	}
	makeToken(t, b, webtest.Values("name", "x"))
	want(t, b.Submit(page, "/settings/mcp/tokens", webtest.Values("name", "x")), http.StatusUnprocessableEntity, "You have 50 tokens")
}

func TestAgents(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		c := s.Client(t, "Agent Smith", "https://a.example/cb")
		access := grantTo(t, s, b, c)
		page := b.Get("/settings/mcp")
		want(t, page, http.StatusOK, "Agent Smith", "Your people Notes and contacts reads only", "Connected on", "not used yet")
		other := grantOf(t, s, b)
		again := grantTo(t, s, b, c)
		want(t, b.Get("/settings/mcp"), http.StatusOK, "2 times by now")
		wantRedirect(t, b.Submit(page, "/settings/mcp/agents/revoke", nil), "/settings/mcp?done=agent-revoked")
		for _, bearer := range []string{access, again} {
			if _, err := oauth.Authenticate(t.Context(), s.Store, bearer); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("its access: %v", err)
			}
		}
		refresh := strings.Replace(access, oauth.PrefixAccessToken, oauth.PrefixRefreshToken, 1)
		form := webtest.Values("grant_type", "refresh_token", "client_id", c.ID, "refresh_token", refresh)
		if p := s.Browser(t).Post("/oauth/token", form); p.Status != http.StatusBadRequest || !strings.Contains(p.Body, "invalid_grant") {
			t.Errorf("its refresh token: %d %s", p.Status, p.Body)
		}
		if _, err := oauth.Authenticate(t.Context(), s.Store, other); err != nil {
			t.Errorf("another agent's access: %v", err)
		}
		wantRedirect(t, b.Submit(b.Get("/settings/mcp"), "/settings/mcp/agents/revoke", nil), "/settings/mcp?done=agent-revoked")
		want(t, b.Get("/settings/mcp"), http.StatusOK, "No agent has access")
	})
}

func TestRecentChanges(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		err := s.Store.Tenant(b.Owner, false).Write(t.Context(), db.Actor{CredentialName: "Claude", Tool: "create_connection"},
			func(ctx context.Context, u *db.Tx) error {
				_, err := people.Create(ctx, u, people.Draft{Name: "Grace Hopper"})
				return err
			})
		if err != nil {
			t.Fatal(err)
		}
		want(t, b.Get("/settings/mcp"), http.StatusOK, "Added Grace Hopper By Claude")
		if p := s.SignedIn(t, "other").Get("/settings/mcp"); strings.Contains(p.Body, "Grace") {
			t.Error("another member sees the change")
		}
	})
}

// The account shows the credits of the month; other pages do once most are used.
func TestCreditsAreShownWhereThereAreAny(t *testing.T) {
	t.Parallel()
	used := 12
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) {
		c.Credits = func(context.Context, tenant.ID) (*web.Credits, error) {
			return &web.Credits{Used: used, Allowance: 1000}, nil
		}
	}})
	b := s.SignedIn(t, "maria")
	for _, used = range []int{12, 799, 800, 999} {
		want(t, b.Get("/settings/account"), http.StatusOK, fmt.Sprintf("%d of 1,000 used", used))
		if shown := strings.Contains(b.Get("/settings/agents").Text(), "credits are used"); shown != (used >= 800) {
			t.Errorf("%d used: shown on the page of agents: %t", used, shown)
		}
	}
	for _, path := range []string{"/settings/account", "/settings/agents"} {
		if p := webtest.New(t, webtest.Options{}).SignedIn(t, "maria").Get(path); strings.Contains(p.Text(), "redits") {
			t.Errorf("%s: credits are shown although there are none", path)
		}
	}
}

func TestTokenForNamedTools(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		for name, c := range map[string]struct {
			change url.Values
			words  string
		}{
			"no such tool":       {webtest.Values("tool", "serch_connections"), `There is no tool "serch_connections"; nearest: "search_connections"`},
			"out of its areas":   {webtest.Values("tool", "search_connections", "scope", "timeline"), "Search_connections needs the scope connections as well."},
			"it changes nothing": {webtest.Values("tool", "add_note"), "Add_note needs the scope write as well."},
		} {
			p := b.Submit(b.Get("/settings/mcp/tokens"), "/settings/mcp/tokens", merge(webtest.Values("name", "script"), c.change))
			if p.Status != http.StatusUnprocessableEntity || !strings.Contains(p.Text(), c.words) {
				t.Errorf("%s: %d %s", name, p.Status, p.Text())
			}
			if details := folded(p); len(details) != 2 || slices.ContainsFunc(details, func(n *html.Node) bool { return !webtest.Has(n, "open") }) {
				t.Errorf("%s: the error is not visible", name)
			}
		}
		made := makeToken(t, b, webtest.Values("name", "script", "tool", "search_connections"))
		want(t, made, http.StatusOK, "Limited to search_connections.")
		p, err := oauth.Authenticate(t.Context(), s.Store, webtest.TextOf(made.ByID("made-token")))
		if err != nil || !slices.Equal(p.Credential.Tools, []string{"search_connections"}) {
			t.Errorf("got %+v, %v", p, err)
		}
		free := makeToken(t, b, webtest.Values("name", "free"))
		if p, err := oauth.Authenticate(t.Context(), s.Store, webtest.TextOf(free.ByID("made-token"))); err != nil || len(p.Credential.Tools) > 0 {
			t.Errorf("got %+v, %v", p, err)
		}
	})
}
