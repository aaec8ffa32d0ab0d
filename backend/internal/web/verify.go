package web

import (
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
)

// showVerify shows what a link confirms. It changes nothing, because mail programs open
// links to check them.
func (v *request) showVerify() error {
	secret := v.r.URL.Query().Get(fieldLink)
	l, err := account.GetMailLink(v.r.Context(), v.Store, account.HashSecret(secret), account.PurposeVerify)
	if err == nil {
		v.render(http.StatusOK, "verify", page{Title: "Confirm your e-mail address", Content: linkContent{
			Link: secret, Username: l.Username, Email: l.Email,
		}})
		return nil
	}
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	waiting, err := v.waitingSignUp(account.HashSecret(secret))
	if err != nil {
		return err
	}
	v.renderFinish(http.StatusOK, waiting.Username, waiting.Email, secret, &mistakes{})
	return nil
}

// waitingSignUp returns the sign-up of a link. If sign-up has been closed since it
// began, it cannot be completed.
func (v *request) waitingSignUp(hash string) (*account.SignUp, error) {
	waiting, err := account.GetSignUp(v.r.Context(), v.Store, hash)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, linkOver()
	case err != nil:
		return nil, err
	case !v.SignUpOpen:
		return nil, v.signUpClosed()
	}
	return waiting, nil
}

func (v *request) renderFinish(status int, username, email, secret string, m *mistakes) {
	v.render(status, "verify", page{Title: "Finish your account", Errors: m.list, Content: linkContent{
		Fields: append([]field{usernameField(username, m)}, newPasswordFields("Password", m)...), Link: secret, Email: email, NewMember: true,
	}})
}

func (v *request) verify() error {
	hash := account.HashSecret(v.r.PostForm.Get(fieldLink))
	err := account.VerifyEmail(v.r.Context(), v.Store, hash)
	if err == nil {
		if v.login != nil {
			v.redirectDone(pathSecurity, "verified")
			return nil
		}
		v.redirectDone(pathSignIn, "verified")
		return nil
	}
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	return v.finishSignUp(hash)
}

// finishSignUp creates the member with the password from this form, and signs the
// member in.
func (v *request) finishSignUp(hash string) error {
	waiting, err := v.waitingSignUp(hash)
	if err != nil {
		return err
	}
	username, m := v.line(fieldUsername), &mistakes{}
	if err := m.take(fieldUsername, v.checkUsername(username)); err != nil {
		return err
	}
	chosen, err := m.newPassword(v.r, username, waiting.Email)
	if err != nil {
		return err
	}
	var made *account.Member
	if len(m.list) == 0 {
		made, err = v.completeSignUp(hash, username, chosen)
	}
	switch {
	case fault.Is(err, fault.AlreadyExists):
		m.add(fieldUsername, "Somebody has this username already. Choose another.")
	case fault.Is(err, fault.Conflict):
		return refuse(http.StatusConflict, "You have an account already", "There is an account with this e-mail address. Sign in with it.")
	case fault.Is(err, fault.NotFound):
		return linkOver()
	case err != nil:
		return err
	}
	if len(m.list) > 0 {
		v.renderFinish(http.StatusUnprocessableEntity, username, waiting.Email, v.r.PostForm.Get(fieldLink), m)
		return nil
	}
	return v.welcome(made, waiting.ReturnTo)
}

func (v *request) completeSignUp(linkHash, username, password string) (*account.Member, error) {
	hash, err := v.hashPassword(password)
	if err != nil {
		return nil, err
	}
	return account.CompleteSignUp(v.r.Context(), v.Store, linkHash, username, hash)
}
