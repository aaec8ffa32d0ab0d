package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// providerCookie binds sign-ins at the identity provider to their browser. It is separate
// from the form's cookie, which ends when the first tab signs in.
const providerCookie = "kith_provider"

// Provider is an identity provider that members can also sign in with; *signin.Provider
// is one.
type Provider interface {
	// Name is the name of the provider on buttons.
	Name() string
	// Issuer is the provider's address.
	Issuer() string
	// Begin returns the address to send the browser to, and what to store until it
	// comes back to redirectURI. It fails with fault.Unavailable.
	Begin(ctx context.Context, redirectURI string) (address string, a *signin.Attempt, err error)
	// Finish checks the response that the browser brought and returns who signed in. It
	// fails with fault.Unavailable, and with fault.Unauthenticated if the response is
	// not the expected one.
	Finish(ctx context.Context, a *signin.Attempt, answer url.Values) (*signin.Identity, error)
}

func (v *request) noProvider() error {
	return page.Refuse(http.StatusNotFound, "There is no other way to sign in here", "Sign in with your password.")
}

// providerName returns the name of the provider; empty if there is none.
func (web *Web) providerName() string {
	if web.Provider == nil {
		return ""
	}
	return web.Provider.Name()
}

// goToProvider sends the browser to the provider. It may come back within 10 minutes,
// from several tabs: each has its own attempt, and all belong to one cookie, which
// outlives the sign-in of the first.
func (v *request) goToProvider() error {
	if v.Provider == nil {
		return v.noProvider()
	}
	if err := v.attempt(v.addressLimit("provider")); err != nil {
		return err
	}
	back := page.LocalPath(v.R.PostForm.Get(page.ReturnParameter))
	address, a, err := v.Provider.Begin(v.R.Context(), v.BaseURL+pathProviderCallback)
	if err != nil {
		return v.providerFailed(err, back)
	}
	browser := v.CookieSecret(v.R, providerCookie)
	if browser == "" {
		if browser, err = account.NewSecret(""); err != nil {
			return err
		}
	}
	a.BrowserHash, a.ReturnTo = account.HashSecret(browser), back
	if err := signin.CreateProviderAttempt(v.R.Context(), v.Store, a); err != nil {
		return err
	}
	v.SetCookie(v.W, providerCookie, browser, signin.AttemptLifetime)
	return v.Redirect(address)
}

// comeFromProvider handles the provider's response. It signs in a linked identity, after the
// member's second factor if they have one: the provider stands for the password only. For
// any other identity with a verified address it asks for a password, whether or not a
// member has that address.
func (v *request) comeFromProvider() error {
	if v.Provider == nil {
		return v.noProvider()
	}
	ctx, answer, browser := v.R.Context(), v.R.URL.Query(), v.CookieSecret(v.R, providerCookie)
	a, err := signin.UseProviderAttempt(ctx, v.Store, account.HashSecret(answer.Get("state")), account.HashSecret(browser))
	if fault.Is(err, fault.NotFound) {
		return v.attemptOver()
	}
	if err != nil {
		return err
	}
	who, err := v.Provider.Finish(ctx, a, answer)
	if err != nil {
		return v.providerFailed(err, a.ReturnTo)
	}
	link, err := signin.UseIdentity(ctx, v.Store, who.Issuer, who.Subject)
	switch {
	case fault.Is(err, fault.NotFound):
		return v.waitForPassword(a, who, browser)
	case err != nil:
		return err
	}
	if asked, err := v.askSecondFactor(account.Access{Owner: link.MemberID, Epoch: link.AccessEpoch}, account.SignInStep{ReturnTo: a.ReturnTo}); asked || err != nil {
		return err
	}
	m, err := account.GetMemberByID(ctx, v.Store, link.MemberID)
	if err != nil {
		return err
	}
	m.AccessEpoch = link.AccessEpoch // of when the identity was checked
	if err := v.signInAs(m); err != nil {
		return err
	}
	return v.Redirect(orStart(page.LocalPath(a.ReturnTo)))
}

// waitForPassword stores the identity from the provider, and leads to the page that
// asks for the password of the member with that email address.
func (v *request) waitForPassword(a *signin.Attempt, who *signin.Identity, browser string) error {
	email, err := account.CheckEmail(who.Email)
	if err != nil || !who.EmailVerified {
		return v.renderOver(http.StatusForbidden, v.Provider.Name()+" has not confirmed your e-mail address, so Kith cannot find your account by it. "+
			"Confirm the address there and try again, or sign in with your password.", a.ReturnTo)
	}
	secret, err := account.NewSecret("")
	if err != nil {
		return err
	}
	waiting := &signin.Attempt{
		Hash: account.HashSecret(secret), BrowserHash: a.BrowserHash, Issuer: who.Issuer, Subject: who.Subject, Email: email, ReturnTo: a.ReturnTo,
	}
	if err := signin.CreateProviderAttempt(v.R.Context(), v.Store, waiting); err != nil {
		return err
	}
	v.SetCookie(v.W, providerCookie, browser, signin.AttemptLifetime)
	return v.Redirect(pathProviderLink + "?" + url.Values{fieldLink: {secret}}.Encode())
}

// overContent is the content of the page for a failed sign-in at the provider.
type overContent struct {
	Text string
	// SignIn is the address to start again from.
	SignIn string
}

func (v *request) renderOver(status int, text, back string) error {
	return v.Render(status, "provider-over", page.Page{Title: "This sign-in did not work", Content: overContent{Text: text, SignIn: v.SignIn(back)}})
}

// attemptOver answers an attempt that was used, has expired, began in another browser
// or never existed, always in the same way.
func (v *request) attemptOver() error {
	return v.renderOver(http.StatusBadRequest, "Signing in with "+v.Provider.Name()+
		" has to end in the browser where it began, once, within 10 minutes. Begin again.", "")
}

// providerFailed reports an outage of the provider, or an invalid response from it.
func (v *request) providerFailed(err error, back string) error {
	name := v.Provider.Name()
	switch {
	case fault.Is(err, fault.Unavailable):
		v.Logger.WarnContext(v.R.Context(), "identity provider unavailable", "issuer", v.Provider.Issuer(), "error", errors.Unwrap(err))
		v.W.Header().Set("Retry-After", "5")
		return v.renderOver(http.StatusServiceUnavailable, name+" cannot be reached right now. Try again in a moment, or sign in with your password.", back)
	case fault.Is(err, fault.Unauthenticated):
		v.Logger.WarnContext(v.R.Context(), "identity provider's answer refused", "issuer", v.Provider.Issuer(), "error", errors.Unwrap(err))
		return v.renderOver(http.StatusForbidden, "Signing in with "+name+" did not work. Try again, or sign in with your password.", back)
	}
	return err
}
