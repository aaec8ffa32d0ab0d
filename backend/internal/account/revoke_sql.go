package account

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// RevokeEverything ends all access of a member and of their agents: login sessions,
// links to an identity provider, requests for consent, codes, grants with their tokens,
// personal tokens and mail links. It fails with fault.NotFound if there is no such
// member or the account is the sandbox's.
func RevokeEverything(ctx context.Context, s *db.DB, owner tenant.ID) error {
	now := s.Now()
	err := s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		result, err := tx.NewRaw("UPDATE members SET updated_at = ?, access_epoch = access_epoch + 1 WHERE id = ?"+Writable, now, owner).Exec(ctx)
		if err := db.MustMeet(result, err, "there is no such member whose access can be revoked"); err != nil {
			return err
		}
		return revokeAll(ctx, tx, owner, now)
	})
	return err
}

// revokeAll ends all access in a transaction that has locked the member and starts a new epoch.
func revokeAll(ctx context.Context, tx db.Querier, owner tenant.ID, now time.Time) error {
	for _, step := range []struct {
		statement string
		args      []any
	}{
		{"DELETE FROM authorization_requests WHERE session_hash IN (SELECT hash FROM login_sessions WHERE member_id = ?)", []any{owner}},
		{"DELETE FROM login_sessions WHERE member_id = ?", []any{owner}},
		{deleteSteps, []any{owner}},
		{"DELETE FROM mail_links WHERE member_id = ?", []any{owner}},
		{"DELETE FROM linked_identities WHERE member_id = ?", []any{owner}},
		{"DELETE FROM authorization_codes WHERE member_id = ? AND used_at IS NULL", []any{owner}},
		{"UPDATE grants SET revoked_at = ? WHERE member_id = ? AND revoked_at IS NULL", []any{now, owner}},
		{"UPDATE personal_tokens SET revoked_at = ? WHERE member_id = ? AND revoked_at IS NULL", []any{now, owner}},
	} {
		if _, err := tx.NewRaw(step.statement, step.args...).Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// ReplacePassword sets the password of a member who has lost it, or whose account was
// taken over. It also ends all earlier access, as RevokeEverything does, and decides whose the account
// is if a former address waits to be restored: the address stays. It fails with fault.NotFound if there
// is no such member who may have a password.
func ReplacePassword(ctx context.Context, s *db.DB, owner tenant.ID, hash string) error {
	return s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		if err := replacePassword(ctx, s, tx, owner, hash); err != nil {
			return err
		}
		_, err := tx.NewRaw("DELETE FROM not_me_links WHERE member_id = ? AND restores_at IS NOT NULL", owner).Exec(ctx)
		return err
	})
}

func replacePassword(ctx context.Context, s *db.DB, tx db.Querier, owner tenant.ID, hash string) error {
	if err := setPassword(ctx, s, tx, owner, hash); err != nil {
		return err
	}
	return revokeAll(ctx, tx, owner, s.Now())
}
