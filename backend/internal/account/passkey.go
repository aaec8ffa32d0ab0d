package account

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// Passkey is a passkey of a member (a WebAuthn credential), and its row. A member can sign in with
// it alone, or use it as the second factor after the password.
type Passkey struct {
	bun.BaseModel `bun:"table:passkeys"`

	ID       string `bun:",pk"`
	MemberID tenant.ID
	// CredentialID is the credential id that the authenticator chose, in base64url.
	CredentialID string
	// PublicKey is a COSE key (RFC 9052).
	PublicKey []byte
	// Transports are the ways in which browsers reach the authenticator, separated by commas.
	Transports string
	// BackupEligible is set if the passkey may be copied to other devices of the member. It never changes.
	BackupEligible bool
	// SignCount is the authenticator's counter at the last use; 0 if it does not count.
	SignCount             uint32
	Name                  string
	CreatedAt, LastUsedAt time.Time
	// AccessEpoch is the member's, read with the passkey by GetPasskey.
	AccessEpoch int64 `bun:",scanonly"`
	// Access adds the passkey. Its owner is MemberID.
	Access Access `bun:"-"`
}

const (
	// PasskeyChallengeLifetime is how long a browser may take to answer a challenge.
	PasskeyChallengeLifetime = 10 * time.Minute
	// MaxPasskeys is how many passkeys a member may have.
	MaxPasskeys = 20
)

// PasskeyProof is a passkey's checked answer to a challenge.
type PasskeyProof struct {
	// PasskeyID is the passkey, ChallengeHash the hash of the challenge.
	PasskeyID, ChallengeHash string
	// SignCount is the counter in the answer.
	SignCount uint32
}

// use implements Proof. A challenge is answered once, and the counter must grow unless the
// authenticator has none (WebAuthn Level 3, section 7.2, step 22).
func (p PasskeyProof) use(ctx context.Context, s *db.DB, tx db.Querier, owner tenant.ID) error {
	if err := usePasskeyChallenge(ctx, s, tx, p.ChallengeHash); err != nil {
		return err
	}
	return useUp(ctx, tx, "UPDATE passkeys SET sign_count = ?, last_used_at = ? WHERE id = ? AND member_id = ? AND (sign_count < ? OR (sign_count = 0 AND ? = 0))",
		p.SignCount, s.Now(), p.PasskeyID, owner, p.SignCount, p.SignCount)
}

// CreatePasskeyChallenge stores the hash of a challenge for PasskeyChallengeLifetime.
func CreatePasskeyChallenge(ctx context.Context, s *db.DB, hash string) error {
	_, err := s.NewWrite("INSERT INTO passkey_challenges (hash, created_at, expires_at) VALUES (?, ?, ?)", hash, s.Now(), s.Now().Add(PasskeyChallengeLifetime)).Exec(ctx)
	return err
}

// FindPasskeyChallenge fails with fault.NotFound unless the challenge can still be answered.
func FindPasskeyChallenge(ctx context.Context, s *db.DB, hash string) error {
	var found int
	err := s.NewRaw("SELECT 1 FROM passkey_challenges WHERE hash = ? AND expires_at > ?", hash, s.Now()).Scan(ctx, &found)
	_, err = db.Found(&found, err, "the challenge has expired or was answered")
	return err
}

func usePasskeyChallenge(ctx context.Context, s *db.DB, tx db.Querier, hash string) error {
	return useUp(ctx, tx, "DELETE FROM passkey_challenges WHERE hash = ? AND expires_at > ?", hash, s.Now())
}

// CreatePasskey adds a passkey that answered a challenge, and sets its id. If it is the first second
// factor, the member also gets the recovery codes, and their other login sessions end, as with
// CreateTOTPSecret; keep is the hash of the one to keep. It returns whether it was the first. It fails
// with fault.Unauthenticated if the challenge was used, and with fault.Conflict if the passkey is known
// or the member has MaxPasskeys. It starts a new epoch of access, and fails with ErrAccessEnded if the
// access that adds it was revoked.
func CreatePasskey(ctx context.Context, s *db.DB, row *Passkey, challengeHash string, codes []string, keep string) (first bool, err error) {
	if row.ID, err = s.NewID(id.Passkey); err != nil {
		return false, err
	}
	row.CreatedAt = s.Now()
	row.LastUsedAt = row.CreatedAt
	row.Access.Owner = row.MemberID
	err = changeAccess(ctx, s, row.Access, func(ctx context.Context, tx db.Querier) error {
		first = false
		on, err := hasFactors(ctx, tx, row.MemberID)
		if err != nil {
			return err
		}
		if err := usePasskeyChallenge(ctx, s, tx, challengeHash); err != nil {
			return err
		}
		var count int
		if err := tx.NewRaw("SELECT count(*) FROM passkeys WHERE member_id = ?", row.MemberID).Scan(ctx, &count); err != nil {
			return err
		}
		if count >= MaxPasskeys {
			return fault.New(fault.Conflict, "there are %d passkeys already: remove one first", MaxPasskeys)
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
		err = fault.New(fault.Conflict, "this passkey is added already")
	}
	return first && err == nil, err
}

// ListPasskeys returns the passkeys of a member, the oldest first.
func ListPasskeys(ctx context.Context, s *db.DB, owner tenant.ID) ([]Passkey, error) {
	var rows []Passkey
	err := s.NewSelect().Model(&rows).Where("member_id = ?", owner).Order("id").Scan(ctx)
	return rows, err
}

// GetPasskey returns the passkey with a credential id, of any member, with the epoch of that member's
// access. It fails with
// fault.NotFound.
func GetPasskey(ctx context.Context, s *db.DB, credentialID string) (*Passkey, error) {
	row := &Passkey{}
	err := s.NewSelect().Model(row).ColumnExpr("?TableColumns").ColumnExpr("m.access_epoch").
		Join("JOIN members AS m ON m.id = ?TableAlias.member_id").Where("?TableAlias.credential_id = ?", credentialID).Scan(ctx)
	return db.Found(row, err, "there is no such passkey")
}

// DeletePasskey removes a passkey of a member. If it was the last second factor, the recovery codes
// are deleted, too. It starts a new epoch of access. It fails with fault.NotFound if the member has no
// such passkey, and with ErrAccessEnded if the access was revoked.
func DeletePasskey(ctx context.Context, s *db.DB, a Access, passkeyID string) error {
	return changeAccess(ctx, s, a, func(ctx context.Context, tx db.Querier) error {
		return deleteFactor(ctx, tx, a.Owner, "there is no such passkey", "DELETE FROM passkeys WHERE id = ? AND member_id = ?", passkeyID, a.Owner)
	})
}
