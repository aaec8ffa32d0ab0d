package web

import (
	"net/http"
	"strings"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/totp"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// pathConfirm is the page on which a signed-in member reauthenticates. It redirects back afterwards.
const pathConfirm = page.PathSignIn + "/confirm"

// The fields of the page for reauthentication. No form that it resumes has a field with one of these
// names.
const (
	confirmPrefix        = "confirm_"
	fieldConfirmPassword = confirmPrefix + "password"
	fieldConfirmCode     = confirmPrefix + "code"
	fieldConfirmPasskey  = confirmPrefix + "passkey"
)

// confirmContent is the content of the page for reauthentication.
type confirmContent struct {
	// Action is where the form goes: to the address of the form that it resumes, or to
	// pathConfirm.
	Action, Username string
	Fields           []page.Field
	// Kept are the values of the form that it resumes.
	Kept []page.KeptValue
	// Passkey is set if the member has a passkey.
	Passkey *passkeyButton
}

// again admits signed-in browsers, also of members who still have to set up a second factor. It
// doesn't separate the page from the window that opened it: the page may be part of an
// authorization.
func again(v *page.Request) (bool, error) {
	if v.Login == nil {
		return false, v.Redirect(v.SignIn(page.LocalPath(v.R.FormValue(page.ReturnParameter))))
	}
	v.Owner, v.Secret = v.Login.MemberID, v.SessionSecret(v.R)
	return true, nil
}

// confirm handles a request of a session that is not fresh to a route that needs a fresh one. If the
// form has a valid proof, such as the password, the session gets a new secret, so that a copy of its
// cookie stops working, and the request continues. Otherwise confirm answers with a page that asks
// for the proof. That page then sends the same form, with everything that was typed except passwords.
// passwordField is the field in which the form itself asks for the member's password, or empty.
func (v *request) confirm(passwordField string) (goOn bool, err error) {
	if v.R.Method != http.MethodPost {
		back := []page.KeptValue{{Name: page.ReturnParameter, Value: v.placeOf()}}
		return false, v.renderConfirm(http.StatusForbidden, pathConfirm, back, &page.Mistakes{})
	}
	wrong := &page.Mistakes{}
	if goOn, err = v.proves(passwordField, wrong); goOn || err != nil {
		return goOn, err
	}
	return false, v.renderConfirm(http.StatusForbidden, v.R.URL.Path, v.Kept(), wrong)
}

// placeOf returns the page with the link to the address of the request.
func (v *request) placeOf() string {
	place, ok := page.PlaceOf(v.R.URL.Path)
	switch {
	case !ok:
		return page.PathStart
	case place.Path == page.PathSettings, v.R.URL.Path == pathExport: // the address of a file that an agent exported, or of all data
		return page.PathImports
	}
	return place.Path
}

// proves reports whether the form has a valid passkey, code or password of the member. If it does,
// proves renews the session. Otherwise it adds the errors to wrong.
func (v *request) proves(passwordField string, wrong *page.Mistakes) (bool, error) {
	m, err := account.GetMemberByID(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return false, err
	}
	form, right := v.R.PostForm, false
	switch {
	case form.Get(fieldConfirmPasskey) != "":
		right, err = v.provesByPasskey(m, wrong)
	case form.Get(fieldConfirmCode) != "":
		right, err = v.provesByCode(m, form.Get(fieldConfirmCode))
		if err == nil && !right {
			v.record(account.FactorFailed, m.ID, "")
			wrong.Add(fieldConfirmCode, wrongCode)
		}
	case form.Get(fieldConfirmPassword) != "":
		right, err = v.provesByPassword(m, fieldConfirmPassword, wrong)
	case passwordField != "" && form.Get(passwordField) != "":
		right, err = v.provesByPassword(m, passwordField, wrong)
	}
	if err != nil || !right {
		return false, err
	}
	return true, v.Reauthenticated()
}

func (v *request) provesByPassword(m *account.Member, field string, wrong *page.Mistakes) (bool, error) {
	right, err := v.checkOwnPassword(m, field)
	if err == nil && !right {
		wrong.Add(fieldConfirmPassword, notYourPassword)
	}
	v.PasswordConfirmed = err == nil && right
	return v.PasswordConfirmed, err
}

// provesByCode checks a code of the member's app. It refuses recovery codes, which are only for
// signing in.
func (v *request) provesByCode(m *account.Member, typed string) (bool, error) {
	code := totp.Clean(typed)
	if !totp.IsCode(code) {
		return false, nil
	}
	proof, err := v.checkTOTP(m, code)
	if err != nil || proof == nil {
		return false, err
	}
	err = account.UseProof(v.R.Context(), v.Store, m.ID, proof)
	if fault.Is(err, fault.Unauthenticated) {
		return false, nil
	}
	if err == nil {
		v.recordFactor(m.ID, proof)
	}
	return err == nil, err
}

// renderConfirm renders the page for reauthentication. A member can enter a code instead of the
// password.
func (v *request) renderConfirm(status int, action string, kept []page.KeptValue, wrong *page.Mistakes) error {
	factors, err := account.GetSecondFactors(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return err
	}
	content := confirmContent{Action: action, Username: v.Login.Username, Kept: kept}
	own := passwordField(fieldConfirmPassword, "Your password", wrong)
	own.Required = !factors.On()
	content.Fields = []page.Field{own}
	if factors.TOTP {
		content.Fields = append(content.Fields, page.Field{
			Name: fieldConfirmCode, Label: "Or a code of your app", Autocomplete: "one-time-code", Plain: true, Error: wrong.Of(fieldConfirmCode),
		})
	}
	p := page.Page{Title: "Confirm that it is you", Errors: wrong.List}
	if factors.Passkeys > 0 {
		p.Script, content.Passkey = page.ScriptPasskey, &passkeyButton{Label: "Use a passkey", Field: fieldConfirmPasskey, Options: pathConfirmOptions}
	}
	p.Content = content
	return v.Render(status, "confirm", p)
}

// showConfirm shows the page for reauthentication, which then redirects back.
func (v *request) showConfirm() error {
	back := page.LocalPath(v.R.URL.Query().Get(page.ReturnParameter))
	return v.renderConfirm(http.StatusOK, pathConfirm, []page.KeptValue{{Name: page.ReturnParameter, Value: back}}, &page.Mistakes{})
}

func (v *request) confirmAgain() error {
	back, wrong := page.LocalPath(v.R.PostForm.Get(page.ReturnParameter)), &page.Mistakes{}
	proved, err := v.proves("", wrong)
	if err != nil {
		return err
	}
	if !proved {
		return v.renderConfirm(http.StatusForbidden, pathConfirm, []page.KeptValue{{Name: page.ReturnParameter, Value: back}}, wrong)
	}
	if _, isPlace := page.PlaceOf(back); isPlace || back == "" {
		return v.RedirectDone(orStart(back), "confirmed")
	}
	return v.Redirect(back)
}

// Confirm implements oauth.Sessions.
func (*Web) Confirm(returnTo string) string {
	return page.WithReturn(pathConfirm, page.LocalPath(returnTo))
}

// MustEnroll implements oauth.Sessions.
func (web *Web) MustEnroll(login *account.LoginSession) string { return web.mustEnroll(login) }

// mustEnroll returns the page on which a member has to set up a second factor; empty if they don't
// have to.
func (web *Web) mustEnroll(login *account.LoginSession) string {
	if login.SecondFactor || !web.RequireSecondFactor(login.Plan) {
		return ""
	}
	return pathFactors
}

// enrolling reports whether a route is for setting up a second factor, or for signing out.
func enrolling(pattern string) bool {
	_, path, _ := strings.Cut(pattern, " ")
	return path == pathSignOut || path == pathFactors || strings.HasPrefix(path, pathFactors+"/")
}
