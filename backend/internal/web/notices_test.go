package web_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const (
	newDeviceSubject  = "New sign-in to your Kith account"
	newTokenSubject   = "A new token for your Kith account"
	newAgentSubject   = "A new agent has access to your Kith account"
	exportSubject     = "Data of your Kith account was downloaded"
	takenBackSubject  = "Your Kith account has its previous e-mail address again"
	objectSubject     = "Your Kith account is to get its previous e-mail address back"
	opensAgainSubject = "How your Kith account gets this e-mail address back"
	disputedSubject   = "Your Kith account waits for a decision"
	failedSubject     = "Failed sign-ins to your Kith account"
)

// storedNotMe stores a link as if it had been mailed to the member, and returns its secret.
func storedNotMe(t *testing.T, s *webtest.Site, owner tenant.ID) string {
	t.Helper()
	secret, err := account.CreateNotMeLink(t.Context(), s.Store, owner, emailOf(t, s, owner))
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// If an attacker has the password, the member gets a notice of each act. The link in it ends all
// access.
func TestNotMe(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		owner := s.SignedIn(t, "maria")
		other := s.SignedIn(t, "other")
		thief := s.Browser(t)
		wantRedirect(t, signInWith(thief, "maria", safari), "/")
		old := p.link(t, s, "maria@people.example", newDeviceSubject)
		made := makeToken(t, thief, webtest.Values("name", "thiefs"))
		bearer := webtest.TextOf(made.ByID("made-token"))
		p.link(t, s, "maria@people.example", newTokenSubject)
		access := grantOf(t, s, thief)
		p.link(t, s, "maria@people.example", newAgentSubject)
		want(t, thief.Get("/settings/account/export"), http.StatusOK)
		p.link(t, s, "maria@people.example", exportSubject)
		thief.Owner = owner.Owner
		thief.Submit(thief.Get(p.changeLink(t, s, thief, "thief@people.example")), confirmForm, nil)
		link := p.link(t, s, "maria@people.example", emailChangedSubject)

		reader := s.Browser(t)
		want(t, reader.Get(old), http.StatusOK, "It stays as it is")
		for range 3 { // looking changes nothing
			want(t, reader.Get(link), http.StatusOK, "Was this not you?", "maria", "becomes maria@people.example again")
		}
		if !isSignedIn(thief) {
			t.Fatal("looking ended the session")
		}
		page := reader.Get(link)
		want(t, reader.Post(notMePath, webtest.Values("link", page.Form(notMePath).Get("link"))), http.StatusForbidden, "This form is out of date")
		waiting := reader.Follow(reader.Submit(page, notMePath, nil))
		want(t, waiting, http.StatusOK, "Get your account back", "All access is ended", "thief@people.example, the address that the account has now, was told")
		if isSignedIn(thief) || isSignedIn(owner) || !isSignedIn(other) {
			t.Error("a session of the member goes on, or another member's ended")
		}
		for name, token := range map[string]string{"the token": bearer, "the agent": access} {
			if _, err := oauth.Authenticate(t.Context(), s.Store, token); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, login := range []string{"maria", "maria@people.example", "thief@people.example"} {
			want(t, signIn(s.Browser(t), login, webtest.Password, ""), http.StatusForbidden, "do not belong together")
		}
		objection := p.link(t, s, "thief@people.example", objectSubject)
		want(t, reader.Get(objection), http.StatusOK, "Was the change of address yours?", "The account keeps thief@people.example")
		if again := p.link(t, s, "maria@people.example", opensAgainSubject); again != link {
			t.Errorf("the email about the wait links to %s", again)
		}
		want(t, thief.Submit(thief.Get("/forgot"), "/forgot", webtest.Values("login", "thief@people.example")), http.StatusOK, "Check your email")
		thief.Submit(thief.Get("/forgot"), "/forgot", webtest.Values("login", "other@people.example"))
		p.link(t, s, "other@people.example", resetSubject) // the one before was decided on before it
		want(t, reader.Follow(reader.Submit(page, notMePath, nil)), http.StatusOK, "All access is ended")
		s.Clock.Advance(account.RestoreWait)
		page = reader.Get(link)
		want(t, page, http.StatusOK, "Get your account back", "becomes maria@people.example again.")
		wantRedirect(t, reader.Submit(page, notMePath, nil), "/sign-in?done=not-me")
		want(t, reader.Submit(page, notMePath, nil), http.StatusNotFound, "This link has expired")
		want(t, reader.Get(link), http.StatusNotFound, "This link has expired")
		want(t, reader.Get(objection), http.StatusNotFound, "This link has expired", "previous e-mail address again")
		if got := emailOf(t, s, owner.Owner); got != "maria@people.example" {
			t.Errorf("the address is %s", got)
		}
		told := p.Next(t) // nothing was sent for the thief's forgotten password
		text, _ := told.Parts(t)
		if told.To != "thief@people.example" || told.Header.Get("Subject") != takenBackSubject || linkPattern.MatchString(text) {
			t.Errorf("an email to %s: %q\n%s", told.To, told.Header.Get("Subject"), text)
		}
		reset := p.link(t, s, "maria@people.example", resetSubject)
		reader.Submit(reader.Get(reset), "/reset", webtest.Values("new_password", newPassword, "repeat_password", newPassword))
		wantRedirect(t, signIn(reader, "maria", newPassword, ""), "/")
		want(t, reader.Get(securityPage), http.StatusOK, "Said “this was not me”: all access ended", "Signed in on a new device", "Safari on iPhone")
	})
}

// The present address can object: then nobody gets access by email, and the operator decides.
func TestObjection(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		b := s.SignedIn(t, "maria")
		b.Submit(b.Get(p.changeLink(t, s, b, "new@people.example")), confirmForm, nil)
		link := p.link(t, s, "maria@people.example", emailChangedSubject)
		stranger := s.Browser(t) // reads maria's old mailbox
		stranger.Submit(stranger.Get(link), notMePath, nil)
		objection := p.link(t, s, "new@people.example", objectSubject)
		p.link(t, s, "maria@people.example", opensAgainSubject)
		page := b.Get(objection)
		want(t, b.Post(objectPath, webtest.Values("link", page.Form(objectPath).Get("link"))), http.StatusForbidden, "This form is out of date")
		for range 2 {
			want(t, b.Follow(b.Submit(page, objectPath, nil)), http.StatusOK, "The owner of this server decides", "the account keeps new@people.example for now")
		}
		if told := p.Next(t); told.To != "maria@people.example" || told.Header.Get("Subject") != disputedSubject {
			t.Errorf("an email to %s: %q", told.To, told.Header.Get("Subject"))
		}
		s.Clock.Advance(account.RestoreWait)
		want(t, stranger.Get(link), http.StatusConflict, "Ask the owner of this server")
		want(t, stranger.Get(objection), http.StatusOK, "Ask the owner of this server")
		for _, login := range []string{"maria", "new@people.example"} {
			want(t, b.Submit(b.Get("/forgot"), "/forgot", webtest.Values("login", login)), http.StatusOK, "Check your email")
		}
		if n := p.settle(t); n != 0 {
			t.Errorf("%d emails for a forgotten password while the address is disputed", n)
		}
		if got := emailOf(t, s, b.Owner); got != "new@people.example" {
			t.Errorf("the address is %s", got)
		}
	})
}

// Many failed sign-ins cause one email, and many events only a few.
func TestNoticesAreLimited(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		b := s.SignedIn(t, "maria")
		stranger := s.Browser(t)
		for range 3 * account.ManyFailures {
			want(t, signIn(stranger, "maria", "wrong-password-x", ""), http.StatusForbidden)
		}
		p.link(t, s, "maria@people.example", failedSubject)
		for range 12 {
			makeToken(t, b, webtest.Values("name", "script"))
		}
		if n := p.settle(t); n != 5 {
			t.Errorf("%d emails about twelve tokens", n)
		}
	})
}

// fullQueue is a mailer that takes no email.
type fullQueue struct{}

func (fullQueue) Enqueue(mail.Write) bool { return false }

func (fullQueue) Send(context.Context, *mail.Message) error { return errors.New("no server") }

// An action succeeds even if the email about it can't be sent.
func TestFailingMailLosesNothing(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) { c.Mailer = fullQueue{} }})
	s.Member(t, "maria")
	b := s.Browser(t)
	wantRedirect(t, signIn(b, "maria", webtest.Password, ""), "/")
	made := makeToken(t, b, webtest.Values("name", "mine"))
	if _, err := oauth.Authenticate(t.Context(), s.Store, webtest.TextOf(made.ByID("made-token"))); err != nil {
		t.Errorf("the token: %v", err)
	}
	b.Submit(b.Get(securityPage), "/settings/security/password", merge(chosenPassword(), webtest.Values("password", webtest.Password)))
	want(t, b.Get(securityPage), http.StatusOK, "Changed the password", "Made the personal token “mine”")
	m, err := account.FindMember(t.Context(), s.Store, "maria")
	if err != nil {
		t.Fatal(err)
	}
	secret := storedNotMe(t, s, m.ID)
	reader := s.Browser(t)
	wantRedirect(t, reader.Submit(reader.Get(notMePath+"?link="+secret), notMePath, nil), "/forgot?done=not-me-unsent")
	if isSignedIn(b) {
		t.Error("the session goes on")
	}
}

// A known browser is not a new device. After a change of the password, all other browsers are new.
func TestNewDevices(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		s.Member(t, "maria")
		b := s.Browser(t)
		for range 3 {
			wantRedirect(t, signIn(b, "maria", webtest.Password, ""), "/")
			b.Submit(b.Get(securityPage), "/sign-out", nil)
		}
		wantRedirect(t, signInWith(s.Browser(t), "maria", firefox), "/")
		if n := p.settle(t); n != 2 {
			t.Errorf("%d emails about two new browsers", n)
		}
		first, second := p.Next(t), p.Next(t)
		text, _ := second.Parts(t)
		if first.Header.Get("Subject") != newDeviceSubject || !strings.Contains(text, "Firefox on Linux") || !strings.Contains(text, "the network 127.0.0.0/24") {
			t.Errorf("%q, then %s", first.Header.Get("Subject"), text)
		}
	})
}
