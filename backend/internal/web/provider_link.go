package web

import (
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// providerLinkContent is the content of the page that asks a member once for their
// password, to link their identity.
type providerLinkContent struct {
	Provider, Email string
	Fields          []page.Field
	Link            string
	// SignUp is the address at which a person who is not a member can create an
	// account; it leads back here.
	SignUp string
}

// waiting returns the attempt that waits for the password in this browser; nil if there
// is none, after showing a page that says so.
func (v *request) waiting(secret string) (*signin.Attempt, error) {
	if v.Provider == nil {
		return nil, v.noProvider()
	}
	a, err := signin.GetProviderAttempt(v.R.Context(), v.Store, account.HashSecret(secret), account.HashSecret(v.CookieSecret(v.R, providerCookie)))
	if fault.Is(err, fault.NotFound) {
		return nil, v.attemptOver()
	}
	return a, err
}

func (v *request) showProviderLink() error {
	secret := v.R.URL.Query().Get(fieldLink)
	a, err := v.waiting(secret)
	if err != nil || a == nil {
		return err
	}
	return v.renderProviderLink(http.StatusOK, a, secret, &page.Mistakes{})
}

func (v *request) renderProviderLink(status int, a *signin.Attempt, secret string, wrong *page.Mistakes) error {
	return v.Render(status, "provider-link", page.Page{Title: "One more step", Errors: wrong.List, Content: providerLinkContent{
		Provider: v.Provider.Name(), Email: a.Email, Fields: []page.Field{passwordField(fieldPassword, "Password of your Kith account", wrong)},
		Link: secret, SignUp: page.WithReturn(page.PathSignUp, a.ReturnTo),
	}})
}

// wrongLinkPassword is the one message for an address of no member, a wrong password
// and a member who may not sign in.
const wrongLinkPassword = "This is not the password of an account with that address."

// linkProvider links the identity to the member whose password was entered, and signs
// them in. It is a sign-in by password, with the same limits. If the member has a second factor, the
// identity is linked only after the member has used it. If there is no such
// member, the answer is the same as for a wrong password.
func (v *request) linkProvider() error {
	secret := v.R.PostForm.Get(fieldLink)
	a, err := v.waiting(secret)
	if err != nil || a == nil {
		return err
	}
	m, err := v.memberByPassword(a.Email)
	if err != nil {
		return err
	}
	if m == nil {
		wrong := &page.Mistakes{}
		wrong.Add(fieldPassword, wrongLinkPassword)
		return v.renderProviderLink(http.StatusForbidden, a, secret, wrong)
	}
	if asked, err := v.askSecondFactor(m.Access(), account.SignInStep{AttemptHash: a.Hash, ReturnTo: a.ReturnTo}); asked || err != nil {
		return err
	}
	if linked, err := v.linkIdentity(m, a.Hash, a.BrowserHash); !linked || err != nil {
		return err
	}
	if err := v.signInAs(m); err != nil {
		return err
	}
	return v.toLinked(m, a.ReturnTo)
}

// linkIdentity links the identity that waits. If the attempt is over, it
// answers with a page that says so and returns false.
func (v *request) linkIdentity(m *account.Member, attemptHash, browserHash string) (linked bool, err error) {
	if v.Provider == nil {
		return false, v.noProvider()
	}
	err = signin.LinkIdentity(v.R.Context(), v.Store, attemptHash, browserHash, m.Access())
	switch {
	case fault.Is(err, fault.NotFound):
		return false, v.attemptOver()
	case fault.Is(err, fault.Conflict):
		return false, page.Refuse(http.StatusConflict, "This cannot be connected", "Your Kith account or your "+v.Provider.Name()+
			" account is already connected with another one. Sign in with your password and look at your security settings.")
	case err != nil:
		return false, err
	}
	return true, nil
}

// toLinked records that an identity was linked, which also tells the member, and leads back to
// where the sign-in began.
func (v *request) toLinked(m *account.Member, returnTo string) error {
	v.record(account.IdentityLinked, m.ID, "")
	if back := page.LocalPath(returnTo); back != "" {
		return v.Redirect(back)
	}
	return v.RedirectDone(page.PathProfile, "provider-linked")
}

// fieldUnlinkPassword differs from fieldPassword, which another form on the same page
// uses.
const fieldUnlinkPassword = "unlink_password"

// linkedRow is a linked identity on the security page.
type linkedRow struct {
	signin.LinkedIdentity

	Name string
}

// linkedRows returns the member's linked identities. An identity of a provider that is
// no longer configured is shown with the provider's address.
func (v *request) linkedRows(links []signin.LinkedIdentity) []linkedRow {
	rows := make([]linkedRow, len(links))
	for i, link := range links {
		rows[i] = linkedRow{link, link.Issuer}
		if v.Provider != nil && link.Issuer == v.Provider.Issuer() {
			rows[i].Name = v.Provider.Name()
		}
	}
	return rows
}

// unlinkProvider unlinks the member's identities, if the password is right.
func (v *request) unlinkProvider() error {
	m, err := account.GetMemberByID(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return err
	}
	right, err := v.checkOwnPassword(m, fieldUnlinkPassword)
	if err != nil {
		return err
	}
	if !right {
		wrong := &page.Mistakes{}
		wrong.Add(fieldUnlinkPassword, notYourPassword)
		return v.renderSecurity(http.StatusUnprocessableEntity, m, wrong)
	}
	if err := signin.DeleteIdentities(v.R.Context(), v.Store, m.ID); err != nil {
		return err
	}
	v.record(account.IdentityUnlinked, m.ID, "")
	return v.RedirectDone(page.PathSecurity, "provider-unlinked")
}
