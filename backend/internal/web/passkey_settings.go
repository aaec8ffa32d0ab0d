package web

import (
	"fmt"
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/passkey"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// fieldName is the field with the name of a new passkey.
const fieldName = "name"

// newPasskeyOptions answers with the options for making a passkey.
func (v *request) newPasskeyOptions() error {
	if v.passkeys == nil {
		return noPasskeys()
	}
	owner, err := v.passkeyOwner(v.Login.MemberID)
	if err != nil {
		return err
	}
	owner.Username, owner.Name = v.Login.Username, v.Login.Name
	if owner.Name == "" {
		owner.Name = owner.Username
	}
	options, challenge, err := v.passkeys.AskNew(owner)
	return v.answerOptions(v.adding(), options, challenge, err)
}

// addPasskey adds a passkey that an authenticator has just made in this browser.
func (v *request) addPasskey() error {
	if v.passkeys == nil {
		return noPasskeys()
	}
	owner, name, wrong := v.Login.MemberID, v.Line(fieldName), &page.Mistakes{}
	if err := wrong.Take(fieldName, account.CheckName(name)); err != nil {
		return err
	}
	if len(wrong.List) > 0 {
		return v.renderFactors(http.StatusUnprocessableEntity, "", wrong)
	}
	answer, err := passkey.ParseNew(v.R.PostForm.Get(fieldPasskey))
	var row *account.Passkey
	if err == nil {
		row, err = v.passkeys.CheckNew(answer, answer.Challenge(), owner)
	}
	if err != nil {
		return v.refuseFactor("This passkey does not work here. Try again.")
	}
	row.Name, row.Access = name, v.Login.Access()
	codes := account.NewRecoveryCodes()
	first, err := account.CreatePasskey(v.R.Context(), v.Store, row, v.adding().hash(answer.Challenge()), codes, v.Login.Hash)
	switch {
	case fault.Is(err, fault.Unauthenticated):
		return v.refuseFactor(latePasskey)
	case fault.Is(err, fault.Conflict):
		return v.refuseFactor(fmt.Sprintf("This passkey is added already, or you have %d: then remove one first.", account.MaxPasskeys))
	case err != nil:
		return err
	}
	return v.factorAdded(first, codes, row.ID, "passkey-added")
}

// refuseFactor shows the page again, with the error of a new passkey.
func (v *request) refuseFactor(why string) error {
	wrong := &page.Mistakes{}
	wrong.Add(fieldName, why)
	return v.renderFactors(http.StatusUnprocessableEntity, "", wrong)
}

// removePasskey removes one of the member's passkeys.
func (v *request) removePasskey() error {
	passkeyID := v.Line("id")
	err := account.DeletePasskey(v.R.Context(), v.Store, v.Login.Access(), passkeyID)
	if fault.Is(err, fault.NotFound) { // the form was sent twice
		return v.Redirect(pathFactors)
	}
	if err != nil {
		return err
	}
	v.record(account.FactorRemoved, v.Login.MemberID, passkeyID)
	return v.RedirectDone(pathFactors, "passkey-removed")
}
