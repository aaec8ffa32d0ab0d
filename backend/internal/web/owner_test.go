package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// ownerLink returns the path of a new owner link.
func ownerLink(t *testing.T, s *webtest.Site) string {
	t.Helper()
	secret, err := account.CreateOwnerLink(t.Context(), s.Store)
	if err != nil {
		t.Fatal(err)
	}
	return "/owner?" + webtest.Values("link", secret).Encode()
}

func ownerForm(username string) map[string][]string {
	return merge(signUpForm(username), webtest.Values("name", "Maria Silva", "timezone", "Europe/Lisbon"))
}

func wantOverOwnerLink(t *testing.T, p *webtest.Page) {
	t.Helper()
	want(t, p, http.StatusNotFound, "This link does not work any more", "kith owner-link", "Sign in")
}

// The link leads to the form of the first member, who is signed in afterwards. It works although
// sign-up is closed, and works once.
func TestOwner(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{Web: func(c *web.Config) { c.SignUpOpen = false }}, func(t *testing.T, s *webtest.Site) {
		link, other := ownerLink(t, s), ownerLink(t, s)
		b, late := s.Browser(t), s.Browser(t)
		shown, open := b.Get(link), late.Get(other)
		want(t, shown, http.StatusOK, "Create your account", "Time zone")
		made := b.Submit(shown, "/owner", ownerForm("maria"))
		wantRedirect(t, made, "/?done=owner")
		today := b.Follow(made)
		want(t, today, http.StatusOK, "Welcome to Kith.")
		if !strings.Contains(today.Body, "Maria Silva") || !strings.Contains(today.Body, "Europe/Lisbon") {
			t.Error("the page does not show the member's name or time zone")
		}
		want(t, b.Get(link), http.StatusNotFound, "This link does not work any more")
		m, err := account.FindMember(t.Context(), s.Store, "maria@people.example")
		if err != nil || m.Username != "maria" || m.Timezone != "Europe/Lisbon" || m.Plan != account.PlanPro || !m.EmailVerifiedAt.IsZero() {
			t.Errorf("got %+v, %v", m, err)
		}
		wantRedirect(t, signIn(s.Browser(t), "maria", webtest.Password, ""), "/")
		for _, used := range []string{link, other, "/owner?link=guess"} {
			wantOverOwnerLink(t, s.Browser(t).Get(used))
		}
		wantOverOwnerLink(t, late.Submit(open, "/owner", ownerForm("second")))
		if _, err := account.CreateOwnerLink(t.Context(), s.Store); !fault.Is(err, fault.Conflict) {
			t.Errorf("a link although there is a member: %v", err)
		}
	})
}

func TestOwnerLinkExpires(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b, link := s.Browser(t), ownerLink(t, s)
	shown := b.Get(link)
	s.Clock.Advance(account.OwnerLinkLifetime)
	wantOverOwnerLink(t, b.Get(link))
	wantOverOwnerLink(t, b.Submit(shown, "/owner", ownerForm("maria")))
	wantOverOwnerLink(t, b.Get("/owner"))
	want(t, b.Get(ownerLink(t, s)), http.StatusOK, "Create your account")
}

// The accounts of the sandbox do not count as members.
func TestOwnerBesideTheDemo(t *testing.T) {
	t.Parallel()
	s := demoSite(t, "en")
	b := s.Browser(t)
	wantRedirect(t, b.Submit(b.Get(ownerLink(t, s)), "/owner", ownerForm("maria")), "/?done=owner")
}

func TestOwnerRules(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	link := ownerLink(t, s)
	for name, c := range map[string]struct {
		change       map[string][]string
		field, words string
	}{
		"a short username":   {webtest.Values("username", "ab"), "username", "Use 3 to 30 lower-case letters"},
		"a reserved one":     {webtest.Values("username", "demo"), "username", "reserved"},
		"no address":         {webtest.Values("email", "maria"), "email", "no e-mail address"},
		"no name":            {webtest.Values("name", " "), "name", "Enter the name"},
		"a long name":        {webtest.Values("name", strings.Repeat("x", 101)), "name", "characters"},
		"no such zone":       {webtest.Values("timezone", "Europe/Berlni"), "timezone", "Europe/Berlin"},
		"a short password":   {webtest.Values("new_password", "violet", "repeat_password", "violet"), "", "Use 10 to 256 characters."},
		"another repetition": {webtest.Values("repeat_password", "violet kettle drums"), "", "The two passwords are not the same."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := s.Browser(t)
			form := merge(ownerForm("maria"), c.change)
			p := b.Submit(b.Get(link), "/owner", form)
			want(t, p, http.StatusUnprocessableEntity, c.words)
			if c.field != "" {
				wantAtFields(t, p, "/owner", map[string]string{c.field: strings.TrimSpace(form[c.field][0])})
			}
			if got := p.Form("/owner"); got.Get("username") != form["username"][0] || got.Get("new_password") != "" {
				t.Errorf("the form has %v", got)
			}
			if isSignedIn(b) {
				t.Error("signed in")
			}
		})
	}
}

// A good password is typed once: a mistake elsewhere keeps it, sealed, and a mismatch is named together
// with the other mistakes. The same holds for sign-up.
func TestGoodPasswordIsKept(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	for _, c := range []struct {
		path, action string
		form         map[string][]string
	}{
		{ownerLink(t, s), "/owner", ownerForm("maria")}, {"/sign-up", "/sign-up", signUpForm("ines")},
	} {
		b, path := s.Browser(t), c.path
		both := b.Submit(b.Get(path), c.action, merge(c.form, webtest.Values("username", "ab", "repeat_password", "another long one")))
		want(t, both, http.StatusUnprocessableEntity, "Use 3 to 30 lower-case letters", "The two passwords are not the same.")
		weak := b.Submit(both, c.action, merge(c.form, webtest.Values("new_password", "short", "repeat_password", "shor")))
		want(t, weak, http.StatusUnprocessableEntity, "Use 10 to 256 characters.", "The two passwords are not the same.")
		p := b.Submit(weak, c.action, merge(c.form, webtest.Values("username", "ab")))
		want(t, p, http.StatusUnprocessableEntity, "Your password is kept.")
		if strings.Contains(p.Body, webtest.Password) || webtest.Has(p.ByID("new_password"), "required") {
			t.Errorf("%s: the page has the password, or asks for it again", path)
		}
		// Another browser cannot use the sealed password.
		thief := s.Browser(t)
		stolen := thief.Get(path).Fill(c.action, merge(c.form, webtest.Values("kept_password", p.Form(c.action).Get("kept_password"), "new_password", "", "repeat_password", "")))
		want(t, thief.Post(c.action, stolen), http.StatusUnprocessableEntity, "Use 10 to 256 characters.")
		username := c.form["username"][0]
		if done := b.Submit(p, c.action, webtest.Values("username", username)); done.Status != http.StatusSeeOther {
			t.Fatalf("%s: %d\n%s", path, done.Status, done.Text())
		}
		wantRedirect(t, signIn(s.Browser(t), username, webtest.Password, ""), "/")
	}
}

func TestOwnerNeedsTheToken(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.Browser(t)
	shown := b.Get(ownerLink(t, s))
	want(t, b.Submit(shown, "/owner", merge(ownerForm("maria"), webtest.Values("form_token", "forged"))), http.StatusForbidden, "out of date")
	wantRedirect(t, b.Submit(shown, "/owner", ownerForm("maria")), "/?done=owner")
}

func TestOwnerIsLimited(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) { c.Login = &account.RatePolicy{Quota: 2, Window: time.Minute} }})
	b := s.Browser(t)
	shown := b.Get(ownerLink(t, s))
	for range 2 {
		want(t, b.Submit(shown, "/owner", webtest.Values("username", "x")), http.StatusUnprocessableEntity)
	}
	want(t, b.Submit(shown, "/owner", ownerForm("maria")), http.StatusTooManyRequests)
}

// Several browsers use one link, or several links, at the same time: exactly one creates the owner.
func TestOwnerRace(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		links := []string{ownerLink(t, s), ownerLink(t, s)}
		const browsers = 8
		made := make([]*webtest.Page, browsers)
		start := make(chan struct{})
		var all sync.WaitGroup
		for i := range browsers {
			b := s.Browser(t)
			shown := b.Get(links[i%len(links)])
			form := shown.Fill("/owner", ownerForm(fmt.Sprint("maria-", i)))
			all.Go(func() {
				<-start
				made[i], _ = b.Try(b.Request(http.MethodPost, "/owner", form))
			})
		}
		close(start)
		all.Wait()
		owners := 0
		for _, p := range made {
			switch {
			case p == nil:
				t.Error("no answer")
			case p.Status == http.StatusSeeOther:
				owners++
			default:
				wantOverOwnerLink(t, p)
			}
		}
		members, err := account.ListMembers(t.Context(), s.Store)
		if err != nil || len(members) != 1 || owners != 1 {
			t.Errorf("%d owners, members %v, %v", owners, members, err)
		}
	})
}
