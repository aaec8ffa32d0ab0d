package web

import (
	"encoding/json"
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/passkey"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// The paths at which a script gets the options for navigator.credentials.
const (
	pathPasskeySignIn  = page.PathSignIn + "/passkey"
	pathPasskeyOptions = pathPasskeySignIn + "/options"
	pathTwoStepOptions = pathTwoStep + "/options"
	pathConfirmOptions = pathConfirm + "/options"
	pathPasskeys       = pathFactors + "/passkeys"
	pathNewOptions     = pathPasskeys + "/options"
)

// fieldPasskey is the field with an authenticator's answer, which the script fills in.
const fieldPasskey = "passkey"

// passkeyButton is a button in the form that takes the answer. It is hidden until the script shows
// it.
type passkeyButton struct {
	Label, Field string
	// Options is the path of the options for navigator.credentials.
	Options string
	// New is set if the answer is a new passkey; Conditional if the browser may also offer passkeys in
	// the form field for the username.
	New, Conditional bool
}

// ceremony is the purpose of a passkey's answer, and the browser that it is for.
type ceremony struct{ purpose, browser string }

// signingIn, steppingIn and provingIn are the three ceremonies with a passkey that the member has;
// adding makes a new one. Before sign-in, a browser is known by the secret of its forms.
func (v *request) signingIn() ceremony { return ceremony{"sign in", v.Secret} }

func steppingIn(step *account.SignInStep) ceremony { return ceremony{"second step", step.Hash} }

// proving and adding take the id of the session, since its secret may change in between.
func (v *request) proving() ceremony { return ceremony{"confirm", v.Login.ID} }

func (v *request) adding() ceremony { return ceremony{"add", v.Login.ID} }

// hash returns the hash under which a challenge of the ceremony is stored.
func (c ceremony) hash(challenge string) string {
	return account.HashSecret("kith passkey challenge " + c.purpose + " " + account.HashSecret(c.browser) + " " + challenge)
}

// answerOptions stores the challenge of a ceremony, and answers the script with the options.
func (v *request) answerOptions(c ceremony, options any, challenge string, err error) error {
	if err != nil {
		return err
	}
	if err := account.CreatePasskeyChallenge(v.R.Context(), v.Store, c.hash(challenge)); err != nil {
		return err
	}
	document, err := json.Marshal(options)
	if err != nil {
		return err
	}
	v.W.Header().Set("Content-Type", "application/json")
	_, _ = v.W.Write(document) // the browser may have disconnected
	return nil
}

func noPasskeys() error {
	return page.Refuse(http.StatusNotFound, "Passkeys are not available here", "Browsers make passkeys for a host name, and this service has only an IP address.")
}

// passkeyOwner returns a member as a WebAuthn user, with the member's passkeys.
func (v *request) passkeyOwner(owner tenant.ID) (*passkey.Owner, error) {
	keys, err := account.ListPasskeys(v.R.Context(), v.Store, owner)
	return &passkey.Owner{ID: owner, Passkeys: keys}, err
}

// askPasskey answers with the options for one of a member's passkeys.
func (v *request) askPasskey(c ceremony, of tenant.ID) error {
	owner, err := v.passkeyOwner(of)
	if err != nil {
		return err
	}
	if v.passkeys == nil || len(owner.Passkeys) == 0 {
		return noPasskeys()
	}
	options, challenge, err := v.passkeys.Ask(owner)
	return v.answerOptions(c, options, challenge, err)
}

// The messages about a passkey that does not sign in.
const (
	wrongPasskey  = "This passkey does not work here. Try again, or go on another way."
	latePasskey   = "That took too long. Try again."
	clonedPasskey = "This passkey was refused: there may be a copy of it. Go on another way, and then remove it in the settings."
)

// checkPasskey checks the answer of a passkey, and returns the passkey and the proof to use up. If
// the answer is wrong, it records that, and returns a message instead of the proof. The passkey
// must belong to owner. If owner is empty, any member's passkey is accepted, and it stands for both
// factors.
func (v *request) checkPasskey(c ceremony, owner tenant.ID, typed string) (key *account.Passkey, proof account.PasskeyProof, wrong string, err error) {
	if v.passkeys == nil {
		return nil, proof, "", noPasskeys()
	}
	answer, err := passkey.Parse(typed)
	if err != nil {
		return v.refusePasskey(owner)
	}
	hash := c.hash(answer.Challenge())
	// The passkey is read first: if the same answer is used in between, the challenge is gone, and the counter
	// does not look like that of a copy.
	key, err = account.GetPasskey(v.R.Context(), v.Store, answer.CredentialID())
	if gone := account.FindPasskeyChallenge(v.R.Context(), v.Store, hash); fault.Is(gone, fault.NotFound) {
		return nil, proof, latePasskey, nil
	} else if gone != nil {
		return nil, proof, "", gone
	}
	if fault.Is(err, fault.NotFound) || err == nil && owner != "" && key.MemberID != owner {
		return v.refusePasskey(owner)
	}
	if err != nil {
		return nil, proof, "", err
	}
	count, err := v.passkeys.Check(answer, answer.Challenge(), key, owner == "")
	switch {
	case fault.Is(err, fault.Conflict):
		v.record(account.PasskeyCloned, key.MemberID, key.ID)
		return nil, proof, clonedPasskey, nil
	case err != nil:
		return v.refusePasskey(key.MemberID)
	}
	return key, account.PasskeyProof{PasskeyID: key.ID, ChallengeHash: hash, SignCount: count}, "", nil
}

// refusePasskey spends an attempt of the address, and records that a passkey of the member was wrong; an
// empty owner means that the member is unknown.
func (v *request) refusePasskey(owner tenant.ID) (_ *account.Passkey, _ account.PasskeyProof, wrong string, err error) {
	if err := v.attempt(v.addressLimit("passkey")); err != nil {
		return nil, account.PasskeyProof{}, "", err
	}
	if owner != "" {
		v.record(account.FactorFailed, owner, "")
	}
	return nil, account.PasskeyProof{}, wrongPasskey, nil
}
