package web

import (
	"cmp"
	"net/http"
	"net/url"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// signInContent is the content of the sign-in page.
type signInContent struct {
	Fields   []page.Field
	ReturnTo string
	// SignUp is the address at which to create an account; it leads back here.
	SignUp string
	// Provider is the name of the identity provider; empty if there is none.
	Provider string
	// Passkey signs in without a password; nil if there are no passkeys on this site.
	Passkey *passkeyButton
	// Waiting is the application that sent the browser here; nil if none did.
	Waiting *waitingClient
}

// waitingClient is an OAuth client that waits for a member to sign in.
type waitingClient struct {
	// Name is the name that a registered client gives itself.
	Name string
	// Publisher is the host of the client's metadata document; nil for a registered client.
	Publisher *oauth.Destination
}

// clientThatWaits returns the client of the authorization request that sign-in leads back to, or nil.
func (v *request) clientThatWaits(back string) (*waitingClient, error) {
	u, err := url.Parse(back)
	if err != nil || u.Path != oauth.PathAuthorize {
		return nil, nil
	}
	clientID := u.Query().Get("client_id")
	if oauth.IsDocumentURL(clientID) {
		publisher, err := publisherOf(clientID)
		return &waitingClient{Publisher: publisher}, err
	}
	if !id.Valid(id.Client, clientID) {
		return nil, nil
	}
	c, err := oauth.GetClient(v.R.Context(), v.Store, clientID)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &waitingClient{Name: oauth.ShownName(c.Name)}, nil
}

func (v *request) showSignIn() error {
	back := page.LocalPath(v.R.URL.Query().Get(page.ReturnParameter))
	if v.Login != nil {
		return v.Redirect(orStart(back))
	}
	return v.renderSignIn(http.StatusOK, "", back, &page.Mistakes{})
}

func orStart(path string) string { return cmp.Or(path, page.PathStart) }

// ifMissing returns another error in place of fault.NotFound.
func ifMissing(err, other error) error {
	if fault.Is(err, fault.NotFound) {
		return other
	}
	return err
}

func (v *request) renderSignIn(status int, login, back string, m *page.Mistakes) error {
	waiting, err := v.clientThatWaits(back)
	if err != nil {
		return err
	}
	if v.Provider != nil {
		// The button's form ends at the provider, which may send the browser on.
		page.AllowRedirect(v.W.Header(), v.Provider.Issuer())
	}
	content := signInContent{
		Fields: []page.Field{
			{Name: fieldLogin, Label: "Username or e-mail address", Value: login, Autocomplete: "username webauthn", Required: true, Plain: true},
			passwordField(fieldPassword, "Password", &page.Mistakes{}),
		},
		ReturnTo: back, SignUp: page.WithReturn(page.PathSignUp, back), Provider: v.providerName(), Waiting: waiting,
	}
	p := page.Page{Title: "Sign in", Errors: m.List}
	if v.passkeys != nil {
		p.Script = page.ScriptPasskey
		content.Passkey = &passkeyButton{Label: "Sign in with a passkey", Field: fieldPasskey, Options: pathPasskeyOptions, Conditional: status == http.StatusOK}
	}
	p.Content = content
	return v.Render(status, "sign-in", p)
}

// wrongPassword is the one message for an unknown member, a wrong password and a member
// who may not sign in.
const wrongPassword = "That username or e-mail address and that password do not belong together."

func (v *request) signIn() error {
	login, back := v.Line(fieldLogin), page.LocalPath(v.R.PostForm.Get(page.ReturnParameter))
	m, err := v.memberByPassword(login)
	if err != nil {
		return err
	}
	if m == nil {
		wrong := &page.Mistakes{}
		wrong.Add(fieldLogin, wrongPassword)
		return v.renderSignIn(http.StatusForbidden, login, back, wrong)
	}
	if asked, err := v.askSecondFactor(m.Access(), account.SignInStep{ReturnTo: back}); asked || err != nil {
		return err
	}
	if err := v.signInAs(m); err != nil {
		return err
	}
	return v.Redirect(orStart(back))
}

// signInAs signs the browser in as a member without a second factor, remembers it, and records
// that. The member is told if the browser is a new one.
func (v *request) signInAs(m *account.Member) error { return v.enter(m, v.signInKind(m)) }

// signInKind returns the event of a sign-in: on a device where the member signed in before, or on a
// new one.
func (v *request) signInKind(m *account.Member) account.EventKind {
	if v.knownDevice(m) == "" {
		return account.SignedInNew
	}
	return account.SignedIn
}

// enter signs the browser in, remembers it, and records an event of the kind.
func (v *request) enter(m *account.Member, kind account.EventKind) error {
	if err := v.Begin(m.Access()); err != nil {
		return err
	}
	return v.signedIn(m, kind)
}

// signedIn remembers the browser of a new session, and records the sign-in.
func (v *request) signedIn(m *account.Member, kind account.EventKind) error {
	if err := v.rememberDevice(m); err != nil {
		return err
	}
	v.record(kind, m.ID, "")
	return nil
}

// memberByPassword spends an attempt to sign in and returns the member of the login if
// the password is right. Otherwise it records the failure and returns nil.
func (v *request) memberByPassword(login string) (*account.Member, error) {
	m, err := account.FindMember(v.R.Context(), v.Store, login)
	if fault.Is(err, fault.NotFound) {
		m, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	closed, err := v.attemptSignIn(m, login)
	if err != nil {
		return nil, err
	}
	candidate := m
	if closed {
		candidate = nil
	}
	right, err := v.checkPassword(candidate, v.R.PostForm.Get(fieldPassword))
	if err != nil {
		return nil, err
	}
	if !right {
		v.recordFailure(m, login, closed)
		return nil, nil
	}
	return m, v.raiseCost(m)
}

// attemptSignIn spends an attempt to sign in as the member of the login, who is nil if there is
// none. A device that the member signed in on before spends its own budget. Any other device spends
// the budgets of its address, of the name and of the account: all of them, or none if one is used
// up.
//
// Attempts with a member's username and with their e-mail address spend the same
// account budget. When that is spent, closed is true: every password is refused, and
// the response looks like that to a wrong password, so that it does not reveal that
// both names belong to one member.
func (v *request) attemptSignIn(m *account.Member, login string) (closed bool, err error) {
	if device := v.knownDevice(m); device != "" {
		return false, v.attempt(v.limit(account.Subject("login device", device), 1))
	}
	subject := "nobody " + login
	if m != nil {
		subject = string(m.ID)
	}
	of := v.limit(account.Subject("login member", subject), accountShare)
	of.Quiet = true
	return v.attemptQuietly(v.addressLimit("login"), v.limit(account.Subject("login name", login), accountShare), of)
}
