package web_test

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web"
	"github.com/kith-crm/kith/backend/internal/web/webtest"
)

const (
	securityPage = "/settings/security"
	emailForm    = "/settings/security/email"
	confirmForm  = "/settings/security/email/confirm"

	askedSubject        = "A new e-mail address for your Kith account"
	confirmSubject      = "Confirm your new e-mail address for Kith"
	emailChangedSubject = "Your Kith e-mail address was changed"
	takenSubject        = "This is the address of your Kith account"
)

// askChange asks to change the address of a signed-in member.
func askChange(b *webtest.Browser, address string) *webtest.Page {
	return b.Submit(b.Get(securityPage), emailForm, webtest.Values("new_email", address, "email_password", webtest.Password))
}

// changeLink asks to change maria's address, and returns the path of the mailed link. The
// emails may come in any order.
func (p post) changeLink(t *testing.T, s *webtest.Site, b *webtest.Browser, address string) string {
	t.Helper()
	wantRedirect(t, askChange(b, address), "/settings/security?done=email-asked")
	told, link := false, ""
	for !told || link == "" {
		email := p.Next(t)
		text, _ := email.Parts(t)
		switch subject := email.Header.Get("Subject"); {
		case subject == askedSubject && email.To == "maria@people.example":
			if told = !strings.Contains(text, address); !told {
				t.Fatalf("the old address is told the new one: %s", text)
			}
		case isNotice(t, email):
		case subject == confirmSubject && email.To == address:
			link = strings.TrimPrefix(linkPattern.FindString(text), s.URL)
		default:
			t.Errorf("an email to %s: %q", email.To, subject)
		}
	}
	if !told || !strings.HasPrefix(link, confirmForm+"?link=") {
		t.Fatalf("told the old address: %t, link to the new one: %q", told, link)
	}
	return link
}

// storedChange stores a link as if it had been mailed to the address, and returns its path.
func storedChange(t *testing.T, s *webtest.Site, owner tenant.ID, address string) string {
	t.Helper()
	secret := rand.Text()
	row := &account.MailLink{
		Hash: account.HashSecret(secret), MemberID: owner, Purpose: account.PurposeChange, Email: emailOf(t, s, owner), NewEmail: address,
	}
	if err := account.CreateMailLink(t.Context(), s.Store, row); err != nil {
		t.Fatal(err)
	}
	return confirmForm + "?link=" + secret
}

func emailOf(t *testing.T, s *webtest.Site, owner tenant.ID) string {
	t.Helper()
	m, err := account.GetMemberByID(t.Context(), s.Store, owner)
	if err != nil {
		t.Fatal(err)
	}
	return m.Email
}

func TestChangeEmail(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		b := s.SignedIn(t, "maria")
		second := s.BrowserOf(t, b.Owner)
		access := grantOf(t, s, b)
		path := p.changeLink(t, s, b, "new@people.example")
		for range 3 { // looking changes nothing
			want(t, b.Get(path), http.StatusOK, "Confirm your new e-mail address", "from maria@people.example to new@people.example")
		}
		if got := emailOf(t, s, b.Owner); got != "maria@people.example" {
			t.Fatalf("the address is %q before it is confirmed", got)
		}
		confirm, old := b.Get(path), b.Cookie("kith_session")
		answer := b.Submit(confirm, confirmForm, nil)
		wantRedirect(t, answer, "/settings/security?done=email-changed")
		want(t, b.Follow(answer), http.StatusOK, "Your e-mail address is changed", "new@people.example confirmed",
			"Changed the e-mail address", "Asked for another e-mail address")
		if isSignedIn(second) || b.Cookie("kith_session") == old {
			t.Error("another session still works, or this one kept its secret")
		}
		if _, err := oauth.Authenticate(t.Context(), s.Store, access); err != nil {
			t.Errorf("the agent lost its access: %v", err)
		}
		if link := p.link(t, s, "maria@people.example", emailChangedSubject); !strings.HasPrefix(link, notMePath) {
			t.Errorf("the old address is sent to %s", link)
		}
		want(t, b.Get(path), http.StatusNotFound, "This link has expired")
		form := confirm.Form(confirmForm)
		form.Set("form_token", tokenOf(b.Get(securityPage)))
		want(t, b.Post(confirmForm, form), http.StatusNotFound, "This link has expired")
		want(t, signIn(s.Browser(t), "maria@people.example", webtest.Password, ""), http.StatusForbidden)
		wantRedirect(t, signIn(s.Browser(t), "new@people.example", webtest.Password, ""), "/")
	})
}

func TestChangeEmailMistakesAreExplained(t *testing.T) {
	t.Parallel()
	p, options := withMail(t)
	s := webtest.New(t, options)
	b := s.SignedIn(t, "maria")
	page := b.Get(securityPage)
	for typed, words := range map[string]string{
		"maria":                           "“maria” is no e-mail address.",
		"":                                "is no e-mail address.",
		"MARIA@people.example":            "This is your address already.",
		"Maria <new@people.example>":      "is no e-mail address.",
		"a@b.example\r\nBcc: c@d.example": "is no e-mail address.",
	} {
		answer := b.Submit(page, emailForm, webtest.Values("new_email", typed, "email_password", "wrong"))
		want(t, answer, http.StatusUnprocessableEntity, strings.NewReplacer("“", `"`, "”", `"`).Replace(words), "This is not your password.")
		wantAtFields(t, answer, emailForm, map[string]string{"new_email": strings.ReplaceAll(typed, "\r\n", " "), "email_password": ""})
		if answer.ByID("password-error") != nil || answer.ByID("unlink_password-error") != nil {
			t.Error("another form shows the error")
		}
		checkPage(t, answer)
	}
	want(t, b.Submit(page, emailForm, webtest.Values("new_email", "new@people.example", "email_password", "")), http.StatusUnprocessableEntity, "This is not your password.")
	if n := p.settle(t); n != 0 {
		t.Errorf("%d emails", n)
	}
}

// The link alone changes nothing: neither a stranger who got it by a mistyped address, nor
// another member, can confirm it.
func TestChangeEmailNeedsItsMember(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		b, other, stranger := s.SignedIn(t, "maria"), s.SignedIn(t, "other"), s.Browser(t)
		path := p.changeLink(t, s, b, "stranger@people.example")
		form := b.Get(path).Form(confirmForm)
		want(t, other.Get(path), http.StatusNotFound, "This link has expired")
		want(t, other.Post(confirmForm, merge(form, webtest.Values("form_token", tokenOf(other.Get(securityPage))))), http.StatusNotFound, "This link has expired")
		refused := stranger.Get(path)
		want(t, refused, http.StatusForbidden, "Sign in first")
		_, secret, _ := strings.Cut(path, "link=")
		if strings.Contains(refused.Body, secret) || webtest.LinkTo(refused, "Sign in") != "/sign-in" {
			t.Error("the page passes the link on, or does not lead to sign in")
		}
		wantRedirect(t, stranger.Post(confirmForm, merge(form, webtest.Values("form_token", tokenOf(stranger.Get("/sign-in"))))), "/sign-in?return_to=%2Fsettings%2Fsecurity")
		for owner, address := range map[tenant.ID]string{b.Owner: "maria@people.example", other.Owner: "other@people.example"} {
			if got := emailOf(t, s, owner); got != address {
				t.Errorf("the address of %s is %q", owner, got)
			}
		}
		want(t, b.Get("/verify"+path[len(confirmForm):]), http.StatusNotFound, "This link has expired")
		want(t, b.Get("/reset"+path[len(confirmForm):]), http.StatusNotFound, "This link has expired")
		wantRedirect(t, b.Submit(b.Get(path), confirmForm, nil), "/settings/security?done=email-changed")
	})
}

func TestChangeEmailLinkEnds(t *testing.T) {
	t.Parallel()
	change := merge(chosenPassword(), webtest.Values("password", webtest.Password))
	for name, end := range map[string]func(t *testing.T, s *webtest.Site, p post, b *webtest.Browser){
		"after 30 minutes": func(t *testing.T, s *webtest.Site, _ post, b *webtest.Browser) {
			s.Clock.Advance(30 * time.Minute)
			*b = *s.BrowserOf(t, b.Owner) // who has just signed in
		},
		"with another password": func(t *testing.T, s *webtest.Site, p post, b *webtest.Browser) {
			wantRedirect(t, b.Submit(b.Get(securityPage), "/settings/security/password", change), "/settings/security?done=password-changed")
			p.link(t, s, "maria@people.example", changedSubject)
		},
		"with a reset": func(t *testing.T, s *webtest.Site, p post, b *webtest.Browser) {
			if err := account.ReplacePassword(t.Context(), s.Store, b.Owner, "hash"); err != nil {
				t.Fatal(err)
			}
			*b = *s.BrowserOf(t, b.Owner)
		},
		"with another change": func(t *testing.T, s *webtest.Site, p post, b *webtest.Browser) {
			second := p.changeLink(t, s, b, "second@people.example")
			wantRedirect(t, b.Submit(b.Get(second), confirmForm, nil), "/settings/security?done=email-changed")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, options := withMail(t)
			s := webtest.New(t, options)
			b := s.SignedIn(t, "maria")
			path := p.changeLink(t, s, b, "new@people.example")
			form := b.Get(path).Form(confirmForm)
			end(t, s, p, b)
			want(t, b.Get(path), http.StatusNotFound, "This link has expired")
			form.Set("form_token", tokenOf(b.Get(securityPage)))
			want(t, b.Post(confirmForm, form), http.StatusNotFound, "This link has expired")
			if got := emailOf(t, s, b.Owner); got == "new@people.example" {
				t.Error("the address changed")
			}
		})
	}
}

// Only the owner of an address learns that it belongs to a member.
func TestChangeEmailAnswersAllAlike(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		b := s.SignedIn(t, "maria")
		s.Member(t, "taken")
		free, taken := askChange(b, "new@people.example"), askChange(b, "Taken@people.example")
		for _, answer := range []*webtest.Page{free, taken} {
			wantRedirect(t, answer, "/settings/security?done=email-asked")
		}
		if free.Body != taken.Body {
			t.Errorf("%s\n%s", free.Body, taken.Body)
		}
		var sent []string
		for range 4 {
			email := p.Next(t)
			text, _ := email.Parts(t)
			sent = append(sent, email.To+" "+email.Header.Get("Subject"))
			if email.To == "taken@people.example" && strings.Contains(text, "link=") {
				t.Error("the owner of the address is sent a link that confirms it")
			}
		}
		slices.Sort(sent)
		asked := "maria@people.example " + askedSubject
		if expected := []string{asked, asked, "new@people.example " + confirmSubject, "taken@people.example " + takenSubject}; !slices.Equal(sent, expected) {
			t.Errorf("sent: %v", sent)
		}
	})
}

func TestChangeEmailTakenMeanwhile(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		b := s.SignedIn(t, "maria")
		second := s.BrowserOf(t, b.Owner)
		confirm := b.Get(p.changeLink(t, s, b, "late@people.example"))
		s.Member(t, "late")
		want(t, b.Submit(confirm, confirmForm, nil), http.StatusConflict, "This address belongs to another account")
		if got := emailOf(t, s, b.Owner); got != "maria@people.example" || !isSignedIn(second) {
			t.Errorf("the address is %q, or a session ended", got)
		}
	})
}

// Two confirmations at the same time: one changes the address, and the other does nothing.
func TestChangeEmailTwiceAtOnce(t *testing.T) {
	t.Parallel()
	eachWithMail(t, func(t *testing.T, s *webtest.Site, p post) {
		b := s.SignedIn(t, "maria")
		confirm := b.Get(p.changeLink(t, s, b, "new@people.example"))
		answers := make([]*webtest.Page, 4)
		var calls sync.WaitGroup
		for i := range answers {
			r := b.Request(http.MethodPost, confirmForm, confirm.Form(confirmForm))
			calls.Go(func() { answers[i] = b.Do(r) })
		}
		calls.Wait()
		changed := 0
		for _, answer := range answers {
			switch to := answer.Header.Get("Location"); {
			case to == "/settings/security?done=email-changed":
				changed++
			case answer.Status == http.StatusForbidden && strings.Contains(answer.Text(), "This form is out of date"):
				// It was sent with the new cookie of the first one, which renews the session.
			case answer.Status != http.StatusNotFound && !strings.HasPrefix(to, "/sign-in"): // the session ended by then
				t.Errorf("%d to %q: %s", answer.Status, to, answer.Text())
			}
		}
		if changed != 1 || emailOf(t, s, b.Owner) != "new@people.example" {
			t.Errorf("%d confirmations, and the address is %q", changed, emailOf(t, s, b.Owner))
		}
		p.link(t, s, "maria@people.example", emailChangedSubject)
		if n := p.settle(t); n != 0 {
			t.Errorf("%d more emails", n)
		}
	})
}

func TestChangeEmailPasswordIsLimited(t *testing.T) {
	t.Parallel()
	p, options := withMail(t)
	mailOn := options.Web
	s := webtest.New(t, webtest.Options{Web: func(c *web.Config) {
		mailOn(c)
		c.Login = &account.RatePolicy{Quota: 2, Window: time.Minute}
	}})
	b := s.SignedIn(t, "maria")
	page := b.Get(securityPage)
	for range 2 {
		want(t, b.Submit(page, emailForm, webtest.Values("new_email", "new@people.example", "email_password", "wrong")), http.StatusUnprocessableEntity)
	}
	want(t, askChange(b, "new@people.example"), http.StatusTooManyRequests)
	if n := p.settle(t); n != 0 {
		t.Errorf("%d emails", n)
	}
}

func TestChangeEmailWhileMailIsDown(t *testing.T) {
	t.Parallel()
	p, options := withMail(t)
	s := webtest.New(t, options)
	b := s.SignedIn(t, "maria")
	p.mailer.Stop(t.Context())
	want(t, askChange(b, "new@people.example"), http.StatusServiceUnavailable, "Kith cannot send mail right now")
	if kinds := b.Get(securityPage).Text(); strings.Contains(kinds, "asked for") {
		t.Error("an event says that it was asked for")
	}
}

func TestChangeEmailWithoutMail(t *testing.T) {
	t.Parallel()
	s := webtest.New(t, webtest.Options{})
	b := s.SignedIn(t, "maria")
	page := b.Get(securityPage)
	want(t, page, http.StatusOK, "this server can’t send mail.")
	if len(page.Forms(emailForm)) != 0 {
		t.Error("there is a form that cannot work")
	}
	want(t, b.Post(emailForm, webtest.Values("form_token", tokenOf(page), "new_email", "new@people.example", "email_password", webtest.Password)),
		http.StatusNotFound, "This server can’t send mail", "Its owner can set up mail")
}
