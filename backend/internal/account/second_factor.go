package account

import (
	"crypto/rand"
	"regexp"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// SecondFactors are what a member has besides the password. As soon as they have one, a password
// alone signs nobody in.
type SecondFactors struct {
	// TOTP is set if the member has an app for one-time codes.
	TOTP bool
	// Passkeys is how many passkeys the member has.
	Passkeys int
	// RecoveryCodes is how many of the member's recovery codes are unused.
	RecoveryCodes int
}

// On reports whether signing in takes a second factor. Recovery codes alone are none.
func (f SecondFactors) On() bool { return f.TOTP || f.Passkeys > 0 }

// TOTPSecret is the secret of a member's app for one-time codes, and its row.
type TOTPSecret struct {
	bun.BaseModel `bun:"table:totp_secrets"`

	MemberID tenant.ID `bun:",pk"`
	// Secret is encrypted by package secretkey, for TOTPPurpose and the member.
	Secret string
	// LastStep is the step of the last code that was used. Codes of it and of earlier steps
	// don't work any more.
	LastStep   int64
	CreatedAt  time.Time
	LastUsedAt time.Time
}

// TOTPPurpose is what the secrets of TOTPSecret are encrypted for.
const TOTPPurpose = "totp"

// TOTPObject is the object of security events about the app for one-time codes.
const TOTPObject = "totp"

// SignInStep is a sign-in that waits for the second factor, and its row. It belongs to the browser
// that has its secret in a cookie, and gives no access.
type SignInStep struct {
	// Hash is that of the secret.
	Hash     string `bun:",pk"`
	MemberID tenant.ID
	// AttemptHash is the sign-in at a provider that is linked to the member afterwards; empty
	// for none.
	AttemptHash string
	ReturnTo    string
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// SignInStepLifetime is how long a sign-in waits for the second factor.
const SignInStepLifetime = 10 * time.Minute

// recoveryCodes is how many recovery codes a member gets at once.
const recoveryCodes = 10

// recoveryLength is the length of a recovery code without its hyphens. In base32 it has 80 random
// bits: too many to guess, also from the hash.
const recoveryLength = 16

// NewRecoveryCodes generates ten recovery codes as a person reads them.
func NewRecoveryCodes() []string {
	codes := make([]string, recoveryCodes)
	for i := range codes {
		text := strings.ToLower(rand.Text()[:recoveryLength])
		codes[i] = text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:]
	}
	return codes
}

var notInRecoveryCode = regexp.MustCompile(`[^a-z2-7]+`)

// HashRecoveryCode returns the form in which a member's recovery code is stored. Case, spaces and
// hyphens don't count.
func HashRecoveryCode(owner tenant.ID, typed string) string {
	return HashSecret("kith recovery code " + string(owner) + " " + notInRecoveryCode.ReplaceAllString(strings.ToLower(typed), ""))
}
