package store

import (
	"context"

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
