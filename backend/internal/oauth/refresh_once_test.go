package oauth_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// tryWithKey posts a form to the token endpoint with lines of Idempotency-Key; it is safe for
// concurrent use.
func (a agent) tryWithKey(ctx context.Context, form url.Values, keys ...string) (answer, error) {
	r, err := a.request(ctx, http.MethodPost, oauth.PathToken, formMedia, form.Encode())
	if err != nil {
		return answer{}, err
	}
	r.Header["Idempotency-Key"] = keys
	return send(r)
}

func (a agent) postWithKey(t testing.TB, form url.Values, keys ...string) answer {
	t.Helper()
	got, err := a.tryWithKey(t.Context(), form, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// refreshWithKey refreshes with the key "k".
func (a agent) refreshWithKey(t testing.TB, token string, pairs ...string) answer {
	t.Helper()
	return a.postWithKey(t, with(a.refreshForm(token), pairs...), "k")
}

// wantRepeated fails unless an answer is the one before, byte for byte.
func wantRepeated(t testing.TB, before, got answer) {
	t.Helper()
	wantTokens(t, got)
	if got.Body != before.Body || got.Header.Get("Idempotency-Replayed") != "true" || got.Header.Get("Cache-Control") != "no-store" ||
		got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s, then %s %v", before.Body, got.Body, got.Header)
	}
}

func TestRefreshWithAKey(t *testing.T) {
	t.Parallel()
	testRows(t, []row{
		{"the same request gets the same answer, and the grant stays live", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			next := a.refreshWithKey(t, pair.RefreshToken)
			if wantTokens(t, next); next.Header.Get("Idempotency-Replayed") != "" || next.RefreshToken == pair.RefreshToken {
				t.Errorf("%v %s", next.Header, next.Body)
			}
			for range 3 {
				wantRepeated(t, next, a.refreshWithKey(t, pair.RefreshToken))
			}
			a.wantAlive(t, next)
		}},
		{"with a scope, too", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			next := a.refreshWithKey(t, pair.RefreshToken, "scope", "timeline")
			wantRepeated(t, next, a.refreshWithKey(t, pair.RefreshToken, "scope", "timeline"))
			if next.Scope != "timeline" {
				t.Errorf("got %s", next.Body)
			}
			a.wantAlive(t, next)
		}},
		{"for 60 seconds", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			next := a.refreshWithKey(t, pair.RefreshToken)
			a.site.Clock.Advance(oauth.RepeatLifetime - time.Microsecond)
			wantRepeated(t, next, a.refreshWithKey(t, pair.RefreshToken))
			a.site.Clock.Advance(time.Microsecond)
			wantError(t, a.refreshWithKey(t, pair.RefreshToken), "invalid_grant")
			a.wantDead(t, next)
		}},
		{"until the new refresh token is used", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			next := a.refreshWithKey(t, pair.RefreshToken)
			last := a.refreshWithKey(t, next.RefreshToken)
			wantRepeated(t, last, a.refreshWithKey(t, next.RefreshToken))
			wantError(t, a.refreshWithKey(t, pair.RefreshToken), "invalid_grant")
			a.wantDead(t, last)
		}},
		{"a refused request spends nothing and is not repeated", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b, "scope", "timeline")
			wantError(t, a.refreshWithKey(t, pair.RefreshToken, "scope", "account"), "invalid_scope")
			next := a.refreshWithKey(t, pair.RefreshToken)
			wantRepeated(t, next, a.refreshWithKey(t, pair.RefreshToken))
		}},
		{"a malformed key spends nothing", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			for _, keys := range [][]string{{""}, {"k", "k"}, {strings.Repeat("k", 256)}, {"ключ"}} {
				wantError(t, a.postWithKey(t, a.refreshForm(pair.RefreshToken), keys...), "invalid_request")
			}
			a.wantAlive(t, pair)
		}},
		{"a code is redeemed once, with or without a key", func(t *testing.T, a agent, b *webtest.Browser) {
			form := a.exchangeForm(a.code(t, b))
			pair := a.postWithKey(t, form, "k")
			wantTokens(t, pair)
			wantError(t, a.postWithKey(t, form, "k"), "invalid_grant")
			a.wantDead(t, pair)
		}},
		{"another client gets nothing and ends nothing", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			next := a.refreshWithKey(t, pair.RefreshToken)
			wantError(t, newAgent(t, a.site).refreshWithKey(t, pair.RefreshToken), "invalid_grant")
			wantRepeated(t, next, a.refreshWithKey(t, pair.RefreshToken))
			a.wantAlive(t, next)
		}},
	})
}

// A request that differs from the first one is a reuse of the spent token, which revokes the grant.
func TestAnotherRefreshRevokesTheGrant(t *testing.T) {
	t.Parallel()
	reuse := func(keyed bool, again func(t *testing.T, a agent, token string) answer) func(t *testing.T, a agent, b *webtest.Browser) {
		return func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			next := a.refresh
			if keyed {
				next = a.refreshWithKey
			}
			got := next(t, pair.RefreshToken)
			wantTokens(t, got)
			wantError(t, again(t, a, pair.RefreshToken), "invalid_grant")
			a.wantDead(t, got)
			wantError(t, a.refreshWithKey(t, pair.RefreshToken), "invalid_grant") // the first request is not repeated either
		}
	}
	testRows(t, []row{
		{"without the key", reuse(true, func(t *testing.T, a agent, token string) answer { return a.refresh(t, token) })},
		{"with another key", reuse(true, func(t *testing.T, a agent, token string) answer {
			return a.postWithKey(t, a.refreshForm(token), "K")
		})},
		{"with a key, after none", reuse(false, func(t *testing.T, a agent, token string) answer { return a.refreshWithKey(t, token) })},
		{"with a scope", reuse(true, func(t *testing.T, a agent, token string) answer {
			return a.refreshWithKey(t, token, "scope", "timeline")
		})},
		{"with a resource", reuse(true, func(t *testing.T, a agent, token string) answer {
			return a.refreshWithKey(t, token, "resource", a.site.URL+"/mcp")
		})},
		{"with a parameter that means nothing", reuse(true, func(t *testing.T, a agent, token string) answer { return a.refreshWithKey(t, token, "x", "y") })},
	})
}

// A stored answer is not repeated to a client that may no longer refresh.
func TestNoAnswerAfterTheAccess(t *testing.T) {
	t.Parallel()
	testRows(t, []row{
		{"revoked by the client", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			next := a.refreshWithKey(t, pair.RefreshToken)
			wantRevoked(t, a.revoke(t, next.AccessToken))
			wantError(t, a.refreshWithKey(t, pair.RefreshToken), "invalid_grant")
		}},
		{"revoked by the member", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			a.refreshWithKey(t, pair.RefreshToken)
			if err := oauth.RevokeAgent(t.Context(), a.site.Store, b.Owner, a.id); err != nil {
				t.Fatal(err)
			}
			wantError(t, a.refreshWithKey(t, pair.RefreshToken), "invalid_grant")
		}},
		{"paused, and resumed", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			next := a.refreshWithKey(t, pair.RefreshToken)
			if err := oauth.PauseAgent(t.Context(), a.site.Store, b.Owner, a.id); err != nil {
				t.Fatal(err)
			}
			wantError(t, a.refreshWithKey(t, pair.RefreshToken), "access_denied")
			if err := oauth.ResumeAgent(t.Context(), a.site.Store, b.Owner, a.id); err != nil {
				t.Fatal(err)
			}
			wantRepeated(t, next, a.refreshWithKey(t, pair.RefreshToken))
			a.wantAlive(t, next)
		}},
		{"suspended, and resumed", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			next := a.refreshWithKey(t, pair.RefreshToken)
			member, err := account.GetMemberByID(t.Context(), a.site.Store, b.Owner)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := account.SuspendMember(t.Context(), a.site.Store, member.Username); err != nil {
				t.Fatal(err)
			}
			wantError(t, a.refreshWithKey(t, pair.RefreshToken), "invalid_grant")
			if _, err := account.ResumeMember(t.Context(), a.site.Store, member.Username); err != nil {
				t.Fatal(err)
			}
			wantRepeated(t, next, a.refreshWithKey(t, pair.RefreshToken))
			a.wantAlive(t, next)
		}},
		{"narrowed: the repeated tokens have no more than is left", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			next := a.refreshWithKey(t, pair.RefreshToken)
			if err := oauth.NarrowAgent(t.Context(), a.site.Store, b.Owner, a.id, []string{"timeline"}, nil); err != nil {
				t.Fatal(err)
			}
			wantRepeated(t, next, a.refreshWithKey(t, pair.RefreshToken))
			if p := a.principal(t, next.AccessToken); p == nil || strings.Join(p.Credential.Scopes, " ") != "timeline" {
				t.Errorf("got %+v", p)
			}
		}},
	})
}

// Requests with one token and one key at once are one refresh; with two keys they are a reuse.
func TestRefreshesWithAKeyAtOnce(t *testing.T) {
	t.Parallel()
	testRows(t, []row{
		{"40 with one key", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			answers, err := together(40, func(int) (answer, error) { return a.tryWithKey(t.Context(), a.refreshForm(pair.RefreshToken), "k") })
			if err != nil {
				t.Fatal(err)
			}
			first := 0
			for _, got := range answers {
				wantTokens(t, got)
				if got.Header.Get("Idempotency-Replayed") == "" {
					first++
				}
				if got.Body != answers[0].Body {
					t.Errorf("got %s and %s", answers[0].Body, got.Body)
				}
			}
			if first != 1 {
				t.Errorf("%d refreshes", first)
			}
			a.wantAlive(t, answers[0])
		}},
		{"40 with two keys", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			answers, err := together(40, func(n int) (answer, error) {
				return a.tryWithKey(t.Context(), a.refreshForm(pair.RefreshToken), []string{"k", "K"}[n%2])
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, got := range answers {
				if got.Status == http.StatusOK {
					a.wantDead(t, got)
				} else {
					wantError(t, got, "invalid_grant")
				}
			}
		}},
		{"20 with a key, and a revocation", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			answers, err := together(20, func(n int) (answer, error) {
				if n == 10 {
					return a.try(t.Context(), oauth.PathRevoke, values("token", pair.AccessToken, "client_id", a.id))
				}
				return a.tryWithKey(t.Context(), a.refreshForm(pair.RefreshToken), "k")
			})
			if err != nil {
				t.Fatal(err)
			}
			// A refresh may replace the access token just before it is revoked; then it is unknown.
			grants, err := oauth.ListGrants(t.Context(), a.site.Store, b.Owner)
			if err != nil {
				t.Fatal(err)
			}
			for n, got := range answers {
				if n != 10 && got.Status == http.StatusOK && len(grants) == 0 {
					a.wantDead(t, got)
				}
			}
			if len(grants) == 1 {
				wantRepeated(t, answers[0], a.refreshWithKey(t, pair.RefreshToken))
			}
		}},
	})
}

// Someone who reads the database can't decrypt a stored answer, even with the key of another
// request. An answer that is moved to another grant can't be decrypted either.
func TestAnswersAtRest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *webtest.Site, databaseURL string) {
		a, b := newAgent(t, s), s.SignedIn(t, "maria")
		pair, other := a.tokens(t, b), a.tokens(t, b)
		next := a.refreshWithKey(t, pair.RefreshToken)
		kept := dump(t, databaseURL)
		for _, token := range []string{pair.RefreshToken, next.AccessToken, next.RefreshToken} {
			if bare := token[len("kith_xx_"):]; strings.Contains(kept, bare) || !strings.Contains(kept, oauth.Hash(token)) {
				t.Errorf("%q is kept, or its hash is not", token)
			}
		}
		var sealed []byte
		q := dbtest.OpenSQL(t, databaseURL)
		if err := q.QueryRow("SELECT answer FROM access_tokens WHERE answer IS NOT NULL").Scan(&sealed); err != nil {
			t.Fatal(err)
		}
		if text := string(sealed); strings.Contains(text, "kith_") || strings.Contains(text, "Bearer") {
			t.Errorf("the answer is readable: %q", text)
		}
		// An attacker who can write to the database copies the answer to another grant.
		if _, err := q.Exec("UPDATE access_tokens SET answer = $1", sealed); err != nil {
			t.Fatal(err)
		}
		statement(t, databaseURL, "UPDATE refresh_tokens SET spent_at = created_at WHERE hash = '"+oauth.Hash(other.RefreshToken)+"'")
		wantError(t, a.refreshWithKey(t, other.RefreshToken), "invalid_grant")
		wantRepeated(t, next, a.refreshWithKey(t, pair.RefreshToken))
		// An attacker moves the refresh token to another grant: the answer can't be decrypted.
		statement(t, databaseURL, "UPDATE refresh_tokens SET grant_id = (SELECT grant_id FROM refresh_tokens WHERE hash = '"+oauth.Hash(other.RefreshToken)+
			"') WHERE hash = '"+oauth.Hash(pair.RefreshToken)+"'")
		wantError(t, a.refreshWithKey(t, pair.RefreshToken), "invalid_grant")
	})
}
