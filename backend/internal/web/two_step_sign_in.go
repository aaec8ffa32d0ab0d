package web

import (
	"net/http"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/totp"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// pathTwoStep asks for the second factor of a sign-in.
const pathTwoStep = page.PathSignIn + "/two-step"

// stepCookie holds the secret of a sign-in that waits for the second factor.
const stepCookie = "kith_step"

// fieldCode is the field of a one-time code or a recovery code.
const fieldCode = "code"

// askSecondFactor leads to the page that asks for the second factor, if the member has one. The
// browser is not signed in yet: it only has the secret of the step, which gives access to nothing
// else. Every way to sign in that checks a password, or what replaces one, calls this first.
func (v *request) askSecondFactor(access account.Access, step account.SignInStep) (asked bool, err error) {
	factors, err := account.GetSecondFactors(v.R.Context(), v.Store, access.Owner)
	if err != nil || !factors.On() {
		return false, err
	}
	secret, err := account.NewSecret("")
	if err != nil {
		return false, err
	}
	step.Hash, step.MemberID, step.AccessEpoch = account.HashSecret(secret), access.Owner, access.Epoch
	if err := account.CreateSignInStep(v.R.Context(), v.Store, &step); err != nil {
		return false, err
	}
	v.SetCookie(v.W, stepCookie, secret, account.SignInStepLifetime)
	return true, v.Redirect(pathTwoStep)
}

// signInStep returns the sign-in that waits in this browser, and its member.
func (v *request) signInStep() (*account.SignInStep, *account.Member, error) {
	step, err := account.GetSignInStep(v.R.Context(), v.Store, account.HashSecret(v.CookieSecret(v.R, stepCookie)))
	if err := ifMissing(err, stepOver()); err != nil {
		return nil, nil, err
	}
	m, err := account.GetMemberByID(v.R.Context(), v.Store, step.MemberID)
	if err == nil && !m.Active() {
		err = stepOver()
	}
	return step, m, err
}

func stepOver() error {
	return page.Refuse(http.StatusForbidden, "Sign in again", "The second step has to follow within 10 minutes, in the same browser. Enter your password again.")
}

// twoStepContent is the content of the page that asks for the second factor.
type twoStepContent struct {
	account.SecondFactors

	Field page.Field
	// Passkey is set if the member has a passkey.
	Passkey *passkeyButton
}

func (v *request) showTwoStep() error {
	_, m, err := v.signInStep()
	if err != nil {
		return err
	}
	return v.renderTwoStep(http.StatusOK, m, &page.Mistakes{})
}

func (v *request) renderTwoStep(status int, m *account.Member, wrong *page.Mistakes) error {
	factors, err := account.GetSecondFactors(v.R.Context(), v.Store, m.ID)
	if err != nil {
		return err
	}
	p := page.Page{Title: "Enter your code", Errors: wrong.List}
	content := twoStepContent{SecondFactors: factors, Field: page.Field{
		Name: fieldCode, Label: "Code", Autocomplete: "one-time-code", Required: true, Plain: true, Error: wrong.Of(fieldCode),
		Hint: "The six digits that your app shows now, or one of your recovery codes.",
	}}
	if factors.Passkeys > 0 {
		p.Script, content.Passkey = page.ScriptPasskey, &passkeyButton{Label: "Use a passkey", Field: fieldPasskey, Options: pathTwoStepOptions}
		if !factors.TOTP {
			p.Title, content.Field.Label, content.Field.Autocomplete = "Use your passkey", "Recovery code", "off"
			content.Field.Hint = "One of your recovery codes, if you do not have your passkey."
		}
	}
	p.Content = content
	return v.Render(status, "sign-in-two-step", p)
}

// wrongCode is the one message for every code that doesn't work.
const wrongCode = "This code does not work. Each code works once: wait for the next one, and check that the clock of your phone is right."

// twoStep signs in with the second factor. The session gets a new secret, which neither the step
// nor the browser had before.
func (v *request) twoStep() error {
	step, m, err := v.signInStep()
	if err != nil {
		return err
	}
	proof, why, err := v.checkFactor(step, m)
	if err != nil {
		return err
	}
	if proof != nil {
		err = v.BeginWith(m.Access(), func(session *account.LoginSession) error {
			return account.CompleteSignIn(v.R.Context(), v.Store, step, proof, session)
		})
	}
	switch {
	case fault.Is(err, fault.NotFound):
		return stepOver()
	case proof == nil, fault.Is(err, fault.Unauthenticated):
		if _, _, err := v.signInStep(); err != nil { // the same form, sent twice, has signed in
			return err
		}
		wrong := &page.Mistakes{}
		wrong.Add(fieldCode, why)
		if why == wrongCode { // what is wrong with a passkey is recorded already
			v.record(account.FactorFailed, m.ID, "")
		}
		return v.renderTwoStep(http.StatusForbidden, m, wrong)
	case err != nil:
		return err
	}
	v.recordFactor(m.ID, proof)
	return v.entered(m, step)
}

// checkFactor checks the second factor in the form: the answer of a passkey, or else a code. It
// returns the proof to use up; nil if it is wrong. why is the message for a wrong factor, and for a
// proof that was used already.
func (v *request) checkFactor(step *account.SignInStep, m *account.Member) (proof account.Proof, why string, err error) {
	answer := v.R.PostForm.Get(fieldPasskey)
	if answer == "" {
		proof, err = v.checkCode(m, v.R.PostForm.Get(fieldCode))
		return proof, wrongCode, err
	}
	_, right, why, err := v.checkPasskey(steppingIn(step), m.ID, answer)
	if err != nil || why != "" {
		return nil, why, err
	}
	return right, latePasskey, nil
}

// entered redirects a browser that has just signed in with two factors to the page it wanted.
func (v *request) entered(m *account.Member, step *account.SignInStep) error {
	v.ClearCookie(v.W, stepCookie)
	m.AccessEpoch = step.AccessEpoch // the epoch of the password and of the session
	if err := v.signedIn(m, v.signInKind(m)); err != nil {
		return err
	}
	if step.AttemptHash == "" {
		return v.Redirect(orStart(page.LocalPath(step.ReturnTo)))
	}
	if linked, err := v.linkIdentity(m, step.AttemptHash, account.HashSecret(v.CookieSecret(v.R, providerCookie))); !linked || err != nil {
		return err
	}
	return v.toLinked(m, step.ReturnTo)
}

// checkCode checks what a member typed, a code of their app or a recovery code, and returns the
// proof to use up; nil if it is wrong. It spends an attempt.
//
// Codes and recovery codes have separate budgets. An attacker who knows a member's password can
// spend the budget of the six digits, but the member can still sign in with a recovery code, which
// is too long to guess.
func (v *request) checkCode(m *account.Member, typed string) (account.Proof, error) {
	code := totp.Clean(typed)
	if totp.IsCode(code) {
		return v.checkTOTP(m, code)
	}
	if err := v.attempt(v.addressLimit("recovery code")); err != nil {
		return nil, err
	}
	proof, err := account.FindRecoveryCode(v.R.Context(), v.Store, m.ID, typed)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return proof, err
}

// codesPerDay limits how many codes may be tried for a member in a day. At any time, three of a
// million codes are right.
const codesPerDay = 100

// checkTOTP checks a code of the member's app, and returns the proof to use up; nil if the code is
// wrong or was used. It spends an attempt of the device if the member signed in on it before,
// otherwise one of the member.
func (v *request) checkTOTP(m *account.Member, code string) (account.Proof, error) {
	kind, of := "code member", string(m.ID)
	if device := v.knownDevice(m); device != "" {
		kind, of = "code device", device
	}
	day := account.Limit{Subject: account.Subject(kind+" day", of), Policy: account.RatePolicy{Quota: codesPerDay, Window: 24 * time.Hour}}
	if err := v.attempt(v.limit(account.Subject(kind, of), 1), day); err != nil {
		return nil, err
	}
	row, err := account.GetTOTPSecret(v.R.Context(), v.Store, m.ID)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	secret, err := v.Secrets.Open(row.Secret, account.TOTPPurpose, string(m.ID))
	if err != nil {
		return nil, v.noSecretKey(err)
	}
	if step, right := totp.Check(secret, code, v.Now(), row.LastStep); right {
		return account.CodeProof{Step: step}, nil
	}
	return nil, nil
}

// noSecretKey returns the error for a secret that can't be read. The operator has to fix that;
// until then a recovery code works.
func (v *request) noSecretKey(err error) error {
	v.Logger.ErrorContext(v.R.Context(), "read secret of one-time codes", "error", err)
	return page.Refuse(http.StatusServiceUnavailable, "The code cannot be checked right now",
		"The owner of this server has to fix that. Meanwhile a recovery code works: go back and enter one.")
}
