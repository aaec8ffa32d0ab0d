package web

import (
	"net/http"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/securityevent"
	"github.com/kith-crm/kith/backend/internal/session"
)

// signInContent is the content of the sign-in page.
type signInContent struct {
	Fields   []field
	ReturnTo string
	// SignUp is where to make an account, and come back from.
	SignUp string
	// Provider is what the identity provider is called; empty when there is none.
	Provider string
}

func (v *visit) showSignIn() error {
	back := localPath(v.r.URL.Query().Get(returnParameter))
	if v.login != nil {
		v.redirect(orProfile(back))
		return nil
	}
	v.renderSignIn(http.StatusOK, "", back, &mistakes{})
	return nil
}

func orProfile(path string) string {
	if path == "" {
		return pathProfile
	}
	return path
}

func (v *visit) renderSignIn(status int, login, back string, m *mistakes) {
	if v.Provider != nil {
		// The button's form ends at the provider, which may send the browser on.
		allowRedirect(v.w.Header(), v.Provider.Issuer())
	}
	v.render(status, "sign-in", page{Title: "Sign in", Errors: m.list, Content: signInContent{
		Fields: []field{
			{Name: fieldLogin, Label: "Username or e-mail address", Value: login, Autocomplete: "username", Required: true, Plain: true},
			passwordField("Password", &mistakes{}),
		},
		ReturnTo: back, SignUp: withReturn(pathSignUp, back), Provider: v.providerName(),
	}})
}

// wrongPassword is the one sentence for an unknown member, a wrong password and
// a member who may not sign in.
const wrongPassword = "That username or e-mail address and that password do not belong together."

func (v *visit) signIn() error {
	login, back := v.line(fieldLogin), localPath(v.r.PostForm.Get(returnParameter))
	m, err := v.memberToSignIn(login)
	if err != nil {
		return err
	}
	right, err := v.checkPassword(m, v.r.PostForm.Get(fieldPassword))
	if err != nil {
		return err
	}
	if !right {
		v.recordFailure(m, login)
		wrong := &mistakes{}
		wrong.add(fieldLogin, wrongPassword)
		v.renderSignIn(http.StatusForbidden, login, back, wrong)
		return nil
	}
	if err := v.begin(m.ID); err != nil {
		return err
	}
	if err := v.rememberDevice(m); err != nil {
		return err
	}
	v.record(securityevent.SignedIn, m.ID, "")
	v.redirect(orProfile(back))
	return nil
}

// memberToSignIn spends an attempt to sign in and returns the member of the login,
// or nil when no password is right. A device that the member signed in on before
// spends its own budget. Any other spends those of its address and of the name.
//
// The attempts on a member's username and on their e-mail address count together
// as well. Over that limit no password is right, and nothing says so: it would tell
// that the two are the same member's.
func (v *visit) memberToSignIn(login string) (*member.Member, error) {
	m, err := v.Store.FindMember(v.r.Context(), login)
	subject := "nobody " + login
	switch {
	case fault.Is(err, fault.NotFound):
		m = nil
	case err != nil:
		return nil, err
	default:
		subject = string(m.ID)
	}
	if device := v.knownDevice(m); device != "" {
		return m, v.attempt(v.limit(session.Subject("login device", device), 1))
	}
	if err := v.attempt(v.addressLimit("login"), v.limit(session.Subject("login name", login), accountShare)); err != nil {
		return nil, err
	}
	decision, err := v.spend(v.limit(session.Subject("login member", subject), accountShare))
	if err != nil || !decision.Allowed {
		return nil, err
	}
	return m, nil
}
