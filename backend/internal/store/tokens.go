package store

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/token"
)

// CreatePersonalToken implements token.Store.
func (s *Store) CreatePersonalToken(ctx context.Context, t *token.PersonalToken) error {
	tokenID, err := s.ids.New(id.Token)
	if err != nil {
		return err
	}
	t.ID, t.CreatedAt = tokenID, s.time()
	_, err = s.engine.serviceWrite.NewInsert().Model(t).Exec(ctx)
	return translate(err)
}

// ListPersonalTokens implements token.Store.
func (s *Store) ListPersonalTokens(ctx context.Context, owner tenant.ID) ([]token.PersonalToken, error) {
	var tokens []token.PersonalToken
	err := s.engine.serviceRead.NewSelect().Model(&tokens).Where("member_id = ?", owner).Order("id DESC").Scan(ctx)
	return tokens, translate(err)
}

// RevokePersonalToken implements token.Store.
func (s *Store) RevokePersonalToken(ctx context.Context, owner tenant.ID, tokenID string, at time.Time) error {
	return s.updateOne(ctx, fault.New(fault.NotFound, "there is no live token %q", tokenID),
		"UPDATE personal_tokens SET revoked_at = ? WHERE id = ? AND member_id = ? AND revoked_at IS NULL", at, tokenID, owner)
}

// MarkTokenUsed notes when tokens were last used. It never moves a time back.
func (s *Store) MarkTokenUsed(ctx context.Context, tokenID string, at time.Time) error {
	_, err := s.engine.serviceWrite.NewRaw(
		"UPDATE personal_tokens SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)", at, tokenID, at).Exec(ctx)
	return translate(err)
}
