package account

import (
	"context"
	"crypto/rand"
	"regexp"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
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
	// AttemptHash is the hash of a pending sign-in at an identity provider, which is linked to the member
	// when this step succeeds; empty without one.
	AttemptHash string
	ReturnTo    string
	// AccessEpoch is the member's access epoch when the password was checked.
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

// Proof is a second factor that was checked. It is used up in the transaction of the action that it
// permits, so it works only once.
type Proof interface {
	// use fails with fault.Unauthenticated if the proof was used in the meantime.
	use(ctx context.Context, s *db.DB, tx db.Querier, owner tenant.ID) error
}

// CodeProof is the time step of a code from the member's app.
type CodeProof struct{ Step int64 }

func (p CodeProof) use(ctx context.Context, s *db.DB, tx db.Querier, owner tenant.ID) error {
	return useUp(ctx, tx, "UPDATE totp_secrets SET last_step = ?, last_used_at = ? WHERE member_id = ? AND last_step < ?", p.Step, s.Now(), owner, p.Step)
}

// RecoveryProof is the hash of one of the member's recovery codes.
type RecoveryProof struct{ Hash string }

func (p RecoveryProof) use(ctx context.Context, _ *db.DB, tx db.Querier, owner tenant.ID) error {
	return useUp(ctx, tx, "DELETE FROM recovery_codes WHERE hash = ? AND member_id = ?", p.Hash, owner)
}

func useUp(ctx context.Context, tx db.Querier, statement string, args ...any) error {
	result, err := tx.NewRaw(statement, args...).Exec(ctx)
	if err := db.MustMeet(result, err, "it was used already"); fault.Is(err, fault.NotFound) {
		return fault.New(fault.Unauthenticated, "it was used already")
	} else if err != nil {
		return err
	}
	return nil
}

// UseProof uses up a proof of a member who is signed in. It fails with fault.Unauthenticated if it
// was used already.
func UseProof(ctx context.Context, s *db.DB, owner tenant.ID, p Proof) error {
	return s.Write(ctx, func(ctx context.Context, tx db.Querier) error { return p.use(ctx, s, tx, owner) })
}

// GetSecondFactors returns the second factors of a member; the zero value if there is no such
// member.
func GetSecondFactors(ctx context.Context, s *db.DB, owner tenant.ID) (f SecondFactors, err error) {
	err = s.NewRaw(`SELECT EXISTS (SELECT 1 FROM totp_secrets WHERE member_id = ?), (SELECT count(*) FROM passkeys WHERE member_id = ?),
(SELECT count(*) FROM recovery_codes WHERE member_id = ?)`, owner, owner, owner).Scan(ctx, &f.TOTP, &f.Passkeys, &f.RecoveryCodes)
	return f, err
}

// GetTOTPSecret returns the secret of a member's app, or fault.NotFound.
func GetTOTPSecret(ctx context.Context, s *db.DB, owner tenant.ID) (*TOTPSecret, error) {
	row := &TOTPSecret{}
	err := s.NewSelect().Model(row).Where("member_id = ?", owner).Scan(ctx)
	return db.Found(row, err, "there is no app for one-time codes")
}

// CreateTOTPSecret turns one-time codes on. The secret's LastStep is the time step of the code that
// confirmed it. If this is the first second factor, the member also gets the recovery codes, and
// their other login sessions end, because those began without it; keep is the hash of the session to
// keep. It returns whether it was the first. It starts a new epoch of access. It fails with
// fault.Conflict if the member already has an app, and with ErrAccessEnded if the access that adds it
// was revoked.
func CreateTOTPSecret(ctx context.Context, s *db.DB, row *TOTPSecret, codes []string, keep string) (first bool, err error) {
	row.CreatedAt = s.Now()
	row.LastUsedAt = row.CreatedAt
	row.Access.Owner = row.MemberID
	err = changeAccess(ctx, s, row.Access, func(ctx context.Context, tx db.Querier) error {
		first = false
		on, err := hasFactors(ctx, tx, row.MemberID)
		if err != nil {
			return err
		}
		if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
			return err
		}
		if !on {
			first = true
			if err := beginFactors(ctx, s, tx, row.MemberID, codes, keep); err != nil {
				return err
			}
		}
		return raiseEpoch(ctx, tx, row.MemberID)
	})
	if db.IsTaken(err) {
		err = fault.New(fault.Conflict, "an app for one-time codes is already set up")
	}
	return first && err == nil, err
}

// beginFactors ends the other sessions and stores recovery codes, for a member's first second factor.
func beginFactors(ctx context.Context, s *db.DB, tx db.Querier, owner tenant.ID, codes []string, keep string) error {
	if _, err := tx.NewRaw("DELETE FROM login_sessions WHERE member_id = ? AND hash <> ?", owner, keep).Exec(ctx); err != nil {
		return err
	}
	return insertCodes(ctx, s, tx, owner, codes)
}

// insertCodes stores recovery codes of a member.
func insertCodes(ctx context.Context, s *db.DB, tx db.Querier, owner tenant.ID, codes []string) error {
	for _, code := range codes {
		_, err := tx.NewRaw("INSERT INTO recovery_codes (hash, member_id, created_at) VALUES (?, ?, ?)", HashRecoveryCode(owner, code), owner, s.Now()).Exec(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

// ReplaceRecoveryCodes replaces a member's recovery codes. It fails with fault.NotFound if the
// member has no second factor, and with ErrAccessEnded if the access was revoked.
func ReplaceRecoveryCodes(ctx context.Context, s *db.DB, a Access, codes []string) error {
	return changeAccess(ctx, s, a, func(ctx context.Context, tx db.Querier) error {
		owner := a.Owner
		on, err := hasFactors(ctx, tx, owner)
		if err != nil {
			return err
		}
		if !on {
			return fault.New(fault.NotFound, "there is no second factor")
		}
		if _, err := tx.NewRaw("DELETE FROM recovery_codes WHERE member_id = ?", owner).Exec(ctx); err != nil {
			return err
		}
		return insertCodes(ctx, s, tx, owner, codes)
	})
}

// hasFactors reports whether a member has a second factor.
func hasFactors(ctx context.Context, tx db.Querier, owner tenant.ID) (on bool, err error) {
	return on, tx.NewRaw("SELECT "+hasFactor("?0"), owner).Scan(ctx, &on)
}

// hasFactor returns the SQL condition that the member with the id in an expression has a second
// factor.
func hasFactor(member string) string {
	return "(EXISTS (SELECT 1 FROM totp_secrets f WHERE f.member_id = " + member + ") OR EXISTS (SELECT 1 FROM passkeys k WHERE k.member_id = " + member + "))"
}

// DeleteTOTPSecret turns one-time codes off. With the last second factor it also deletes the recovery
// codes. It starts a new epoch of access. It fails with fault.NotFound if there is no app, and with
// ErrAccessEnded if the access was revoked.
func DeleteTOTPSecret(ctx context.Context, s *db.DB, a Access) error {
	return changeAccess(ctx, s, a, func(ctx context.Context, tx db.Querier) error {
		return deleteFactor(ctx, tx, a.Owner, "there is no app for one-time codes", "DELETE FROM totp_secrets WHERE member_id = ?", a.Owner)
	})
}

// deleteFactor runs a statement that deletes a second factor, deletes the recovery codes if it was the
// last one, and starts a new epoch. The member must be locked with changeLock.
func deleteFactor(ctx context.Context, tx db.Querier, owner tenant.ID, missing, statement string, args ...any) error {
	result, err := tx.NewRaw(statement, args...).Exec(ctx)
	if err := db.MustMeet(result, err, missing); err != nil {
		return err
	}
	if err := dropUselessCodes(ctx, tx, owner); err != nil {
		return err
	}
	return raiseEpoch(ctx, tx, owner)
}

// DeleteSecondFactors removes all second factors and recovery codes of a member, for an operator,
// and ends the member's login sessions. Afterwards the password alone is enough to sign in. It fails
// with fault.NotFound if there are none.
func DeleteSecondFactors(ctx context.Context, s *db.DB, owner tenant.ID) error {
	return RevokeAccess(ctx, s, owner, func(ctx context.Context, tx db.Querier) error {
		on, err := hasFactors(ctx, tx, owner)
		if err != nil {
			return err
		}
		if !on {
			return fault.New(fault.NotFound, "there is no second factor")
		}
		for _, statement := range []string{
			"DELETE FROM totp_secrets WHERE member_id = ?", "DELETE FROM passkeys WHERE member_id = ?", "DELETE FROM recovery_codes WHERE member_id = ?", deleteSteps,
			"DELETE FROM login_sessions WHERE member_id = ?",
		} {
			if _, err := tx.NewRaw(statement, owner).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// deleteFactorsSince removes the second factors of a member that were added at a time or later, and the
// recovery codes if none is left.
func deleteFactorsSince(ctx context.Context, tx db.Querier, owner tenant.ID, since time.Time) error {
	for _, table := range []string{"totp_secrets", "passkeys"} {
		if _, err := tx.NewRaw("DELETE FROM "+table+" WHERE member_id = ? AND created_at >= ?", owner, since).Exec(ctx); err != nil {
			return err
		}
	}
	return dropUselessCodes(ctx, tx, owner)
}

// dropUselessCodes deletes the recovery codes of a member without a second factor.
func dropUselessCodes(ctx context.Context, tx db.Querier, owner tenant.ID) error {
	_, err := tx.NewRaw("DELETE FROM recovery_codes WHERE member_id = ? AND NOT "+hasFactor("recovery_codes.member_id"), owner).Exec(ctx)
	return err
}

// FindRecoveryCode returns the proof for a recovery code of the member, as typed, or
// fault.NotFound.
func FindRecoveryCode(ctx context.Context, s *db.DB, owner tenant.ID, typed string) (Proof, error) {
	proof := RecoveryProof{Hash: HashRecoveryCode(owner, typed)}
	var found int
	err := s.NewRaw("SELECT 1 FROM recovery_codes WHERE hash = ? AND member_id = ?", proof.Hash, owner).Scan(ctx, &found)
	if _, err := db.Found(&found, err, "there is no such recovery code"); err != nil {
		return nil, err
	}
	return proof, nil
}

// ListTOTPSecrets returns the secrets of all members.
func ListTOTPSecrets(ctx context.Context, s *db.DB) ([]TOTPSecret, error) {
	var rows []TOTPSecret
	err := s.NewSelect().Model(&rows).Order("member_id").Scan(ctx)
	return rows, err
}

// ResealTOTPSecret replaces the encrypted form of a secret, unless it has changed since it was
// read.
func ResealTOTPSecret(ctx context.Context, s *db.DB, row *TOTPSecret, sealed string) error {
	_, err := s.NewWrite("UPDATE totp_secrets SET secret = ? WHERE member_id = ? AND secret = ?", sealed, row.MemberID, row.Secret).Exec(ctx)
	return err
}

const stepOver = "the sign-in has expired or was completed"

// deleteSteps ends the sign-ins of a member that wait for the second factor.
const deleteSteps = "DELETE FROM sign_in_steps WHERE member_id = ?"

// CreateSignInStep stores a sign-in that waits for the second factor, for SignInStepLifetime. It fails
// with ErrAccessEnded if the member's access was revoked after row.AccessEpoch was read.
func CreateSignInStep(ctx context.Context, s *db.DB, row *SignInStep) error {
	row.CreatedAt = s.Now()
	row.ExpiresAt = row.CreatedAt.Add(SignInStepLifetime)
	return StoreCredential(ctx, s, Access{Owner: row.MemberID, Epoch: row.AccessEpoch}, func(ctx context.Context, tx db.Querier) error {
		_, err := tx.NewInsert().Model(row).Exec(ctx)
		return err
	})
}

// GetSignInStep returns a waiting sign-in, or fault.NotFound.
func GetSignInStep(ctx context.Context, s *db.DB, hash string) (*SignInStep, error) {
	row := &SignInStep{}
	err := s.NewSelect().Model(row).Where("hash = ?", hash).Where("expires_at > ?", s.Now()).Scan(ctx)
	return db.Found(row, err, stepOver)
}

// CompletePasskeySignIn uses up a passkey's answer, which stands for both factors, and inserts the
// session, all or nothing. It fails with fault.Unauthenticated if the answer was already used, and with
// ErrAccessEnded if access was revoked since the epoch of the session, which is read with the passkey.
func CompletePasskeySignIn(ctx context.Context, s *db.DB, owner tenant.ID, p PasskeyProof, session *LoginSession) error {
	return StoreCredential(ctx, s, Access{Owner: owner, Epoch: session.AccessEpoch}, func(ctx context.Context, tx db.Querier) error {
		if err := p.use(ctx, s, tx, owner); err != nil {
			return err
		}
		return insertLoginSession(ctx, s, tx, session)
	})
}

// CompleteSignIn uses up the waiting sign-in and the second factor, and inserts the session, all or
// nothing. It fails with fault.NotFound if the sign-in no longer waits, and with
// fault.Unauthenticated if the second factor was already used. It fails with ErrAccessEnded if access was
// revoked since the step was made.
func CompleteSignIn(ctx context.Context, s *db.DB, step *SignInStep, p Proof, session *LoginSession) error {
	return StoreCredential(ctx, s, step.access(), func(ctx context.Context, tx db.Querier) error {
		result, err := tx.NewRaw("DELETE FROM sign_in_steps WHERE hash = ? AND member_id = ? AND expires_at > ?", step.Hash, step.MemberID, s.Now()).Exec(ctx)
		if err := db.MustMeet(result, err, stepOver); err != nil {
			return err
		}
		if err := p.use(ctx, s, tx, step.MemberID); err != nil {
			return err
		}
		return insertLoginSession(ctx, s, tx, session)
	})
}
