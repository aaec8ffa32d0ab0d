package account

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// KeepSecurityEvents is how long security events are stored.
const KeepSecurityEvents = 90 * 24 * time.Hour

// CreateSecurityEvent stores an event with the current time.
func CreateSecurityEvent(ctx context.Context, s *db.DB, e *SecurityEvent) error {
	e.At = s.Now()
	_, err := s.NewInsert().Model(e).Exec(ctx)
	return err
}

// ListSecurityEvents returns a member's latest events, the latest first.
func ListSecurityEvents(ctx context.Context, s *db.DB, owner tenant.ID, limit int) ([]SecurityEvent, error) {
	var events []SecurityEvent
	err := s.NewSelect().Model(&events).Where("tenant_id = ?", owner).Order("id DESC").Limit(int64(limit)).Scan(ctx)
	return events, err
}

// SuspendMember suspends a member: no sign-in, token or grant works, and their page and
// directory entry are hidden. Their login sessions end; the rest works again after
// ResumeMember. It fails with fault.NotFound if there is no such member, and with
// fault.Conflict if the member is already suspended.
func SuspendMember(ctx context.Context, s *db.DB, username string) (owner tenant.ID, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		now := s.Now()
		owner, err = setSuspended(ctx, tx, username, "UPDATE members SET suspended_at = ?, updated_at = ? WHERE username = ? AND suspended_at IS NULL", now, now)
		if err != nil {
			return err
		}
		for _, statement := range []string{
			"DELETE FROM authorization_requests WHERE session_hash IN (SELECT hash FROM login_sessions WHERE member_id = ?)",
			"DELETE FROM login_sessions WHERE member_id = ?",
		} {
			if _, err := tx.NewRaw(statement, owner).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return owner, err
}

// ResumeMember ends a member's suspension. It fails with fault.NotFound if there is no
// such member, and with fault.Conflict if the member is not suspended.
func ResumeMember(ctx context.Context, s *db.DB, username string) (owner tenant.ID, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		owner, err = setSuspended(ctx, tx, username, "UPDATE members SET suspended_at = NULL, updated_at = ? WHERE username = ? AND suspended_at IS NOT NULL", s.Now())
		return err
	})
	return owner, err
}

func setSuspended(ctx context.Context, tx db.Querier, username, statement string, args ...any) (owner tenant.ID, err error) {
	err = tx.NewRaw("SELECT id FROM members WHERE username = ?"+Writable, username).Scan(ctx, &owner)
	if _, err = db.Found(&owner, err, "there is no member "+username+" who can be suspended"); err != nil {
		return "", err
	}
	result, err := tx.NewRaw(statement, append(args, username)...).Exec(ctx)
	if err != nil {
		return "", err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return "", fault.New(fault.Conflict, "nothing to do: %s is in that state already", username)
	}
	return owner, nil
}
