package account

import (
	"crypto/rand"
	"regexp"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// SecondFactors are the second factors of a member. If there is one, the password alone is not
// enough to sign in.
type SecondFactors struct {
	// TOTP is set if the member has an app for one-time codes.
	TOTP bool
	// Passkeys is how many passkeys the member has.
	Passkeys int
	// RecoveryCodes is how many of the member's recovery codes are unused.
	RecoveryCodes int
}

// On reports whether signing in requires a second factor. Recovery codes alone do not count.
func (f SecondFactors) On() bool { return f.TOTP || f.Passkeys > 0 }

// TOTPSecret is the secret of a member's app for one-time codes, and its row.
type TOTPSecret struct {
	bun.BaseModel `bun:"table:totp_secrets"`

	MemberID tenant.ID `bun:",pk"`
	// Secret is encrypted by package secretkey, for TOTPPurpose and the member.
	Secret string
	// LastStep is the time step of the last used code. Codes of this and earlier steps are not
	// accepted any more.
	LastStep   int64
	CreatedAt  time.Time
	LastUsedAt time.Time
	// Access adds the app. Its owner is MemberID.
	Access Access `bun:"-"`
}

// TOTPPurpose is the purpose with which secrets of TOTPSecret are encrypted.
const TOTPPurpose = "totp"

// TOTPObject is the object of security events about the app for one-time codes.
const TOTPObject = "totp"

// SignInStep is a sign-in that waits for the second factor, and its row. The browser has its secret
// in a cookie, which gives no access.
type SignInStep struct {
	// Hash is the hash of the secret.
	Hash     string `bun:",pk"`
	MemberID tenant.ID
	// AttemptHash is the hash of a sign-in at an identity provider that is linked to the member
	// afterwards; empty for none.
	AttemptHash string
	ReturnTo    string
	// AccessEpoch is the member's when the password was checked.
	AccessEpoch int64
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// access returns the access with which the sign-in began.
func (s *SignInStep) access() Access { return Access{Owner: s.MemberID, Epoch: s.AccessEpoch} }

// SignInStepLifetime is how long a sign-in waits for the second factor.
const SignInStepLifetime = 10 * time.Minute

// recoveryCodes is how many recovery codes a member gets at once.
const recoveryCodes = 10

// recoveryLength is the length of a recovery code without its hyphens. In base32 these are 80 random
// bits: too many to guess, even with the hash.
const recoveryLength = 16

// NewRecoveryCodes generates ten recovery codes with hyphens, for display.
func NewRecoveryCodes() []string {
	codes := make([]string, recoveryCodes)
	for i := range codes {
		text := strings.ToLower(rand.Text()[:recoveryLength])
		codes[i] = text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:]
	}
	return codes
}

var notInRecoveryCode = regexp.MustCompile(`[^a-z2-7]+`)

// HashRecoveryCode returns the hash of a member's recovery code, as it is stored. It ignores case,
// spaces and hyphens.
func HashRecoveryCode(owner tenant.ID, typed string) string {
	return HashSecret("kith recovery code " + string(owner) + " " + notInRecoveryCode.ReplaceAllString(strings.ToLower(typed), ""))
}
