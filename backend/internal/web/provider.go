package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
)

// Provider is where members may sign in instead; *provider.Provider is one.
type Provider interface {
	// Name is what the provider is called on buttons.
	Name() string
	// Issuer is the provider's address.
	Issuer() string
	// Begin returns where the browser goes to sign in, and what to keep until it
	// comes back to redirectURI. It fails with fault.Unavailable.
	Begin(ctx context.Context, redirectURI string) (address string, a *signin.Attempt, err error)
	// Finish judges the answer that the browser brought and returns who signed in.
	// It fails with fault.Unavailable, and with fault.Unauthenticated when the
	// answer is not what was asked for.
	Finish(ctx context.Context, a *signin.Attempt, answer url.Values) (*signin.Identity, error)
}

func (v *request) noProvider() error {
	return refuse(http.StatusNotFound, "There is no other way to sign in here", "Sign in with your password.")
}

// providerName is what the provider is called; empty when there is none.
func (web *Web) providerName() string {
	if web.Provider == nil {
		return ""
	}
	return web.Provider.Name()
}

// goToProvider sends the browser to the provider. It may come back within 10
// minutes, from several tabs: each has an attempt of its own, and all belong to
// one cookie, which outlives the sign-in of the first.
func (v *request) goToProvider() error {
	if v.Provider == nil {
		return v.noProvider()
	}
	if err := v.attempt(v.addressLimit("provider")); err != nil {
		return err
	}
	back := localPath(v.r.PostForm.Get(returnParameter))
	address, a, err := v.Provider.Begin(v.r.Context(), v.BaseURL+pathProviderCallback)
	if err != nil {
		return v.providerFailed(err, back)
	}
	browser := v.cookieSecret(v.r, providerCookie)
	if browser == "" {
		if browser, err = account.NewSecret(""); err != nil {
			return err
		}
	}
	a.BrowserHash, a.ReturnTo = account.HashSecret(browser), back
	if err := signin.CreateProviderAttempt(v.r.Context(), v.Store, a); err != nil {
		return err
	}
	v.setCookie(v.w, providerCookie, browser, signin.AttemptLifetime)
	v.redirect(address)
	return nil
}

// comeFromProvider takes the provider's answer. Somebody who is linked is signed
// in; somebody else with a verified address is asked for a password, whether or
// not there is a member with that address.
func (v *request) comeFromProvider() error {
	if v.Provider == nil {
		return v.noProvider()
	}
	ctx, answer, browser := v.r.Context(), v.r.URL.Query(), v.cookieSecret(v.r, providerCookie)
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
	if err := v.begin(link.MemberID); err != nil {
		return err
	}
	v.record(account.SignedIn, link.MemberID, "")
	v.redirect(orProfile(localPath(a.ReturnTo)))
	return nil
}

// waitForPassword keeps who signed in at the provider, and leads to the page that
// asks for the password of the member whom their address names.
func (v *request) waitForPassword(a *signin.Attempt, who *signin.Identity, browser string) error {
	email, err := account.CheckEmail(who.Email)
	if err != nil || !who.EmailVerified {
		v.renderOver(http.StatusForbidden, v.Provider.Name()+" does not vouch for your e-mail address, which is how an account here would be found. "+
			"Confirm the address there and try again, or sign in with your password.", a.ReturnTo)
		return nil
	}
	secret, err := account.NewSecret("")
	if err != nil {
		return err
	}
	waiting := &signin.Attempt{
		Hash: account.HashSecret(secret), BrowserHash: a.BrowserHash, Issuer: who.Issuer, Subject: who.Subject, Email: email, ReturnTo: a.ReturnTo,
	}
	if err := signin.CreateProviderAttempt(v.r.Context(), v.Store, waiting); err != nil {
		return err
	}
	v.setCookie(v.w, providerCookie, browser, signin.AttemptLifetime)
	v.redirect(pathProviderLink + "?" + url.Values{fieldLink: {secret}}.Encode())
	return nil
}

// overContent is the content of the page on which a sign-in at the provider ends
// in vain.
type overContent struct {
	Text string
	// SignIn is where to begin again.
	SignIn string
}

func (v *request) renderOver(status int, text, back string) {
	v.render(status, "provider-over", page{Title: "This sign-in did not work", Content: overContent{Text: text, SignIn: v.SignIn(back)}})
}

// attemptOver answers whoever comes with an attempt that was used, is too old,
// began in another browser or was never made: the same to all of them.
func (v *request) attemptOver() error {
	v.renderOver(http.StatusBadRequest, "Signing in with "+v.Provider.Name()+
		" has to end in the browser where it began, once, within 10 minutes. Begin again.", "")
	return nil
}

// providerFailed tells of an outage of the provider, or that it, or what the
// browser brought from it, was not good enough.
func (v *request) providerFailed(err error, back string) error {
	name := v.Provider.Name()
	switch {
	case fault.Is(err, fault.Unavailable):
		v.Logger.WarnContext(v.r.Context(), "identity provider unavailable", "issuer", v.Provider.Issuer(), "error", errors.Unwrap(err))
		v.w.Header().Set("Retry-After", "5")
		v.renderOver(http.StatusServiceUnavailable, name+" cannot be reached right now. Try again in a moment, or sign in with your password.", back)
	case fault.Is(err, fault.Unauthenticated):
		v.Logger.WarnContext(v.r.Context(), "identity provider's answer refused", "issuer", v.Provider.Issuer(), "error", errors.Unwrap(err))
		v.renderOver(http.StatusForbidden, "Signing in with "+name+" did not work. Try again, or sign in with your password.", back)
	default:
		return err
	}
	return nil
}
