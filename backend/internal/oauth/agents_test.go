package oauth_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// chosen runs the flow with some values of the consent form changed.
func (a agent) chosen(t testing.TB, b *webtest.Browser, change url.Values) answer {
	t.Helper()
	page := authorize(b, a.ask())
	got := a.exchange(t, a.sentBack(t, decide(b, page, "allow", change), callback).Get("code"))
	wantTokens(t, got)
	return got
}

func TestPresets(t *testing.T) {
	t.Parallel()
	testRows(t, []row{
		{"what is suggested: reading and adding, for 90 days, and asking first", func(t *testing.T, a agent, b *webtest.Browser) {
			end := a.site.Clock.Now().Add(90 * 24 * time.Hour)
			p := a.principal(t, a.chosen(t, b, nil).AccessToken)
			if !p.Credential.Holds("write") || len(p.Credential.Tools) == 0 || slices.Contains(p.Credential.Tools, "delete_connection") || !p.Credential.GrantExpiresAt.Equal(end) ||
				p.Credential.Asks.String() == "" {
				t.Errorf("got %+v", p.Credential)
			}
		}},
		{"who was not to ask first is not told to the second time", func(t *testing.T, a agent, b *webtest.Browser) {
			a.chosen(t, b, values("ask", ""))
			if page := authorize(b, a.ask()); page.Fill(oauth.PathConsent, nil).Has("ask") {
				t.Error("it is on again")
			}
		}},
		{"reading", func(t *testing.T, a agent, b *webtest.Browser) {
			p := a.principal(t, a.chosen(t, b, values("preset", "read")).AccessToken)
			if p.Credential.Holds("write") || len(p.Credential.Tools) > 0 || !p.Credential.Holds("connections") {
				t.Errorf("got %+v", p.Credential)
			}
		}},
		{"reading and adding", func(t *testing.T, a agent, b *webtest.Browser) {
			p := a.principal(t, a.chosen(t, b, values("preset", "add")).AccessToken)
			for tool, allowed := range map[string]bool{
				"search_connections": true, "create_connection": true, "add_note": true, "get_account": true,
				"update_connection": false, "merge_connections": false, "delete_connection": false, "import_file": false, "undo_change": false,
			} {
				if p.Credential.Allows(tool) != allowed {
					t.Errorf("%s: %t", tool, !allowed)
				}
			}
			if !p.Credential.Holds("write") {
				t.Error("it cannot add")
			}
		}},
		{"adding where nothing can be added", func(t *testing.T, a agent, b *webtest.Browser) {
			p := a.principal(t, a.chosen(t, b, url.Values{"preset": {"add"}, "scope": {"insights"}}).AccessToken)
			if !slices.Equal(p.Credential.Scopes, []string{"insights"}) {
				t.Errorf("got %v", p.Credential.Scopes)
			}
		}},
		{"none, another, and more than was asked for", func(t *testing.T, a agent, b *webtest.Browser) {
			for _, c := range []struct{ asked, name, value string }{
				{"connections write", "preset", ""}, {"connections write", "preset", "everything"}, {"connections", "preset", "all"},
				{"connections", "preset", "add"}, {"connections write", "days", ""}, {"connections write", "days", "31"}, {"connections write", "days", "-30"},
			} {
				again := decide(b, authorize(b, with(a.ask(), "scope", c.asked)), "allow", values(c.name, c.value))
				wantPage(t, again, http.StatusUnprocessableEntity, "Nothing was allowed yet")
				if again.ByID(c.name) == nil {
					t.Errorf("the link of the error has no target: %s", again.Text())
				}
			}
		}},
		{"another answer after the first", func(t *testing.T, a agent, b *webtest.Browser) {
			page := authorize(b, a.ask())
			a.sentBack(t, decide(b, page, "allow", values("preset", "add", "days", "30")), callback)
			for _, other := range []url.Values{values("preset", "all", "days", "30"), values("preset", "add", "days", "90"), values("preset", "read", "days", "30")} {
				wantPage(t, decide(b, page, "allow", other), http.StatusBadRequest, "This request is over")
			}
			a.sentBack(t, decide(b, page, "allow", values("preset", "add", "days", "30")), callback)
		}},
	})
}

// Access that was allowed until a day ends on it, even if the agent refreshed its tokens shortly before.
func TestEndOfAGrant(t *testing.T) {
	t.Parallel()
	testRows(t, []row{
		{"after 30 days", func(t *testing.T, a agent, b *webtest.Browser) {
			end := a.site.Clock.Now().Add(30 * 24 * time.Hour)
			pair := a.chosen(t, b, values("days", "30"))
			if p := a.principal(t, pair.AccessToken); !p.Credential.GrantExpiresAt.Equal(end) {
				t.Errorf("it ends at %s, not %s", p.Credential.GrantExpiresAt, end)
			}
			a.site.Clock.Advance(30*24*time.Hour - 10*time.Minute)
			last := a.refresh(t, pair.RefreshToken)
			wantTokens(t, last)
			if last.ExpiresIn != 600 {
				t.Errorf("expires_in of the last access token is %d", last.ExpiresIn)
			}
			a.site.Clock.Advance(10*time.Minute - time.Second)
			if a.principal(t, last.AccessToken) == nil {
				t.Error("it ended before")
			}
			a.site.Clock.Advance(time.Second)
			a.wantDead(t, last)
			if grants, err := oauth.ListGrants(t.Context(), a.site.Store, b.Owner); err != nil || len(grants) > 0 {
				t.Errorf("%d are listed, %v", len(grants), err)
			}
		}},
		{"not before it is revoked", func(t *testing.T, a agent, b *webtest.Browser) {
			if p := a.principal(t, a.chosen(t, b, values("days", "0")).AccessToken); !p.Credential.GrantExpiresAt.IsZero() {
				t.Errorf("it ends at %s", p.Credential.GrantExpiresAt)
			}
		}},
	})
}

func TestPause(t *testing.T) {
	t.Parallel()
	testRows(t, []row{
		{"and resume", func(t *testing.T, a agent, b *webtest.Browser) {
			pair, code := a.tokens(t, b), a.code(t, b)
			if err := oauth.PauseAgent(t.Context(), a.site.Store, b.Owner, a.id); err != nil {
				t.Fatal(err)
			}
			if p := a.principal(t, pair.AccessToken); p == nil || !p.Credential.Paused {
				t.Errorf("got %+v", p)
			}
			for range 2 {
				wantError(t, a.refresh(t, pair.RefreshToken), "access_denied")
			}
			wantError(t, a.exchange(t, code), "invalid_grant")
			if err := oauth.PauseAgent(t.Context(), a.site.Store, b.Owner, a.id); !fault.Is(err, fault.NotFound) {
				t.Errorf("once more: %v", err)
			}
			if err := oauth.ResumeAgent(t.Context(), a.site.Store, b.Owner, a.id); err != nil {
				t.Fatal(err)
			}
			if p := a.principal(t, pair.AccessToken); p == nil || p.Credential.Paused {
				t.Errorf("got %+v", p)
			}
			a.wantAlive(t, pair)
			if err := oauth.ResumeAgent(t.Context(), a.site.Store, b.Owner, a.id); !fault.Is(err, fault.NotFound) {
				t.Errorf("once more: %v", err)
			}
		}},
		{"lasts through a new consent", func(t *testing.T, a agent, b *webtest.Browser) {
			a.tokens(t, b)
			if err := oauth.PauseAgent(t.Context(), a.site.Store, b.Owner, a.id); err != nil {
				t.Fatal(err)
			}
			again := a.tokens(t, b)
			if p := a.principal(t, again.AccessToken); p == nil || !p.Credential.Paused {
				t.Errorf("got %+v", p)
			}
			if err := oauth.ResumeAgent(t.Context(), a.site.Store, b.Owner, a.id); err != nil {
				t.Fatal(err)
			}
			a.wantAlive(t, again)
		}},
		{"a used refresh token still revokes", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b)
			next := a.refresh(t, pair.RefreshToken)
			wantTokens(t, next)
			if err := oauth.PauseAgent(t.Context(), a.site.Store, b.Owner, a.id); err != nil {
				t.Fatal(err)
			}
			a.wantDead(t, pair)
			if err := oauth.ResumeAgent(t.Context(), a.site.Store, b.Owner, a.id); !fault.Is(err, fault.NotFound) {
				t.Errorf("a revoked grant is resumed: %v", err)
			}
			a.wantDead(t, next)
		}},
		{"of another member", func(t *testing.T, a agent, b *webtest.Browser) {
			pair, stranger := a.tokens(t, b), a.site.Member(t, "stranger")
			for name, err := range map[string]error{
				"pause": oauth.PauseAgent(t.Context(), a.site.Store, stranger, a.id), "resume": oauth.ResumeAgent(t.Context(), a.site.Store, stranger, a.id),
				"narrow": oauth.NarrowAgent(t.Context(), a.site.Store, stranger, a.id, []string{"timeline"}, nil),
			} {
				if !fault.Is(err, fault.NotFound) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if p := a.principal(t, pair.AccessToken); p.Credential.Paused || len(p.Credential.Scopes) != 9 {
				t.Errorf("got %+v", p.Credential)
			}
		}},
		// In any order, no call succeeds after the pause.
		{"during a refresh and a redemption", func(t *testing.T, a agent, b *webtest.Browser) {
			for range 5 {
				pair, code := a.tokens(t, b), a.code(t, b)
				answers, err := together(3, func(n int) (answer, error) {
					switch n {
					case 0:
						return answer{}, oauth.PauseAgent(t.Context(), a.site.Store, b.Owner, a.id)
					case 1:
						return a.try(t.Context(), oauth.PathToken, a.exchangeForm(code))
					default:
						return a.try(t.Context(), oauth.PathToken, a.refreshForm(pair.RefreshToken))
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, got := range answers[1:] {
					if p := a.principal(t, got.AccessToken); got.Status == http.StatusOK && (p == nil || !p.Credential.Paused) {
						t.Errorf("tokens of a paused agent work: %+v", p)
					}
				}
				if err := oauth.RevokeAgent(t.Context(), a.site.Store, b.Owner, a.id); err != nil {
					t.Fatal(err)
				}
			}
		}},
	})
}

func TestNarrowAgent(t *testing.T) {
	t.Parallel()
	testRows(t, []row{
		{"the next call and the next refresh", func(t *testing.T, a agent, b *webtest.Browser) {
			pair, code := a.tokens(t, b), a.code(t, b)
			if err := oauth.NarrowAgent(t.Context(), a.site.Store, b.Owner, a.id, []string{"timeline", "write"}, nil); err != nil {
				t.Fatal(err)
			}
			if p := a.principal(t, pair.AccessToken); !slices.Equal(p.Credential.Scopes, []string{"timeline", "write"}) {
				t.Errorf("the next call has %v", p.Credential.Scopes)
			}
			wantError(t, a.exchange(t, code), "invalid_grant")
			wantError(t, a.refresh(t, pair.RefreshToken, "scope", "connections"), "invalid_scope")
			next := a.refresh(t, pair.RefreshToken)
			if next.Scope != "timeline write" {
				t.Errorf("refreshed: %s", next.Body)
			}
			// Scopes that were removed can't be added again.
			if err := oauth.NarrowAgent(t.Context(), a.site.Store, b.Owner, a.id, strings.Fields(allScopes), nil); err != nil {
				t.Fatal(err)
			}
			if p := a.principal(t, next.AccessToken); !slices.Equal(p.Credential.Scopes, []string{"timeline", "write"}) {
				t.Errorf("widened to %v", p.Credential.Scopes)
			}
			if err := oauth.NarrowAgent(t.Context(), a.site.Store, b.Owner, a.id, []string{"connections"}, nil); !fault.Is(err, fault.Invalid) {
				t.Errorf("to no scope that it has: %v", err)
			}
			a.wantAlive(t, next)
		}},
		{"tools", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.chosen(t, b, values("preset", "add"))
			before := a.principal(t, pair.AccessToken).Credential.Tools
			for _, step := range []struct{ tools, wanted []string }{
				{nil, before}, {[]string{"add_note", "delete_connection"}, []string{"add_note"}}, {nil, []string{"add_note"}},
			} {
				if err := oauth.NarrowAgent(t.Context(), a.site.Store, b.Owner, a.id, strings.Fields(allScopes), step.tools); err != nil {
					t.Fatal(err)
				}
				if got := a.principal(t, pair.AccessToken).Credential.Tools; !slices.Equal(got, step.wanted) {
					t.Errorf("%v: %v", step.tools, got)
				}
			}
			err := oauth.NarrowAgent(t.Context(), a.site.Store, b.Owner, a.id, strings.Fields(allScopes), []string{"create_reminder"})
			if got := a.principal(t, pair.AccessToken).Credential.Tools; !fault.Is(err, fault.Invalid) || !slices.Equal(got, []string{"add_note"}) {
				t.Errorf("to no tool that it has: %v, %v", err, got)
			}
		}},
		{"several grants, of which one keeps nothing", func(t *testing.T, a agent, b *webtest.Browser) {
			wide, slim := a.tokens(t, b), a.tokens(t, b, "scope", "connections write")
			if err := oauth.NarrowAgent(t.Context(), a.site.Store, b.Owner, a.id, []string{"timeline", "write"}, nil); err != nil {
				t.Fatal(err)
			}
			a.wantDead(t, slim)
			a.wantAlive(t, wide)
		}},
		// In any order, no token keeps a scope that was removed.
		{"during a refresh", func(t *testing.T, a agent, b *webtest.Browser) {
			for range 5 {
				pair := a.tokens(t, b)
				answers, err := together(2, func(n int) (answer, error) {
					if n == 0 {
						return answer{}, oauth.NarrowAgent(t.Context(), a.site.Store, b.Owner, a.id, []string{"timeline"}, nil)
					}
					return a.try(t.Context(), oauth.PathToken, a.refreshForm(pair.RefreshToken))
				})
				if err != nil {
					t.Fatal(err)
				}
				wantTokens(t, answers[1])
				if p := a.principal(t, answers[1].AccessToken); !slices.Equal(p.Credential.Scopes, []string{"timeline"}) {
					t.Errorf("it has %v", p.Credential.Scopes)
				}
				if got := a.refresh(t, answers[1].RefreshToken); got.Scope != "timeline" {
					t.Errorf("then %q", got.Scope)
				}
			}
		}},
	})
}

func TestWidenAgent(t *testing.T) {
	t.Parallel()
	testRows(t, []row{
		{"the next call and the next refresh", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b, "scope", "connections")
			if err := oauth.WidenAgent(t.Context(), a.site.Store, b.Owner, a.id, []string{"timeline", "write"}, nil); err != nil {
				t.Fatal(err)
			}
			if p := a.principal(t, pair.AccessToken); !slices.Equal(p.Credential.Scopes, []string{"connections", "timeline", "write"}) {
				t.Errorf("the next call has %v", p.Credential.Scopes)
			}
			if next := a.refresh(t, pair.RefreshToken); next.Scope != "connections timeline write" {
				t.Errorf("refreshed: %s", next.Body)
			}
		}},
		{"a token that asked for less keeps less", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b, "scope", "connections timeline")
			slim := a.refresh(t, pair.RefreshToken, "scope", "connections")
			if err := oauth.WidenAgent(t.Context(), a.site.Store, b.Owner, a.id, []string{"insights"}, nil); err != nil {
				t.Fatal(err)
			}
			if p := a.principal(t, slim.AccessToken); !slices.Equal(p.Credential.Scopes, []string{"connections"}) {
				t.Errorf("it has %v", p.Credential.Scopes)
			}
		}},
		{"tools", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.chosen(t, b, values("preset", "add"))
			if err := oauth.WidenAgent(t.Context(), a.site.Store, b.Owner, a.id, []string{"timeline", "write"}, []string{"update_note"}); err != nil {
				t.Fatal(err)
			}
			if got := a.principal(t, pair.AccessToken).Credential.Tools; !slices.Contains(got, "update_note") || !slices.Contains(got, "add_note") {
				t.Errorf("it is limited to %v", got)
			}
			if err := oauth.WidenAgent(t.Context(), a.site.Store, b.Owner, a.id, []string{"write"}, nil); err != nil {
				t.Fatal(err)
			}
			// A limit never comes back by allowing more.
			if err := oauth.WidenAgent(t.Context(), a.site.Store, b.Owner, a.id, []string{"write"}, []string{"add_note"}); err != nil {
				t.Fatal(err)
			}
			if got := a.principal(t, pair.AccessToken).Credential.Tools; len(got) > 0 {
				t.Errorf("it is limited to %v", got)
			}
		}},
		{"a revoked grant stays revoked", func(t *testing.T, a agent, b *webtest.Browser) {
			pair := a.tokens(t, b, "scope", "connections")
			if err := oauth.RevokeAgent(t.Context(), a.site.Store, b.Owner, a.id); err != nil {
				t.Fatal(err)
			}
			if err := oauth.WidenAgent(t.Context(), a.site.Store, b.Owner, a.id, []string{"timeline"}, nil); !fault.Is(err, fault.NotFound) {
				t.Errorf("widened: %v", err)
			}
			a.wantDead(t, pair)
		}},
	})
}
