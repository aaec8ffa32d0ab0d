package oauth_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// row is one row of a table of the specification.
type row struct {
	name string
	test func(t *testing.T, a agent, b *webtest.Browser)
}

// testRows runs the rows one after the other, since some move the clock, each with its
// own member and client, on each kind of database.
func testRows(t *testing.T, rows []row) {
	t.Helper()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		for n, r := range rows {
			t.Run(r.name, func(t *testing.T) { r.test(t, newAgent(t, s), s.SignedIn(t, "maria-"+string(rune('a'+n)))) })
		}
	})
}

// The specification's table of the authorization code, row by row.
func TestAuthorizationCodeStates(t *testing.T) {
	t.Parallel()
	testRows(t, []row{
		{"issued, redeemed within 60 seconds, is used", func(t *testing.T, a agent, b *webtest.Browser) {
			code := a.code(t, b)
			a.site.Clock.Advance(oauth.CodeLifetime - time.Microsecond)
			got := a.exchange(t, code)
			wantTokens(t, got)
			if p := a.principal(t, got.AccessToken); p == nil || p.Tenant != b.Owner {
				t.Errorf("the token is %+v's", p)
			}
		}},
		{"issued, is expired after 60 seconds", func(t *testing.T, a agent, b *webtest.Browser) {
			code := a.code(t, b)
			a.site.Clock.Advance(oauth.CodeLifetime)
			wantError(t, a.exchange(t, code), "invalid_grant")
			wantError(t, a.exchange(t, code), "invalid_grant")
		}},
		{"used, stays used", func(t *testing.T, a agent, b *webtest.Browser) {
			code := a.code(t, b)
			wantTokens(t, a.exchange(t, code))
			for _, change := range [][]string{nil, {"code_verifier", wrongVerifier}, {"redirect_uri", "https://other.example/cb"}} {
				wantError(t, a.exchange(t, code, change...), "invalid_grant")
			}
			a.site.Clock.Advance(oauth.CodeLifetime)
			wantError(t, a.exchange(t, code), "invalid_grant")
		}},
		{"issued, with a wrong verifier, stays issued", func(t *testing.T, a agent, b *webtest.Browser) {
			code := a.code(t, b)
			for range 3 {
				wantError(t, a.exchange(t, code, "code_verifier", wrongVerifier), "invalid_grant")
			}
			wantTokens(t, a.exchange(t, code))
		}},
	})
}

// The specification's table of the refresh token, row by row.
func TestRefreshTokenStates(t *testing.T) {
	t.Parallel()
	testRows(t, []row{
		{"current, refreshed, is spent and another is current", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			for range 3 {
				next := a.refresh(t, pair.RefreshToken)
				wantTokens(t, next)
				if next.RefreshToken == pair.RefreshToken || next.AccessToken == pair.AccessToken || next.Scope != pair.Scope {
					t.Errorf("the next pair is %s", next.Body)
				}
				if a.principal(t, pair.AccessToken) != nil || a.principal(t, next.AccessToken) == nil {
					t.Error("the wrong access token works")
				}
				pair = next
			}
		}},
		{"spent, presented again, kills the chain", func(t *testing.T, a agent, b *webtest.Browser) {
			first, other := a.tokens(t, b), a.tokens(t, b)
			second := a.refresh(t, first.RefreshToken)
			third := a.refresh(t, second.RefreshToken)
			wantTokens(t, third)
			wantError(t, a.refresh(t, first.RefreshToken), "invalid_grant")
			a.wantDead(t, third)
			wantError(t, a.refresh(t, second.RefreshToken), "invalid_grant")
			a.wantAlive(t, other)
		}},
		{"current, revoked by the access token, dies with the pair", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			wantRevoked(t, a.revoke(t, pair.AccessToken))
			a.wantDead(t, pair)
		}},
		{"current, revoked by the refresh token, dies with the pair", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			wantRevoked(t, a.revoke(t, pair.RefreshToken))
			a.wantDead(t, pair)
		}},
		{"current, revoked by the member in the settings, dies with the pair", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			if p := b.Submit(b.Get("/settings/mcp"), "/settings/mcp/agents/revoke", nil); p.Status != http.StatusSeeOther {
				t.Fatalf("%d %s", p.Status, p.Text())
			}
			a.wantDead(t, pair)
		}},
		{"current, is dead after 60 idle days", func(t *testing.T, a agent, b *webtest.Browser) {
			early, late := a.tokens(t, b), a.tokens(t, b)
			a.site.Clock.Advance(60*24*time.Hour - time.Second)
			wantTokens(t, a.refresh(t, early.RefreshToken))
			a.site.Clock.Advance(time.Second)
			a.wantDead(t, late)
		}},
	})
}

func wantRevoked(t *testing.T, got answer) {
	t.Helper()
	if got.Status != http.StatusOK || strings.TrimSpace(got.Body) != "{}" {
		t.Errorf("%d %q", got.Status, got.Body)
	}
}

// The OAuth rows of the specification's table of errors.
func TestOAuthErrors(t *testing.T) {
	t.Parallel()
	unknown, err := id.NewGenerator(time.Now).New(id.Client)
	if err != nil {
		t.Fatal(err)
	}
	testRows(t, []row{
		{"token: a used code is invalid_grant", func(t *testing.T, a agent, b *webtest.Browser) {
			code := a.code(t, b)
			wantTokens(t, a.exchange(t, code))
			wantError(t, a.exchange(t, code), "invalid_grant")
		}},
		{"token: an expired code is invalid_grant", func(t *testing.T, a agent, b *webtest.Browser) {
			code := a.code(t, b)
			a.site.Clock.Advance(61 * time.Second)
			wantError(t, a.exchange(t, code), "invalid_grant")
		}},
		{"token: a wrong verifier is invalid_grant", func(t *testing.T, a agent, b *webtest.Browser) {
			wantError(t, a.exchange(t, a.code(t, b), "code_verifier", wrongVerifier), "invalid_grant")
		}},
		{"token: an unknown code is invalid_grant", func(t *testing.T, a agent, _ *webtest.Browser) {
			wantError(t, a.exchange(t, "unknown"), "invalid_grant")
			wantError(t, a.refresh(t, "unknown"), "invalid_grant")
		}},
		{"token: an unknown client is invalid_client", func(t *testing.T, a agent, b *webtest.Browser) {
			code, pair := a.code(t, b), a.tokens(t, b)
			for _, client := range []string{unknown, "cli_x", "x", "cli_\x00", "\xff"} {
				wantError(t, a.exchange(t, code, "client_id", client), "invalid_client")
				wantError(t, a.refresh(t, pair.RefreshToken, "client_id", client), "invalid_client")
			}
			wantTokens(t, a.exchange(t, code))
			a.wantAlive(t, pair)
		}},
		{"revoke: an unknown client is invalid_client", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			for _, client := range []string{unknown, "\x00"} {
				wantError(t, a.revoke(t, pair.AccessToken, "client_id", client), "invalid_client")
			}
			a.wantAlive(t, pair)
		}},
		{"authorize: an unknown client is told on a page", func(t *testing.T, a agent, b *webtest.Browser) {
			for _, client := range []string{unknown, "cli_x", "", "\x00", "\xff", strings.ToLower(a.id)} {
				wantPage(t, authorize(b, with(a.ask(), "client_id", client)), http.StatusBadRequest, "not registered")
			}
			wantPage(t, authorize(b, without(a.ask(), "client_id")), http.StatusBadRequest, "not registered")
		}},
		{"authorize: a method other than S256 is refused", func(t *testing.T, a agent, b *webtest.Browser) {
			for _, method := range []string{"plain", "s256", "S512", ""} {
				got := a.sentBack(t, authorize(b, with(a.ask(), "code_challenge_method", method)), callback)
				if got.Get("error") != "invalid_request" || got.Has("code") {
					t.Errorf("%q: %v", method, got)
				}
			}
		}},
		{"authorize: the implicit flow is refused", func(t *testing.T, a agent, b *webtest.Browser) {
			for _, kind := range []string{"token", "id_token", "code token", "id_token token", "code id_token", "none", "CODE"} {
				got := a.sentBack(t, authorize(b, with(a.ask(), "response_type", kind)), callback)
				if got.Get("error") != "unsupported_response_type" || got.Has("code") || got.Has("access_token") {
					t.Errorf("%q: %v", kind, got)
				}
			}
		}},
		{"outside: no OpenID provider", func(t *testing.T, a agent, b *webtest.Browser) {
			for _, path := range []string{"/.well-known/openid-configuration", "/keys", "/userinfo", "/healthz", "/ready", oauth.PathToken + "/x"} {
				if p := b.Get(path); p.Status != http.StatusNotFound {
					t.Errorf("%s: %d", path, p.Status)
				}
			}
		}},
	})
}
