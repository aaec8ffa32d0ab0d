package web

import (
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// optionsShare multiplies the quota of the login policy to give the quota of challenges to sign in
// with, because every view of the sign-in page asks for one.
const optionsShare = 10

// passkeyOptions answers with the options for the sign-in page, which accepts any passkey of this site.
func (v *request) passkeyOptions() error {
	if v.passkeys == nil {
		return noPasskeys()
	}
	if err := v.attempt(v.limit(account.Subject("passkey options address", v.addressBucket()), optionsShare)); err != nil {
		return err
	}
	options, challenge, err := v.passkeys.Ask(nil)
	return v.answerOptions(v.signingIn(), options, challenge, err)
}

// signInByPasskey signs in with a passkey alone. The authenticator has verified the person, so it stands
// for both steps.
func (v *request) signInByPasskey() error {
	back := page.LocalPath(v.R.PostForm.Get(page.ReturnParameter))
	key, proof, why, err := v.checkPasskey(v.signingIn(), "", v.R.PostForm.Get(fieldPasskey))
	if err != nil {
		return err
	}
	if why != "" {
		return v.refuseSignIn(why, back)
	}
	m, err := account.GetMemberByID(v.R.Context(), v.Store, key.MemberID)
	if err != nil {
		return err
	}
	if !m.Active() {
		return v.refuseSuspended(m)
	}
	err = v.BeginWith(account.Access{Owner: m.ID, Epoch: key.AccessEpoch}, func(session *account.LoginSession) error {
		return account.CompletePasskeySignIn(v.R.Context(), v.Store, m.ID, proof, session)
	})
	if fault.Is(err, fault.Unauthenticated) {
		return v.refuseSignIn(latePasskey, back)
	}
	if err != nil {
		return err
	}
	v.recordFactor(m.ID, proof)
	if err := v.signedIn(m, v.signInKind(m)); err != nil {
		return err
	}
	return v.Redirect(orStart(back))
}

// refuseSignIn shows the sign-in page again, with what was wrong.
func (v *request) refuseSignIn(why, back string) error {
	wrong := &page.Mistakes{}
	wrong.Add(fieldLogin, why)
	return v.renderSignIn(http.StatusForbidden, "", back, wrong)
}

// twoStepOptions answers with the options for a passkey as the second factor.
func (v *request) twoStepOptions() error {
	step, m, err := v.signInStep()
	if err != nil {
		return err
	}
	return v.askPasskey(steppingIn(step), m.ID)
}

// confirmOptions answers with the options for confirming a sensitive action with a passkey.
func (v *request) confirmOptions() error { return v.askPasskey(v.proving(), v.Login.MemberID) }

// provesByPasskey reports whether the form has a right answer of one of the member's passkeys. It
// uses the answer up, or adds the error to wrong.
func (v *request) provesByPasskey(m *account.Member, wrong *page.Mistakes) (bool, error) {
	_, proof, why, err := v.checkPasskey(v.proving(), m.ID, v.R.PostForm.Get(fieldConfirmPasskey))
	if err != nil {
		return false, err
	}
	if why == "" {
		err = account.UseProof(v.R.Context(), v.Store, m.ID, proof)
		if err == nil {
			v.recordFactor(m.ID, proof)
		}
		if !fault.Is(err, fault.Unauthenticated) {
			return err == nil, err
		}
		why = latePasskey
	}
	wrong.Add(fieldConfirmPassword, why)
	return false, nil
}
