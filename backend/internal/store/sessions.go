package store

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/session"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// CreateLoginSession implements session.Store.
func (s *Store) CreateLoginSession(ctx context.Context, row *session.LoginSession) error {
	row.CreatedAt = s.time()
	_, err := s.engine.serviceWrite.NewInsert().Model(row).Exec(ctx)
	return translate(err)
}

// GetLoginSession implements session.Store.
func (s *Store) GetLoginSession(ctx context.Context, hash string) (*session.LoginSession, error) {
	row := &session.LoginSession{}
	err := s.engine.serviceRead.NewSelect().Model(row).ColumnExpr("?TableAlias.*").ColumnExpr("m.username, m.email, m.timezone").
		Join("JOIN members AS m ON m.id = ?TableAlias.member_id").
		Join("JOIN tenant_states AS st ON st.tenant_id = m.id AND NOT st.read_only").
		Where("?TableAlias.hash = ?", hash).Where("?TableAlias.expires_at > ?", s.time()).Where("m.suspended_at IS NULL").Scan(ctx)
	return found(row, err, "the login session has ended")
}

// DeleteLoginSession implements session.Store.
func (s *Store) DeleteLoginSession(ctx context.Context, hash string) error {
	_, err := s.engine.serviceWrite.NewRaw("DELETE FROM login_sessions WHERE hash = ?", hash).Exec(ctx)
	return translate(err)
}

// DeleteLoginSessions implements session.Store.
func (s *Store) DeleteLoginSessions(ctx context.Context, owner tenant.ID, keep string) error {
	_, err := s.engine.serviceWrite.NewRaw("DELETE FROM login_sessions WHERE member_id = ? AND hash <> ?", owner, keep).Exec(ctx)
	return translate(err)
}

// CountLoginAttempt implements session.Store.
func (s *Store) CountLoginAttempt(ctx context.Context, subject string, window time.Duration) (count int, resetAt time.Time, err error) {
	now := s.time()
	err = s.engine.serviceWrite.NewRaw(`INSERT INTO login_attempts (subject, count, expires_at) VALUES (?, 1, ?)
ON CONFLICT (subject) DO UPDATE SET
count = CASE WHEN login_attempts.expires_at > ? THEN login_attempts.count + 1 ELSE 1 END,
expires_at = CASE WHEN login_attempts.expires_at > ? THEN login_attempts.expires_at ELSE excluded.expires_at END
RETURNING count, expires_at`, subject, now.Add(window), now, now).Scan(ctx, &count, &resetAt)
	return count, resetAt, translate(err)
}
