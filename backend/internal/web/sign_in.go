package web

import (
	"net/http"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/member"
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
	if err := v.attempt(v.addressSubject("login"), session.Subject("login name", login)); err != nil {
		return err
	}
	m, err := v.memberToSignIn(login)
	if err != nil {
		return err
	}
	right, err := v.checkPassword(m, v.r.PostForm.Get(fieldPassword))
	if err != nil {
		return err
	}
	if !right {
		wrong := &mistakes{}
		wrong.add(fieldLogin, wrongPassword)
		v.renderSignIn(http.StatusForbidden, login, back, wrong)
		return nil
	}
	if err := v.begin(m.ID); err != nil {
		return err
	}
	v.redirect(orProfile(back))
	return nil
}

// memberToSignIn returns the member of a login, or nil when there is none. The
// attempts on a member's username and on their address count together as well;
// beyond the limit, and without a word that would tell that the two are one
// member's, no password is right.
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
	decision, err := v.count(session.Subject("login member", subject))
	if err != nil || !decision.Allowed {
		return nil, err
	}
	return m, nil
}
