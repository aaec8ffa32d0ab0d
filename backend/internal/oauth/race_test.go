package oauth_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// oneWins returns the only response with tokens; the others are all invalid_grant.
func oneWins(t *testing.T, answers []answer) answer {
	t.Helper()
	var won []answer
	for _, got := range answers {
		if got.Status == http.StatusOK {
			won = append(won, got)
			continue
		}
		wantError(t, got, "invalid_grant")
	}
	if len(won) != 1 {
		t.Fatalf("%d of %d won", len(won), len(answers))
	}
	return won[0]
}

// Forty concurrent calls have the same result as in some sequential order.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	testRows(t, []row{
		// A used code that is presented again with its verifier revokes its grant, so
		// the tokens of the winner are revoked too.
		{"40 redemptions of one code", func(t *testing.T, a agent, b *webtest.Browser) {
			other, form := a.tokens(t, b), a.exchangeForm(a.code(t, b))
			answers, err := together(40, func(int) (answer, error) { return a.try(t.Context(), oauth.PathToken, form) })
			if err != nil {
				t.Fatal(err)
			}
			a.wantDead(t, oneWins(t, answers))
			if grants, err := oauth.ListGrants(t.Context(), a.site.Store, b.Owner); err != nil || len(grants) != 1 {
				t.Errorf("%d grants live beside the other one, %v", len(grants)-1, err)
			}
			a.wantAlive(t, other)
		}},
		// A caller with the code but without the verifier can neither get the tokens
		// nor prevent the client from getting them.
		{"one redemption among 39 with a wrong verifier", func(t *testing.T, a agent, b *webtest.Browser) {
			form := a.exchangeForm(a.code(t, b))
			answers, err := together(40, func(n int) (answer, error) {
				if n == 20 {
					return a.try(t.Context(), oauth.PathToken, form)
				}
				return a.try(t.Context(), oauth.PathToken, with(form, "code_verifier", wrongVerifier))
			})
			if err != nil {
				t.Fatal(err)
			}
			a.wantAlive(t, oneWins(t, answers))
		}},
		{"40 refreshes of one token", func(t *testing.T, a agent, b *webtest.Browser) {
			other, pair := a.tokens(t, b), a.tokens(t, b)
			answers, err := together(40, func(int) (answer, error) {
				return a.try(t.Context(), oauth.PathToken, a.refreshForm(pair.RefreshToken))
			})
			if err != nil {
				t.Fatal(err)
			}
			a.wantDead(t, oneWins(t, answers))
			a.wantDead(t, pair)
			a.wantAlive(t, other)
		}},
		// Whichever call is first, no token works afterwards.
		{"a refresh and a revocation", func(t *testing.T, a agent, b *webtest.Browser) {
			for range 5 {
				pair := a.tokens(t, b)
				answers, err := together(2, func(n int) (answer, error) {
					if n == 0 {
						return a.try(t.Context(), oauth.PathRevoke, values("token", pair.RefreshToken, "client_id", a.id))
					}
					return a.try(t.Context(), oauth.PathToken, a.refreshForm(pair.RefreshToken))
				})
				if err != nil {
					t.Fatal(err)
				}
				wantRevoked(t, answers[0])
				if answers[1].Status == http.StatusOK {
					a.wantDead(t, answers[1])
					continue
				}
				wantError(t, answers[1], "invalid_grant")
				a.wantDead(t, pair)
			}
		}},
		// The settings page ends all access of the agent and all its pending requests,
		// including concurrent ones.
		{"the agent is revoked during a redemption, a refresh and an answer", func(t *testing.T, a agent, b *webtest.Browser) {
			for range 5 {
				a.revokeAmidst(t, b)
			}
		}},
		// One answer counts, and repetitions of it get the same result.
		{"20 answers to one consent, of both kinds", func(t *testing.T, a agent, b *webtest.Browser) {
			form := authorize(b, a.ask()).Form(oauth.PathConsent)
			cookie := b.CookieName("kith_session") + "=" + b.Cookie("kith_session")
			answers, err := together(20, func(n int) (answer, error) {
				decision := []string{"allow", "deny"}[n%2]
				r, err := a.request(t.Context(), http.MethodPost, oauth.PathConsent, formMedia, with(form, "decision", decision).Encode())
				if err != nil {
					return answer{}, err
				}
				r.Header.Set("Cookie", cookie)
				return send(r)
			})
			if err != nil {
				t.Fatal(err)
			}
			outcomes, over := map[string]int{}, 0
			for _, got := range answers {
				if to := got.Header.Get("Location"); to != "" {
					outcomes[to]++
				} else if got.Status == http.StatusBadRequest {
					over++
				}
			}
			if len(outcomes) != 1 || over != 10 {
				t.Errorf("%v, and %d got the page “This request is over”", outcomes, over)
			}
		}},
	})
}

// revokeAmidst revokes the agent while it redeems a code and refreshes a token, and
// while another of its requests is allowed: no access remains.
func (a agent) revokeAmidst(t *testing.T, b *webtest.Browser) {
	t.Helper()
	pair, code := a.tokens(t, b), a.code(t, b)
	waiting := with(authorize(b, a.ask()).Form(oauth.PathConsent), "decision", "allow")
	revoke := b.Get("/settings/mcp").Form("/settings/mcp/agents/revoke")
	cookie := b.CookieName("kith_session") + "=" + b.Cookie("kith_session")
	page := func(path string, form url.Values) (answer, error) {
		r, err := a.request(t.Context(), http.MethodPost, path, formMedia, form.Encode())
		if err != nil {
			return answer{}, err
		}
		r.Header.Set("Cookie", cookie)
		return send(r)
	}
	answers, err := together(4, func(n int) (answer, error) {
		switch n {
		case 0:
			return page("/settings/mcp/agents/revoke", revoke)
		case 1:
			return page(oauth.PathConsent, waiting)
		case 2:
			return a.try(t.Context(), oauth.PathToken, a.exchangeForm(code))
		default:
			return a.try(t.Context(), oauth.PathToken, a.refreshForm(pair.RefreshToken))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if to := answers[0].Header.Get("Location"); to != "/settings/mcp?done=agent-revoked" {
		t.Fatalf("the revocation: %d to %q", answers[0].Status, to)
	}
	if to, err := url.Parse(answers[1].Header.Get("Location")); err != nil || to.Query().Has("code") {
		wantError(t, a.exchange(t, to.Query().Get("code")), "invalid_grant")
	}
	for _, got := range answers[2:] {
		if got.Status == http.StatusOK {
			a.wantDead(t, got)
			continue
		}
		wantError(t, got, "invalid_grant")
	}
	a.wantDead(t, pair)
	if grants, err := oauth.ListGrants(t.Context(), a.site.Store, b.Owner); err != nil || len(grants) > 0 {
		t.Errorf("%d grants live, %v", len(grants), err)
	}
}
