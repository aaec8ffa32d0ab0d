package web_test

import (
	"context"
	"mime"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/mail/smtptest"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

// post is the mailbox of a site: a real SMTP server that a real mailer sends to.
type post struct {
	*smtptest.Server
	mailer *mail.Mailer
}

func withMail(t *testing.T) (post, webtest.Options) {
	t.Helper()
	server := smtptest.Start(t, smtptest.Options{})
	mailer, err := mail.New(mail.Config{URL: "smtp://" + server.Addr + "?from=Kith%20<kith@kith.example>"})
	if err != nil {
		t.Fatal(err)
	}
	mailer.Start(t.Context())
	t.Cleanup(func() { mailer.Stop(context.Background()) })
	return post{server, mailer}, webtest.Options{Web: func(c *web.Config) { c.Mailer = mailer }}
}

// settle waits until every queued email is written, and returns how many were received.
func (p post) settle(t *testing.T) int {
	t.Helper()
	p.mailer.Stop(t.Context())
	return p.Waiting()
}

var linkPattern = regexp.MustCompile(`https?://\S+`)

// link returns the path that the next email with a subject links to; text and HTML must agree. It
// skips notices of other security events.
func (p post) link(t *testing.T, s *webtest.Site, to, subject string) string {
	t.Helper()
	email := p.Next(t)
	for isNotice(t, email) && email.Header.Get("Subject") != subject {
		email = p.Next(t)
	}
	if email.To != to || email.Header.Get("Subject") != subject {
		t.Fatalf("an email to %s: %q", email.To, email.Header.Get("Subject"))
	}
	text, html := email.Parts(t)
	address := linkPattern.FindString(text)
	if !strings.Contains(html, `href="`+strings.ReplaceAll(address, "&", "&amp;")+`"`) {
		t.Errorf("text and HTML link to different addresses:\n%s\n%s", text, html)
	}
	path, ok := strings.CutPrefix(address, s.URL)
	if !ok {
		t.Fatalf("it links to another site: %s", address)
	}
	return path
}

// isNotice reports whether an email tells a member of a security event.
func isNotice(t *testing.T, email smtptest.Email) bool {
	t.Helper()
	text, _ := email.Parts(t)
	return strings.Contains(text, "This was not me:")
}

const (
	resetSubject   = "Choose a new password for Kith"
	verifySubject  = "Confirm your e-mail address for Kith"
	finishSubject  = "Finish your Kith account"
	changedSubject = "Your Kith password was changed"
)

func eachWithMail(t *testing.T, test func(t *testing.T, s *webtest.Site, p post)) {
	t.Helper()
	dbtest.Databases(t, func(t *testing.T, databaseURL string) {
		p, options := withMail(t)
		test(t, webtest.Start(t, databaseURL, options), p)
	})
}

const newPassword = "amber lantern fjord"

func TestResetByMail(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		signedIn := s.SignedIn(t, "maria")
		b := s.Browser(t)
		want(t, b.Get("/sign-in"), http.StatusOK, "Forgot your password?")
		want(t, b.Submit(b.Get("/forgot"), "/forgot", webtest.Values("login", "Maria")), http.StatusOK, "Check your email")
		path := p.link(t, s, "maria@people.example", resetSubject)
		page := b.Get(path)
		want(t, page, http.StatusOK, "Choose a new password", "maria")
		want(t, b.Submit(page, "/reset", webtest.Values("new_password", "short")), http.StatusUnprocessableEntity, "Use 10 to 256 characters.")
		want(t, b.Submit(page, "/reset", webtest.Values("new_password", "Password2024!", "repeat_password", "Password2024!")), http.StatusUnprocessableEntity, "easy to guess")
		want(t, b.Submit(page, "/reset", webtest.Values("new_password", "the maria one", "repeat_password", "the maria one")), http.StatusUnprocessableEntity, "username")
		change := webtest.Values("new_password", newPassword, "repeat_password", newPassword)
		answer := b.Submit(page, "/reset", change)
		wantRedirect(t, answer, "/sign-in?done=reset")
		want(t, b.Follow(answer), http.StatusOK, "Your password is changed")
		if isSignedIn(signedIn) {
			t.Error("a session still works")
		}
		want(t, b.Submit(page, "/reset", change), http.StatusNotFound, "This link has expired")
		want(t, b.Get(path), http.StatusNotFound, "This link has expired")
		want(t, signIn(b, "maria", webtest.Password, ""), http.StatusForbidden)
		wantRedirect(t, signIn(b, "maria", newPassword, ""), "/")
		want(t, b.Get("/settings/security"), http.StatusOK, "maria@people.example confirmed")
		p.link(t, s, "maria@people.example", changedSubject)
	})
}

func TestResetLinkEnds(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		s.Member(t, "maria")
		b := s.Browser(t)
		b.Submit(b.Get("/forgot"), "/forgot", webtest.Values("login", "maria@people.example"))
		path := p.link(t, s, "maria@people.example", resetSubject)
		page := b.Get(path)
		s.Clock.Advance(30 * time.Minute)
		want(t, b.Get(path), http.StatusNotFound, "This link has expired")
		want(t, b.Submit(page, "/reset", webtest.Values("new_password", newPassword, "repeat_password", newPassword)), http.StatusNotFound)
		want(t, b.Get("/verify"+path[len("/reset"):]), http.StatusNotFound)
	})
}

func TestVerifyLinksEnd(t *testing.T) {
	t.Parallel()
	p, options := withMail(t)
	s := webtest.New(t, options)
	member, newby := s.SignedIn(t, "maria"), s.Browser(t)
	member.Submit(member.Get("/settings/security"), "/settings/security/verify", nil)
	verify := p.link(t, s, "maria@people.example", verifySubject)
	newby.Submit(newby.Get("/sign-up"), "/sign-up", signUpForm("newby"))
	finish := p.link(t, s, "newby@people.example", finishSubject)
	verifyPage, finishPage := member.Get(verify), newby.Get(finish)
	s.Clock.Advance(30*time.Minute - time.Second)
	want(t, member.Get(verify), http.StatusOK, "Confirm your e-mail address")
	want(t, newby.Get(finish), http.StatusOK, "Finish your account")
	s.Clock.Advance(time.Second)
	for _, c := range []struct {
		who  *webtest.Browser
		path string
		page *webtest.Page
	}{{member, verify, verifyPage}, {newby, finish, finishPage}} {
		want(t, c.who.Get(c.path), http.StatusNotFound, "This link has expired")
		want(t, c.who.Submit(c.page, "/verify", nil), http.StatusNotFound, "This link has expired")
	}
	want(t, member.Get("/settings/security"), http.StatusOK, "not confirmed")
	if _, err := account.FindMember(t.Context(), s.Store, "newby"); !fault.Is(err, fault.NotFound) {
		t.Errorf("the member was created: %v", err)
	}
}

// Changing the password ends the links for resetting it.
func TestResetLinksEndWithThePassword(t *testing.T) {
	t.Parallel()
	p, options := withMail(t)
	s := webtest.New(t, options)
	s.Member(t, "maria")
	b := s.Browser(t)
	ask := func() string {
		b.Submit(b.Get("/forgot"), "/forgot", webtest.Values("login", "maria"))
		return p.link(t, s, "maria@people.example", resetSubject)
	}
	first, second := ask(), ask()
	again := webtest.Values("new_password", newPassword, "repeat_password", newPassword)
	wantRedirect(t, b.Submit(b.Get(first), "/reset", again), "/sign-in?done=reset")
	p.link(t, s, "maria@people.example", changedSubject)
	third := ask()
	wantRedirect(t, signIn(b, "maria", newPassword, ""), "/")
	again.Set("password", newPassword)
	wantRedirect(t, b.Submit(b.Get("/settings/security"), "/settings/security/password", again), "/settings/security?done=password-changed")
	for _, link := range []string{first, second, third} {
		want(t, b.Get(link), http.StatusNotFound, "This link has expired")
	}
}

// The page is the same for every login name, and only an existing member gets an email.
func TestForgotAnswersAllAlike(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, databaseURL string) {
		p, options := withMail(t)
		s := webtest.Start(t, databaseURL, options)
		for _, who := range []string{"maria", "suspended", "demo-one"} {
			s.Member(t, who)
		}
		statement(t, databaseURL, "UPDATE members SET suspended_at = created_at WHERE username = 'suspended'")
		statement(t, databaseURL, "UPDATE tenant_states SET read_only = TRUE WHERE tenant_id = (SELECT id FROM members WHERE username = 'demo-one')")
		b := s.Browser(t)
		page := b.Get("/forgot")
		bodies := map[string]bool{}
		for _, login := range []string{"maria", "nobody", "suspended", "demo-one", "demo-one@people.example", "nobody@people.example", "", "@"} {
			answer := b.Submit(page, "/forgot", webtest.Values("login", login))
			want(t, answer, http.StatusOK)
			bodies[answer.Body] = true
		}
		if len(bodies) != 1 {
			t.Errorf("%d different pages", len(bodies))
		}
		if n := p.settle(t); n != 1 {
			t.Errorf("%d emails", n)
		}
	})
}

func TestEmailsAreBounded(t *testing.T) {
	t.Parallel()
	p, options := withMail(t)
	s := webtest.New(t, options)
	s.Member(t, "maria")
	b := s.Browser(t)
	page := b.Get("/forgot")
	for range 8 {
		want(t, b.Submit(page, "/forgot", webtest.Values("login", "maria")), http.StatusOK, "Check your email")
	}
	if n := p.settle(t); n != 5 {
		t.Errorf("%d emails within an hour", n)
	}
	want(t, b.Submit(page, "/forgot", webtest.Values("login", "maria")), http.StatusServiceUnavailable, "cannot send mail")
}

func TestForgotIsLimited(t *testing.T) {
	t.Parallel()
	_, options := withMail(t)
	mailOn := options.Web
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) {
		mailOn(c)
		c.Login = &account.RatePolicy{Quota: 2, Window: time.Minute}
	}})
	b := s.Browser(t)
	page := b.Get("/forgot")
	for range 2 {
		want(t, b.Submit(page, "/forgot", webtest.Values("login", "x")), http.StatusOK)
	}
	want(t, b.Submit(page, "/forgot", webtest.Values("login", "x")), http.StatusTooManyRequests)
}

func TestVerifyByMail(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		b := s.SignedIn(t, "maria")
		page := b.Get("/settings/security")
		want(t, page, http.StatusOK, "maria@people.example not confirmed")
		answer := b.Submit(page, "/settings/security/verify", nil)
		wantRedirect(t, answer, "/settings/security?done=verify-sent")
		path := p.link(t, s, "maria@people.example", verifySubject)
		for range 3 { // mail programs open links before people do
			want(t, s.Browser(t).Get(path), http.StatusOK, "maria@people.example")
		}
		want(t, b.Get("/settings/security"), http.StatusOK, "not confirmed")
		other := s.Browser(t)
		wantRedirect(t, other.Submit(other.Get(path), "/verify", nil), "/sign-in?done=verified")
		want(t, b.Get("/settings/security"), http.StatusOK, "maria@people.example confirmed")
		want(t, b.Get(path), http.StatusNotFound, "This link has expired")
		if strings.Contains(b.Get("/settings/security").Text(), "Send me a link") {
			t.Error("a confirmed address is offered to be confirmed")
		}
	})
}

// chosenPassword fills in the fields of a new password.
func chosenPassword() url.Values {
	return webtest.Values("new_password", newPassword, "repeat_password", newPassword)
}

func TestSignUpByMail(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		b := s.Browser(t)
		page := b.Get("/sign-up?" + webtest.Values("return_to", "/settings/mcp").Encode())
		want(t, b.Submit(page, "/sign-up", signUpForm("newby")), http.StatusOK, "Check your email")
		if isSignedIn(b) {
			t.Error("signed in before the address is verified")
		}
		if _, err := account.FindMember(t.Context(), s.Store, "newby"); err == nil {
			t.Error("the member already exists")
		}
		path := p.link(t, s, "newby@people.example", finishSubject)
		finish := b.Get(path)
		want(t, finish, http.StatusOK, "Finish your account", "newby@people.example")
		wantRedirect(t, b.Submit(finish, "/verify", chosenPassword()), "/settings/mcp")
		want(t, b.Get("/settings/security"), http.StatusOK, "newby@people.example confirmed")
		want(t, b.Get(path), http.StatusNotFound, "This link has expired")
		late := s.Browser(t)
		wantRedirect(t, signIn(late, "newby", newPassword, ""), "/")
		late = s.Browser(t)
		form := merge(finish.Form("/verify"), chosenPassword(), webtest.Values("form_token", tokenOf(late.Get("/sign-in")), "username", "again"))
		want(t, late.Post("/verify", form), http.StatusNotFound, "This link has expired")
	})
}

// While sign-up is closed, a link that was sent before does not create a member.
func TestSignUpClosedWhileALinkWaits(t *testing.T) {
	t.Parallel()
	p, options := withMail(t)
	closed, open := false, options.Web
	databaseURL := filepath.Join(t.TempDir(), "kith.db")
	if _, err := db.Migrate(t.Context(), db.Config{URL: databaseURL}); err != nil {
		t.Fatal(err)
	}
	options.Web = func(c *web.Config) { open(c); c.SignUpOpen = !closed }
	before := webtest.Start(t, databaseURL, options)
	closed = true
	after := webtest.Start(t, databaseURL, options)
	b := before.Browser(t)
	b.Submit(b.Get("/sign-up"), "/sign-up", signUpForm("newby"))
	path := p.link(t, before, "newby@people.example", finishSubject)
	form := b.Get(path).Form("/verify")
	late := after.Browser(t)
	want(t, late.Get(path), http.StatusForbidden, "Sign-up is closed")
	form.Set("form_token", tokenOf(late.Get("/sign-in")))
	want(t, late.Post("/verify", form), http.StatusForbidden, "Sign-up is closed")
	if _, err := account.FindMember(t.Context(), after.Store, "newby"); !fault.Is(err, fault.NotFound) {
		t.Errorf("the member was created: %v", err)
	}
}

// The response to a sign-up does not reveal whether the address or the username is
// taken.
func TestSignUpByMailAnswersAllAlike(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		s.Member(t, "taken")
		b := s.Browser(t)
		page := b.Get("/sign-up")
		free := b.Submit(page, "/sign-up", signUpForm("newby"))
		finish := p.link(t, s, "newby@people.example", finishSubject)
		address := b.Submit(page, "/sign-up", merge(signUpForm("another"), webtest.Values("email", "taken@people.example")))
		if path := p.link(t, s, "taken@people.example", "You have a Kith account already"); path != "/sign-in" {
			t.Errorf("it redirects to %s", path)
		}
		username := b.Submit(page, "/sign-up", merge(signUpForm("taken"), webtest.Values("email", "third@people.example")))
		takenName := p.link(t, s, "third@people.example", finishSubject)
		if free.Status != http.StatusOK || free.Body != address.Body || free.Body != username.Body || address.Status != 200 || username.Status != 200 {
			t.Errorf("%s\n%s\n%s", free.Text(), address.Text(), username.Text())
		}
		p1 := b.Get(takenName)
		want(t, b.Submit(p1, "/verify", chosenPassword()), http.StatusUnprocessableEntity, "Somebody has this username already. Choose another.")
		want(t, b.Submit(p1, "/verify", webtest.Values("username", "x")), http.StatusUnprocessableEntity, "Use 3 to 30")
		wantRedirect(t, b.Submit(p1, "/verify", merge(chosenPassword(), webtest.Values("username", "free-one"))), "/settings/profile?done=welcome")
		b = s.Browser(t)
		p2 := b.Get(finish)
		if err := account.DeleteMember(t.Context(), s.Store, s.SignedIn(t, "gone").Owner); err != nil {
			t.Fatal(err)
		}
		wantRedirect(t, b.Submit(p2, "/verify", chosenPassword()), "/settings/profile?done=welcome")
	})
}

func TestWithoutMail(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	want(t, b.Get("/forgot"), http.StatusNotFound, "This server can’t send mail")
	form := url.Values{"form_token": {tokenOf(b.Get("/settings/security"))}}
	want(t, b.Post("/settings/security/verify", form), http.StatusNotFound, "This server can’t send mail")
	anonymous := s.Browser(t)
	page := anonymous.Get("/sign-in")
	if strings.Contains(page.Text(), "Forgotten") {
		t.Error("the sign-in page offers an email")
	}
	want(t, anonymous.Post("/forgot", url.Values{"form_token": {tokenOf(page)}}), http.StatusNotFound, "This server can’t send mail")
}

// Emails are in the language of the member, and to visitors in that of their browser.
func TestEmailsInGerman(t *testing.T) {
	t.Parallel()
	p, options := withMail(t)
	s := webtest.Start(t, dbtest.SQLite(t), options)
	b := s.SignedIn(t, "maria")
	want(t, b.Follow(b.Submit(b.Get("/settings/time"), "/settings/time", webtest.Values("locale", "de-DE"))), http.StatusOK, "gespeichert")
	visitor := s.Browser(t)
	visitor.Submit(visitor.Get("/forgot"), "/forgot", webtest.Values("login", "maria"))
	email := p.Next(t)
	for isNotice(t, email) {
		email = p.Next(t)
	}
	decoded, err := new(mime.WordDecoder).DecodeHeader(email.Header.Get("Subject"))
	if err != nil || decoded != "Wähle ein neues Passwort für Kith" {
		t.Errorf("the subject is %q, %v", decoded, err)
	}
	text, html := email.Parts(t)
	for _, words := range []string{"hat das Passwort des Kith-Kontos maria vergessen", "Der Link gilt einmal, 30 Minuten lang.", "Neues Passwort wählen", "Ohne den Link geschieht nichts."} {
		if !strings.Contains(text, words) || !strings.Contains(html, words) {
			t.Errorf("no %q in:\n%s\n%s", words, text, html)
		}
	}
	if !strings.Contains(html, `lang="de"`) {
		t.Errorf("the language of the email: %s", html)
	}
}
