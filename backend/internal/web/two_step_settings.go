package web

import (
	"net/http"
	"net/url"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/totp"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/qrcode"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// pathFactors is the settings page of two-step sign-in.
const pathFactors = page.PathSecurity + "/two-step"

// fieldSetup is the field with the encrypted secret that is being set up.
const fieldSetup = "setup"

// setupPurpose is the purpose of the encryption of a secret that is being set up. The server does
// not store that secret: the form sends it back.
const setupPurpose = "totp setup"

// factorsContent is the content of the page.
type factorsContent struct {
	account.SecondFactors

	// Since is when one-time codes were turned on, LastUsedAt when one was last used.
	Since, LastUsedAt time.Time
	// Setup is set if one-time codes can be turned on.
	Setup *setup
	// Keys are the member's passkeys. Passkey makes a new one, with the name in Name; nil if there are no
	// passkeys on this site.
	Keys    []account.Passkey
	Passkey *passkeyButton
	Name    page.Field
	// Codes are new recovery codes, which are shown only this once.
	Codes []string
}

// setup is an app that is being set up.
type setup struct {
	totp.Key

	Picture qrcode.Picture
	// Sealed is the encrypted secret.
	Sealed string
	Field  page.Field
}

// setupOwner binds the encrypted secret of a setup to the member and this session.
func (v *request) setupOwner() string { return string(v.Login.MemberID) + " " + v.Login.ID }

// appName returns the issuer and the account name that an app shows with the codes.
func (v *request) appName() (issuer, name string) {
	host := v.BaseURL
	if u, err := url.Parse(v.BaseURL); err == nil {
		host = u.Hostname()
	}
	return "Kith", v.Login.Username + "@" + host
}

func (v *request) showFactors() error { return v.renderFactors(http.StatusOK, "", &page.Mistakes{}) }

// renderFactors renders the page. Sealed is the secret that is being set up; empty for a new one.
func (v *request) renderFactors(status int, sealed string, wrong *page.Mistakes) error {
	owner := v.Login.MemberID
	factors, err := account.GetSecondFactors(v.R.Context(), v.Store, owner)
	if err != nil {
		return err
	}
	content := factorsContent{SecondFactors: factors}
	if err := v.addPasskeys(&content, wrong); err != nil {
		return err
	}
	switch {
	case factors.TOTP:
		row, err := account.GetTOTPSecret(v.R.Context(), v.Store, owner)
		if err != nil {
			return err
		}
		content.Since, content.LastUsedAt = row.CreatedAt, row.LastUsedAt
	case v.Secrets != nil:
		if content.Setup, err = v.setup(sealed, wrong); err != nil {
			return err
		}
	}
	if made := v.takeMade(codesCookie); made != nil {
		content.Codes = made.Codes
	}
	p := page.Page{Title: "Two-step sign-in", Section: page.PathSecurity, Errors: wrong.List, Content: content}
	if content.Passkey != nil {
		p.Script = page.ScriptPasskey
	}
	return v.Render(status, "two-step", p)
}

// addPasskeys adds the member's passkeys to the page, and the form for a new one.
func (v *request) addPasskeys(content *factorsContent, wrong *page.Mistakes) (err error) {
	if content.Keys, err = account.ListPasskeys(v.R.Context(), v.Store, v.Login.MemberID); err != nil || v.passkeys == nil {
		return err
	}
	content.Passkey = &passkeyButton{Label: "Add a passkey", Field: fieldPasskey, Options: pathNewOptions, New: true}
	content.Name = page.Field{
		Name: fieldName, Label: "Name", Value: v.Device(), Required: true, Autocomplete: "off", Error: wrong.Of(fieldName),
		Hint: "To recognise it later, such as the device that keeps it.",
	}
	return nil
}

// setup returns the secret to set up, for the page.
func (v *request) setup(sealed string, wrong *page.Mistakes) (*setup, error) {
	issuer, name := v.appName()
	var key totp.Key
	secret, err := v.Secrets.Open(sealed, setupPurpose, v.setupOwner())
	if err == nil {
		key, err = totp.KeyOf(secret, issuer, name)
	} else {
		key, err = totp.NewKey(issuer, name)
	}
	if err != nil {
		return nil, err
	}
	s := &setup{Key: key, Field: page.Field{
		Name: fieldCode, Label: "Code", Autocomplete: "one-time-code", Required: true, Plain: true, Error: wrong.Of(fieldCode),
		Hint: "The six digits that the app shows now.",
	}}
	if s.Sealed, err = v.Secrets.Seal(key.Secret, setupPurpose, v.setupOwner()); err != nil {
		return nil, err
	}
	s.Picture, err = qrcode.Draw(key.Address)
	return s, err
}

// addTOTP turns one-time codes on, if the code shows that the app has the secret.
func (v *request) addTOTP() error {
	if v.Secrets == nil {
		return noFactors()
	}
	owner, sealed, wrong := v.Login.MemberID, v.R.PostForm.Get(fieldSetup), &page.Mistakes{}
	secret, err := v.Secrets.Open(sealed, setupPurpose, v.setupOwner())
	if fault.Is(err, fault.Invalid) {
		wrong.Add(fieldCode, "This page was too old. Here is a new code to scan.")
		return v.renderFactors(http.StatusUnprocessableEntity, "", wrong)
	}
	if err != nil {
		return err
	}
	if err := v.attempt(v.limit(account.Subject("code setup", string(owner)), 1)); err != nil {
		return err
	}
	step, right := totp.Check(secret, totp.Clean(v.R.PostForm.Get(fieldCode)), v.Now(), 0)
	if !right {
		wrong.Add(fieldCode, "This is not the code that the app shows now. Check that the clock of your phone is right.")
		return v.renderFactors(http.StatusUnprocessableEntity, sealed, wrong)
	}
	row := &account.TOTPSecret{MemberID: owner, LastStep: step, Access: v.Login.Access()}
	if row.Secret, err = v.Secrets.Seal(secret, account.TOTPPurpose, string(owner)); err != nil {
		return err
	}
	codes := account.NewRecoveryCodes()
	first, err := account.CreateTOTPSecret(v.R.Context(), v.Store, row, codes, v.Login.Hash)
	if fault.Is(err, fault.Conflict) { // the form was sent twice
		return v.Redirect(pathFactors)
	}
	if err != nil {
		return err
	}
	return v.factorAdded(first, codes, account.TOTPObject, "app-added")
}

func noFactors() error {
	return page.Refuse(http.StatusNotFound, "One-time codes are not available here", "The owner of this server has to set a secret key for them.")
}

// factorAdded records a new second factor, and leads to the page that shows the recovery codes if
// it is the first.
func (v *request) factorAdded(first bool, codes []string, object, notice string) error {
	if err := v.Rotate(); err != nil { // a copy of the cookie ends
		return err
	}
	v.record(account.FactorAdded, v.Login.MemberID, object)
	if first {
		if err := v.handOver(codesCookie, madeToken{Codes: codes}); err != nil {
			return err
		}
	}
	return v.RedirectDone(pathFactors, notice)
}

// newRecoveryCodes replaces the member's recovery codes.
func (v *request) newRecoveryCodes() error {
	codes := account.NewRecoveryCodes()
	err := account.ReplaceRecoveryCodes(v.R.Context(), v.Store, v.Login.Access(), codes)
	if fault.Is(err, fault.NotFound) {
		return v.Redirect(pathFactors)
	}
	if err != nil {
		return err
	}
	if err := v.Rotate(); err != nil { // a copy of the cookie ends
		return err
	}
	v.record(account.RecoveryCodesMade, v.Login.MemberID, "")
	if err := v.handOver(codesCookie, madeToken{Codes: codes}); err != nil {
		return err
	}
	return v.RedirectDone(pathFactors, "codes-made")
}

// removeTOTP turns one-time codes off.
func (v *request) removeTOTP() error {
	err := account.DeleteTOTPSecret(v.R.Context(), v.Store, v.Login.Access())
	if fault.Is(err, fault.NotFound) { // the form was sent twice
		return v.Redirect(pathFactors)
	}
	if err != nil {
		return err
	}
	v.record(account.FactorRemoved, v.Login.MemberID, account.TOTPObject)
	return v.RedirectDone(pathFactors, "app-removed")
}
