package web_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// wideAgent grants a client everything and returns its access token.
func wideAgent(t *testing.T, s *webtest.Site, b *webtest.Browser, c *oauth.Client) string {
	t.Helper()
	form := allow(b.Get(authorizePath(c.ID, "https://a.example/cb")))
	form.Set("preset", "all")
	form.Del("ask")
	return redeem(t, s, b.Post("/oauth/consent", form))
}

func scopesOf(t *testing.T, s *webtest.Site, access string) []string {
	t.Helper()
	p, err := oauth.Authenticate(t.Context(), s.Store, access)
	if err != nil {
		t.Fatal(err)
	}
	return p.Credential.Scopes
}

func TestPauseAndResumeOnThePage(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		access := grantOf(t, s, b)
		paused := func() bool {
			p, err := oauth.Authenticate(t.Context(), s.Store, access)
			return err == nil && p.Credential.Paused
		}
		page := b.Get("/settings/agents")
		want(t, page, http.StatusOK, "Agent Smith", "Its access lasts until you revoke it", "See what it did")
		wantRedirect(t, b.Submit(page, "/settings/agents/pause", nil), "/settings/agents?done=agent-paused")
		if !paused() {
			t.Error("it is not paused")
		}
		again := b.Get("/settings/agents?done=agent-paused")
		want(t, again, http.StatusOK, "The agent is paused", "paused")
		if len(again.Forms("/settings/agents/pause")) > 0 {
			t.Error("a paused agent can be paused")
		}
		want(t, b.Submit(page, "/settings/agents/pause", nil), http.StatusNotFound)
		wantRedirect(t, b.Submit(again, "/settings/agents/resume", nil), "/settings/agents?done=agent-resumed")
		if paused() {
			t.Error("it is still paused")
		}
	})
}

func TestNarrowOnThePage(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		access := wideAgent(t, s, b, s.Client(t, "Agent Smith", "https://a.example/cb"))
		page := b.Get("/settings/agents")
		want(t, page, http.StatusOK, "reads, changes and deletes")
		form := page.Form("/settings/agents/narrow")
		if form.Get("preset") != "all" || len(form["scope"]) != 8 {
			t.Errorf("it begins with %v", form)
		}
		wrong := b.Submit(page, "/settings/agents/narrow", url.Values{"scope": nil, "preset": {"read"}})
		want(t, wrong, http.StatusUnprocessableEntity, "Tick at least one area")
		if wrong.ByID("agent-0-scope") == nil || wrong.Form("/settings/agents/narrow").Get("preset") != "read" {
			t.Error("the link of the error has no target, or what was chosen is lost")
		}
		want(t, b.Submit(page, "/settings/agents/narrow", webtest.Values("preset", "x")), http.StatusUnprocessableEntity, "Choose what it may do")
		wantRedirect(t, b.Submit(page, "/settings/agents/narrow", url.Values{"scope": {"connections", "timeline"}, "preset": {"add"}}), "/settings/agents?done=agent-narrowed")
		want(t, b.Get("/settings/agents"), http.StatusOK, "Your people Notes and contacts reads and adds")
		if got := scopesOf(t, s, access); !slices.Equal(got, []string{"connections", "timeline", "write"}) {
			t.Errorf("it has %v", got)
		}
		// The first page is out of date: it does not widen the access again.
		wantRedirect(t, b.Submit(page, "/settings/agents/narrow", nil), "/settings/agents?done=agent-narrowed")
		wantRedirect(t, b.Submit(b.Get("/settings/agents"), "/settings/agents/narrow", webtest.Values("preset", "read")), "/settings/agents?done=agent-narrowed")
		if got := scopesOf(t, s, access); !slices.Equal(got, []string{"connections", "timeline"}) {
			t.Errorf("it has %v", got)
		}
		want(t, b.Get("/settings/agents"), http.StatusOK, "Your people Notes and contacts reads only")
	})
}

// A member who was sent here by an agent's refusal allows it more, and it may do so with the tokens that it has.
func TestWidenOnThePage(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		access := wideAgent(t, s, b, s.Client(t, "Agent Smith", "https://a.example/cb"))
		if len(b.Get("/settings/agents").Forms("/settings/agents/widen")) > 0 {
			t.Error("it may do everything, and is offered more")
		}
		b.Submit(b.Get("/settings/agents"), "/settings/agents/narrow", url.Values{"scope": {"connections"}, "preset": {"read"}})
		page := b.Get("/settings/agents")
		if form := page.Form("/settings/agents/widen"); form.Get("preset") != "read" || !slices.Equal(form["scope"], []string{"connections"}) {
			t.Errorf("it begins with %v", form)
		}
		wrong := b.Submit(page, "/settings/agents/widen", url.Values{"scope": {"connections"}, "preset": {"x"}})
		want(t, wrong, http.StatusUnprocessableEntity, "Choose what it may do")
		if wrong.ByID("agent-0-more-preset") == nil {
			t.Error("the link of the error has no target")
		}
		wantRedirect(t, b.Submit(page, "/settings/agents/widen", url.Values{"scope": {"timeline"}, "preset": {"add"}}), "/settings/agents?done=agent-widened")
		p, err := oauth.Authenticate(t.Context(), s.Store, access)
		if err != nil || !slices.Equal(p.Credential.Scopes, []string{"connections", "timeline", "write"}) || !slices.Contains(p.Credential.Tools, "add_note") || slices.Contains(p.Credential.Tools, "delete_connection") {
			t.Errorf("it has %+v, %v", p, err)
		}
		wantRedirect(t, b.Submit(b.Get("/settings/agents"), "/settings/agents/widen", webtest.Values("preset", "all")), "/settings/agents?done=agent-widened")
		if p, err := oauth.Authenticate(t.Context(), s.Store, access); err != nil || len(p.Credential.Tools) > 0 {
			t.Errorf("it is limited to %v, %v", p.Credential.Tools, err)
		}
	})
}

// A member can do nothing to another member's agents, even to one of the same client.
func TestAgentsOfAnotherMember(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		victim, attacker := s.SignedIn(t, "victim"), s.SignedIn(t, "attacker")
		c := s.Client(t, "Agent Smith", "https://a.example/cb")
		access := wideAgent(t, s, victim, c)
		_, token := tokensOf(attacker)
		for _, path := range []string{"/settings/agents/pause", "/settings/agents/resume", "/settings/agents/narrow", "/settings/agents/widen", "/settings/mcp/agents/revoke"} {
			for _, form := range []url.Values{{"preset": {"read"}, "scope": {"timeline"}}, {"preset": {"read"}}} {
				form.Set("form_token", token)
				form.Set("id", c.ID)
				want(t, attacker.Post(path, form), http.StatusNotFound, "There is nothing here")
			}
		}
		if p, err := oauth.Authenticate(t.Context(), s.Store, access); err != nil || p.Credential.Paused || len(p.Credential.Scopes) != 9 {
			t.Errorf("got %+v, %v", p, err)
		}
		if page := attacker.Get("/settings/agents"); strings.Contains(page.Text(), "Agent Smith") {
			t.Error("another member's agent is listed")
		}
	})
}

func TestWhatAgentsDid(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		access := grantOf(t, s, b)
		p, err := oauth.Authenticate(t.Context(), s.Store, access)
		if err != nil {
			t.Fatal(err)
		}
		addBy(t, s, b.Owner, p.Credential.ID, "Agent Smith", "Grace Hopper")
		page := b.Get("/settings/agents")
		want(t, page, http.StatusOK, "Changed something 1 time in the last 90 days")
		listed := b.Get(webtest.LinkTo(page, "See what it did"))
		want(t, listed, http.StatusOK, "Added Grace Hopper")
		if other := s.SignedIn(t, "other").Get("/settings/agents"); strings.Contains(other.Text(), "Changed something") {
			t.Error("another member sees the changes")
		}
	})
}

// Sign-in names the application that waits, and nothing else that the address names.
func TestSignInNamesTheApplication(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	s.Member(t, "maria")
	c := s.Client(t, "Agent <b>Smith</b>", "https://a.example/cb")
	path := authorizePath(c.ID, "https://a.example/cb")
	b := s.Browser(t)
	const waits = "waits for you to sign in"
	page := b.Follow(b.Get(path))
	want(t, page, http.StatusOK, "An application that calls itself Agent <b>Smith</b> "+waits)
	want(t, signIn(b, "maria", "wrong", path), http.StatusForbidden, "Agent <b>Smith</b> "+waits)
	want(t, b.Get("/sign-in?"+webtest.Values("return_to", authorizePath("https://agent.example.com/client.json", "https://a.example/cb")).Encode()), http.StatusOK,
		"The application of agent.example.com "+waits)
	for _, back := range []string{"", "/settings/mcp?client_id=" + c.ID, authorizePath("cli_none", "https://a.example/cb"), "https://evil.example" + path, authorizePath("x\x00", "https://a.example/cb")} {
		if p := b.Get("/sign-in?" + webtest.Values("return_to", back).Encode()); p.Status != http.StatusOK || strings.Contains(p.Text(), waits) {
			t.Errorf("%q: %d %s", back, p.Status, p.Text())
		}
	}
}

// addBy adds a person as an agent with that credential.
func addBy(t *testing.T, s *webtest.Site, owner tenant.ID, credentialID, name, person string) {
	t.Helper()
	err := s.Store.Tenant(owner, false).Write(t.Context(), db.Actor{CredentialID: credentialID, CredentialName: name, Tool: "create_connection"},
		func(ctx context.Context, u *db.Tx) error {
			_, err := people.Create(ctx, u, people.Draft{Name: person})
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
}
