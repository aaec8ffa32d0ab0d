package web

import (
	"github.com/kith-crm/kith/backend/internal/account"
)

// raiseCost hashes the password of the form again if the cost was raised since the member's hash
// was made. The member has just given the right password. If hashing fails, it logs the error, and
// the next sign-in tries again.
func (v *request) raiseCost(m *account.Member) error {
	if !v.PasswordCost.CostsMoreThan(m.PasswordHash) {
		return nil
	}
	known := v.knownDevice(m) != ""
	upgradedHash, err := v.hashPassword(v.R.PostForm.Get(fieldPassword))
	if err == nil {
		err = account.RaisePasswordHash(v.R.Context(), v.Store, m.ID, m.PasswordHash, upgradedHash)
	}
	if err != nil {
		v.Logger.WarnContext(v.R.Context(), "a password cannot be hashed at the new cost", "error", err)
		return nil
	}
	v.cheaperHash, m.PasswordHash = m.PasswordHash, upgradedHash
	if !known {
		return nil
	}
	return v.rememberDevice(m) // the browser's cookie depends on the hash
}
