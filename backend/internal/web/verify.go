package web

import (
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// showVerify shows what a link confirms. It changes nothing, because mail programs open
// links to check them.
func (v *request) showVerify() error {
	secret := v.R.URL.Query().Get(fieldLink)
	l, err := account.GetMailLink(v.R.Context(), v.Store, account.HashSecret(secret), account.PurposeVerify)
	if err == nil {
		return v.Render(http.StatusOK, "verify", page.Page{Title: "Confirm your e-mail address", Content: linkContent{
			Link: secret, Username: l.Username, Email: l.Email,
		}})
	}
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	waiting, err := v.waitingSignUp(account.HashSecret(secret))
	if err != nil {
		return err
	}
	return v.renderFinish(http.StatusOK, waiting.Username, waiting.Email, secret, "", &page.Mistakes{})
}

// waitingSignUp returns the sign-up of a link. If sign-up has been closed since it
// began, it cannot be completed.
func (v *request) waitingSignUp(hash string) (*account.SignUp, error) {
	waiting, err := account.GetSignUp(v.R.Context(), v.Store, hash)
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

func (v *request) renderFinish(status int, username, email, secret, chosen string, m *page.Mistakes) error {
	return v.Render(status, "verify", page.Page{Title: "Finish your account", Errors: m.List, Content: linkContent{
		Fields: append([]page.Field{usernameField(username, m)}, v.keepPassword("Password", chosen, m)...), Link: secret, Email: email, NewMember: true,
	}})
}

func (v *request) verify() error {
	hash := account.HashSecret(v.R.PostForm.Get(fieldLink))
	if err := v.attemptLink("verify", hash); err != nil {
		return err
	}
	err := account.VerifyEmail(v.R.Context(), v.Store, hash)
	if err == nil {
		if v.Login != nil {
			return v.RedirectDone(page.PathSecurity, "verified")
		}
		return v.RedirectDone(page.PathSignIn, "verified")
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
	username, m := v.Line(fieldUsername), &page.Mistakes{}
	if err := m.Take(fieldUsername, v.checkUsername(username)); err != nil {
		return err
	}
	chosen, err := v.newPassword(m, username, waiting.Email)
	if err != nil {
		return err
	}
	var made *account.Member
	if len(m.List) == 0 {
		made, err = v.completeSignUp(hash, username, chosen)
	}
	switch {
	case fault.Is(err, fault.AlreadyExists):
		m.Add(fieldUsername, "Somebody has this username already. Choose another.")
	case fault.Is(err, fault.Conflict):
		return page.Refuse(http.StatusConflict, "You have an account already", "There is an account with this e-mail address. Sign in with it.")
	case fault.Is(err, fault.NotFound):
		return linkOver()
	case err != nil:
		return err
	}
	if len(m.List) > 0 {
		return v.renderFinish(http.StatusUnprocessableEntity, username, waiting.Email, v.R.PostForm.Get(fieldLink), chosen, m)
	}
	return v.welcome(made, waiting.ReturnTo)
}

func (v *request) completeSignUp(linkHash, username, password string) (*account.Member, error) {
	hash, err := v.hashPassword(password)
	if err != nil {
		return nil, err
	}
	return account.CompleteSignUp(v.R.Context(), v.Store, linkHash, username, hash)
}
