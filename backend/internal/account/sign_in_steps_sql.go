package account

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

const stepOver = "the sign-in has expired or was completed"

// deleteSteps ends the sign-ins of a member that wait for the second factor.
const deleteSteps = "DELETE FROM sign_in_steps WHERE member_id = ?"

// CreateSignInStep stores a sign-in that waits for the second factor, for SignInStepLifetime. It fails
// with ErrAccessEnded if access was revoked since the epoch of the row.
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
