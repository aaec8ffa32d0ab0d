package web

import (
	"context"
	"net/http"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// signUpContent is the content of the sign-up page.
type signUpContent struct {
	Fields   []page.Field
	ReturnTo string
	// SignIn is the address at which members sign in; it leads back here.
	SignIn string
}

// signUpForm is the form of a person who wants to become a member. It asks for the
// password only if no mail is sent.
type signUpForm struct{ username, email, password, returnTo string }

func (v *request) showSignUp() error {
	back := page.LocalPath(v.R.URL.Query().Get(page.ReturnParameter))
	if v.Login != nil {
		return v.Redirect(orStart(back))
	}
	if !v.SignUpOpen {
		return v.signUpClosed()
	}
	return v.renderSignUp(http.StatusOK, signUpForm{returnTo: back}, &page.Mistakes{})
}

func (v *request) signUpClosed() error {
	return page.Refuse(http.StatusForbidden, "Sign-up is closed", "The owner of this server creates accounts. Ask them for one.")
}

func (v *request) renderSignUp(status int, f signUpForm, m *page.Mistakes) error {
	fields := []page.Field{
		usernameField(f.username, m),
		{Name: fieldEmail, Label: "E-mail address", Kind: "email", Value: f.email, Autocomplete: "email", Required: true, Plain: true, Error: m.Of(fieldEmail)},
	}
	if v.Mailer == nil {
		fields = append(fields, v.keepPassword("Password", f.password, m)...)
	}
	return v.Render(status, "sign-up", page.Page{Title: "Create your account", Errors: m.List, Content: signUpContent{
		Fields: fields, ReturnTo: f.returnTo, SignIn: page.WithReturn(page.PathSignIn, f.returnTo),
	}})
}

func usernameField(value string, m *page.Mistakes) page.Field {
	return page.Field{
		Name: fieldUsername, Label: "Username", Value: value, Autocomplete: "username", Required: true, Plain: true, Error: m.Of(fieldUsername),
		Hint: "3 to 30 lower-case letters, digits and hyphens. It is part of your page's address and stays yours.",
	}
}

func (v *request) signUp() error {
	if !v.SignUpOpen {
		return v.signUpClosed()
	}
	if err := v.attempt(v.addressLimit("sign-up")); err != nil {
		return err
	}
	f, m, err := v.readSignUp()
	if err != nil {
		return err
	}
	if len(m.List) > 0 {
		return v.renderSignUp(http.StatusUnprocessableEntity, f, m)
	}
	if v.Mailer != nil {
		return v.signUpByMail(f)
	}
	hash, err := v.hashPassword(f.password)
	if err != nil {
		return err
	}
	return v.signUpAtOnce(f, hash, m)
}

func (v *request) readSignUp() (signUpForm, *page.Mistakes, error) {
	f, m, err := v.readNames()
	if err != nil || v.Mailer != nil {
		return f, m, err
	}
	f.password, err = v.newPassword(m, f.username, f.email)
	return f, m, err
}

// readNames returns the form without the password, and what is wrong with it.
func (v *request) readNames() (signUpForm, *page.Mistakes, error) {
	m := &page.Mistakes{}
	f := signUpForm{username: v.Line(fieldUsername), email: v.Line(fieldEmail), returnTo: page.LocalPath(v.R.PostForm.Get(page.ReturnParameter))}
	if err := m.Take(fieldUsername, v.checkUsername(f.username)); err != nil {
		return f, m, err
	}
	address, err := account.CheckEmail(f.email)
	if err == nil {
		f.email = address
	}
	return f, m, m.Take(fieldEmail, err)
}

func (v *request) checkUsername(name string) error {
	if err := account.CheckUsername(name); err != nil {
		return err
	}
	if v.ReservedUsername(name) {
		return fault.InvalidField("username", "%q is reserved; choose another", name)
	}
	return nil
}

// signUpAtOnce creates the member and signs them in.
func (v *request) signUpAtOnce(f signUpForm, hash string, m *page.Mistakes) error {
	made := &account.Member{
		Username: f.username, Email: f.email, PasswordHash: hash, Plan: account.PlanFree, Timezone: "UTC", Locale: "en",
	}
	err := account.CreateMember(v.R.Context(), v.Store, made)
	if fault.Is(err, fault.AlreadyExists) {
		m.Add(fieldUsername, "Somebody has this username or e-mail address already.")
		return v.renderSignUp(http.StatusUnprocessableEntity, f, m)
	}
	if err != nil {
		return err
	}
	return v.welcome(made, f.returnTo)
}

// welcome signs a new member in, and leads back or to their profile.
func (v *request) welcome(m *account.Member, back string) error {
	if err := v.enter(m, account.SignedIn); err != nil {
		return err
	}
	if back = page.LocalPath(back); back != "" {
		return v.Redirect(back)
	}
	return v.RedirectDone(page.PathProfile, "welcome")
}

// signUpByMail sends a link to the address. Its response is the same whether or not the
// address or the username is taken: only the owner of the address learns that.
func (v *request) signUpByMail(f signUpForm) error {
	format := v.Format()
	return v.sendAndTell(f.email, func(ctx context.Context) (*mail.Message, error) {
		m, err := account.FindMember(ctx, v.Store, f.email)
		if err == nil {
			return v.emails.alreadyMember(m)
		}
		if !fault.Is(err, fault.NotFound) {
			return nil, err
		}
		secret, err := account.NewSecret("")
		if err != nil {
			return nil, err
		}
		row := &account.SignUp{Hash: account.HashSecret(secret), Username: f.username, Email: f.email, ReturnTo: f.returnTo}
		if err := account.CreateSignUp(ctx, v.Store, row); err != nil {
			return nil, err
		}
		return v.emails.finishSignUp(row, format, secret)
	})
}

// emailPolicy limits the emails to one recipient, from all clients together.
func emailPolicy() account.RatePolicy { return account.RatePolicy{Quota: 5, Window: time.Hour} }

// sendAndTell queues an email and shows the page that says so. Whether there is a
// recipient is looked up in the background, so that neither the page nor the response
// time reveals it.
func (v *request) sendAndTell(recipient string, write mail.Write) error {
	if !v.enqueue(recipient, write) {
		return page.Refuse(http.StatusServiceUnavailable, "Kith cannot send mail right now", "Try again in a few minutes.")
	}
	return v.Render(http.StatusOK, "mail-sent", page.Page{Title: "Check your email"})
}

func (v *request) enqueue(recipient string, write mail.Write) bool {
	store := v.Store
	return v.Mailer.Enqueue(func(ctx context.Context) (*mail.Message, error) {
		decision, err := account.SpendAttempts(ctx, store, account.Limit{Subject: account.Subject("email", recipient), Policy: emailPolicy()})
		if err != nil || !decision.Allowed {
			return nil, err
		}
		return write(ctx)
	})
}
