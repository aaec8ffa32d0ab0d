package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const askForm = "/settings/agents/ask"

func asksOf(t *testing.T, s *webtest.Site, bearer string) string {
	t.Helper()
	p, err := oauth.Authenticate(t.Context(), s.Store, bearer)
	if err != nil {
		t.Fatal(err)
	}
	return p.Credential.Asks.String()
}

// On the page of agents, a member chooses which acts of an agent need approval. An invalid number
// stays in the form, with its error.
func TestAskMeFirstOnThePage(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		access := wideAgent(t, s, b, s.Client(t, "Agent Smith", "https://a.example/cb"))
		if asksOf(t, s, access) != "" {
			t.Error("acts need approval before the member chose any")
		}
		page := b.Get("/settings/agents")
		want(t, page, http.StatusOK, "Ask me first", "Many means more than")
		if strings.Contains(page.Text(), "Asks you before") {
			t.Error("the page shows acts before the member chose any")
		}
		for _, above := range []string{"", "0", "-1", "10001", "ten", "1.5"} {
			wrong := b.Submit(page, askForm, url.Values{"act": {"bulk", "merge"}, "above": {above}})
			want(t, wrong, http.StatusUnprocessableEntity, "Enter a number from 1 to 10000.")
			kept := wrong.Form(askForm)
			if wrong.ByID("agent-0-above") == nil || kept.Get("above") != above || !slices.Equal(kept["act"], []string{"merge", "bulk"}) {
				t.Errorf("%q: what was chosen is lost: %v", above, kept)
			}
		}
		wantRedirect(t, b.Submit(page, askForm, url.Values{"act": {"delete", "bulk", "x"}, "above": {"25"}}), "/settings/agents?done=agent-asks")
		if got := asksOf(t, s, access); got != "delete bulk=25" {
			t.Errorf("got %q", got)
		}
		saved := b.Get("/settings/agents?done=agent-asks")
		want(t, saved, http.StatusOK, "Saved.", "Asks you before deleting and changing more than 25 people.")
		wantRedirect(t, b.Submit(saved, askForm, url.Values{"act": nil, "above": {""}}), "/settings/agents?done=agent-asks")
		if got := asksOf(t, s, access); got != "" {
			t.Errorf("got %q", got)
		}
		other := s.SignedIn(t, "other")
		wideAgent(t, s, other, s.Client(t, "Other", "https://a.example/cb"))
		form := other.Get("/settings/agents").Form(askForm)
		form.Set("id", page.Form(askForm).Get("id"))
		form.Set("act", "delete")
		want(t, other.Post(askForm, form), http.StatusNotFound)
	})
}

func TestTokensAskFirst(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		for _, row := range []account.PersonalToken{{Name: "reads", Scopes: "connections"}, {Name: "writes", Scopes: "connections write"}} {
			row.MemberID, row.Hash = b.Owner, account.HashSecret("kith_pat_"+row.Name)
			if err := account.CreatePersonalToken(t.Context(), s.Store, &row); err != nil {
				t.Fatal(err)
			}
		}
		page := b.Get("/settings/mcp/tokens")
		if n := len(page.Forms(askForm)); n != 1 {
			t.Fatalf("%d forms", n)
		}
		wantRedirect(t, b.Submit(page, askForm, url.Values{"act": {"import"}}), "/settings/mcp/tokens?done=agent-asks")
		if asksOf(t, s, "kith_pat_writes") != "import" || asksOf(t, s, "kith_pat_reads") != "" {
			t.Error("another token was changed")
		}
		want(t, b.Submit(page, askForm, url.Values{"act": {"bulk"}, "above": {"x"}}), http.StatusUnprocessableEntity, "Enter a number")
		form := page.Form(askForm)
		form.Set("id", "pat_01J00000000000000000000000")
		want(t, b.Post(askForm, form), http.StatusNotFound)
	})
}

// The consent form has one checkbox for it. It is on for an agent that has no access yet, and then as the member left it.
func TestAskMeFirstInTheConsentForm(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.SignedIn(t, "maria")
		c := s.Client(t, "Agent Smith", "https://a.example/cb")
		page := b.Get(authorizePath(c.ID, "https://a.example/cb"))
		want(t, page, http.StatusOK, "Ask me first before deleting, merging, importing, or changing more than 10 people")
		form := allow(page)
		if form.Get("ask") != "first" {
			t.Error("it is off")
		}
		if got := asksOf(t, s, redeem(t, s, b.Post("/oauth/consent", form))); got != "delete merge import bulk=10" {
			t.Errorf("got %q", got)
		}
		again := b.Get(authorizePath(c.ID, "https://a.example/cb"))
		if allow(again).Get("ask") != "first" {
			t.Error("it is off the second time")
		}
	})
}

// The email about a call that needs approval goes to a confirmed address. It names the agent and the
// tool, and has a link.
func TestMailAboutAQuestion(t *testing.T) {
	t.Parallel()
	box, options := withMail(t)
	s := webtest.New(t, options)
	b := s.SignedIn(t, "maria")
	if _, err := s.Store.NewWrite("UPDATE members SET email_verified_at = ? WHERE id = ?", s.Clock.Now(), b.Owner).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, who := range []tenant.ID{s.SignedIn(t, "unconfirmed").Owner, b.Owner} {
		s.Web.TellQuestion(&tenant.Principal{Tenant: who, Credential: tenant.Credential{Name: "Claude"}}, "Delete a person")
	}
	email := box.Next(t)
	text, _ := email.Parts(t)
	for _, part := range []string{"Claude wants to use the tool “Delete a person”", s.URL + "/decide", "maria"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
	if left := box.settle(t); left != 0 {
		t.Errorf("%d more", left)
	}
}
