package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/password"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

func signUpForm(username string) map[string][]string {
	return webtest.Values("username", username, "email", username+"@people.example", "new_password", webtest.Password, "repeat_password", webtest.Password)
}

func TestSignUp(t *testing.T) {
	t.Parallel()
	webtest.Each(t, webtest.Options{}, func(t *testing.T, s *webtest.Site) {
		b := s.Browser(t)
		p := b.Submit(b.Get("/sign-up"), "/sign-up", signUpForm("maria"))
		wantRedirect(t, p, "/settings/profile?done=welcome")
		want(t, b.Follow(p), http.StatusOK, "Welcome to Kith", "Nothing: the page is not for everyone.")
		m, err := account.FindMember(t.Context(), s.Store, "maria@people.example")
		if err != nil || m.Username != "maria" || m.Plan != account.PlanFree || !m.EmailVerifiedAt.IsZero() {
			t.Errorf("got %+v, %v", m, err)
		}
		wantRedirect(t, b.Get("/sign-up"), "/")
		other := s.Browser(t)
		wantRedirect(t, signIn(other, "maria", webtest.Password, ""), "/")
	})
}

func TestSignUpComesBack(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.Browser(t)
	page := b.Get("/sign-in?" + webtest.Values("return_to", "/oauth/authorize?client_id=x").Encode())
	for _, link := range page.All("a") {
		if webtest.TextOf(link) == "Create an account" {
			wantRedirect(t, b.Submit(b.Get(webtest.Attr(link, "href")), "/sign-up", signUpForm("maria")), "/oauth/authorize?client_id=x")
			return
		}
	}
	t.Error("the sign-in page does not link to sign-up")
}

func TestSignUpIsNoOpenRedirect(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	for i, to := range []string{"//evil.example", "/\\evil.example", "https://evil.example", "/%2Fevil.example", "/settings/..//evil.example"} {
		b := s.Browser(t)
		page := b.Get("/sign-up?" + webtest.Values("return_to", to).Encode())
		if kept := page.Form("/sign-up").Get("return_to"); kept != "" {
			t.Errorf("the form keeps %q as %q", to, kept)
		}
		form := merge(signUpForm(fmt.Sprint("newby-", i)), webtest.Values("return_to", to))
		wantRedirect(t, b.Submit(page, "/sign-up", form), "/settings/profile?done=welcome")
	}
}

func TestSignUpRules(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) {
		c.ReservedUsername = func(name string) bool { return name == "demo-ada" }
	}})
	s.Member(t, "taken")
	for name, c := range map[string]struct {
		change map[string][]string
		words  string
	}{
		"a short username":      {webtest.Values("username", "ab"), "Use 3 to 30 lower-case letters"},
		"a username in capital": {webtest.Values("username", "Maria"), "Use 3 to 30 lower-case letters"},
		"a reserved username":   {webtest.Values("username", "admin"), "reserved"},
		"one of the sandbox":    {webtest.Values("username", "demo-ada"), "reserved"},
		"a taken username":      {webtest.Values("username", "taken"), "Somebody has this username or e-mail address already."},
		"a taken address":       {webtest.Values("email", "Taken@people.example"), "Somebody has this username or e-mail address already."},
		"no address":            {webtest.Values("email", "maria"), "no e-mail address"},
		"an address with more":  {webtest.Values("email", "Maria <maria@people.example>"), "no e-mail address"},
		"a short password":      {webtest.Values("new_password", "violet", "repeat_password", "violet"), "Use 10 to 256 characters."},
		"a common password":     {webtest.Values("new_password", "Password2024!", "repeat_password", "Password2024!"), "easy to guess"},
		"the username in it":    {webtest.Values("new_password", "violet maria drum", "repeat_password", "violet maria drum"), "Do not use your username"},
		"another repetition":    {webtest.Values("repeat_password", "violet kettle drums"), "The two passwords are not the same."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := s.Browser(t)
			p := b.Submit(b.Get("/sign-up"), "/sign-up", merge(signUpForm("maria"), c.change))
			want(t, p, http.StatusUnprocessableEntity, c.words)
			if strings.Contains(p.Body, webtest.Password) {
				t.Error("the password is in the page")
			}
			if isSignedIn(b) {
				t.Error("signed in")
			}
		})
	}
}

// A site without a configured cost hashes passwords at the default cost of package
// password.
func TestPasswordsAreKeptAtTheDefaultCost(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) { c.PasswordCost = password.Cost{} }})
	b := s.Browser(t)
	wantRedirect(t, b.Submit(b.Get("/sign-up"), "/sign-up", signUpForm("maria")), "/settings/profile?done=welcome")
	m, err := account.FindMember(t.Context(), s.Store, "maria")
	if err != nil {
		t.Fatal(err)
	}
	var dummy string
	s.Web.OnVerify(func(hash string) { dummy = hash })
	want(t, signIn(s.Browser(t), "nobody", "x", ""), http.StatusForbidden)
	if cost := "$argon2id$v=19$m=19456,t=2,p=1"; costOf(m.PasswordHash) != cost || costOf(dummy) != cost {
		t.Errorf("a member's is %s, an unknown login's %s", m.PasswordHash, dummy)
	}
}

func TestSignUpClosed(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) { c.SignUpOpen = false }})
	b := s.Browser(t)
	want(t, b.Get("/sign-up"), http.StatusForbidden, "Sign-up is closed")
	page := b.Get("/sign-in")
	if strings.Contains(page.Text(), "Create an account") {
		t.Error("the sign-in page offers it")
	}
	form := merge(signUpForm("maria"), webtest.Values("form_token", tokenOf(page)))
	want(t, b.Post("/sign-up", form), http.StatusForbidden, "Sign-up is closed")
	if _, err := account.FindMember(t.Context(), s.Store, "maria"); err == nil {
		t.Error("the member was created")
	}
}

func TestSignUpIsLimited(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) { c.Login = &account.RatePolicy{Quota: 2, Window: time.Minute} }})
	b := s.Browser(t)
	page := b.Get("/sign-up")
	for range 2 {
		want(t, b.Submit(page, "/sign-up", webtest.Values("username", "x")), http.StatusUnprocessableEntity)
	}
	want(t, b.Submit(page, "/sign-up", signUpForm("maria")), http.StatusTooManyRequests)
}
