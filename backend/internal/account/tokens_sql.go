package account

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// CreatePersonalToken inserts a personal token and sets its id. It fails with fault.Exhausted if the
// member has MaxTokens live ones, and with ErrAccessEnded if the access that makes it was revoked.
func CreatePersonalToken(ctx context.Context, s *db.DB, t *PersonalToken) error {
	tokenID, err := s.NewID(id.Token)
	if err != nil {
		return err
	}
	t.ID, t.CreatedAt = tokenID, s.Now()
	t.Access.Owner = t.MemberID
	// The exclusive lock makes the count right for tokens that are made at the same time.
	return changeAccess(ctx, s, t.Access, func(ctx context.Context, tx db.Querier) error {
		var live int
		err := tx.NewRaw("SELECT count(*) FROM personal_tokens WHERE member_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)",
			t.MemberID, t.CreatedAt).Scan(ctx, &live)
		if err != nil {
			return err
		}
		if live >= MaxTokens {
			return fault.New(fault.Exhausted, "there are %d tokens already: revoke one first", live)
		}
		_, err = tx.NewInsert().Model(t).Exec(ctx)
		return err
	})
}

// ListPersonalTokens returns a member's tokens, newest first, revoked ones included.
func ListPersonalTokens(ctx context.Context, s *db.DB, owner tenant.ID) ([]PersonalToken, error) {
	var tokens []PersonalToken
	err := s.NewSelect().Model(&tokens).Where("member_id = ?", owner).Order("id DESC").Scan(ctx)
	return tokens, err
}

// RevokePersonalToken revokes a token of the member; it fails with fault.NotFound if
// the member has no such live token.
func RevokePersonalToken(ctx context.Context, s *db.DB, owner tenant.ID, tokenID string, at time.Time) error {
	return updateOne(ctx, s, fault.New(fault.NotFound, "there is no live token %q", tokenID),
		"UPDATE personal_tokens SET revoked_at = ? WHERE id = ? AND member_id = ? AND revoked_at IS NULL", at, tokenID, owner)
}

// SetTokenAsks sets the acts for which a token needs the member's approval. It fails with
// fault.NotFound if the member has no such live token.
func SetTokenAsks(ctx context.Context, s *db.DB, owner tenant.ID, tokenID string, asks tenant.ApprovalPolicy) error {
	return updateOne(ctx, s, fault.New(fault.NotFound, "there is no live token %q", tokenID),
		"UPDATE personal_tokens SET asks = ? WHERE id = ? AND member_id = ? AND revoked_at IS NULL", asks.String(), tokenID, owner)
}

// MarkTokenUsed records when tokens were last used. It never sets an earlier time.
func MarkTokenUsed(ctx context.Context, s *db.DB, tokenID string, at time.Time) error {
	_, err := s.NewWrite(
		"UPDATE personal_tokens SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)", at, tokenID, at).Exec(ctx)
	return err
}
