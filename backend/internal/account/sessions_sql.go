package account

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// CreateLoginSession inserts a login session.
func CreateLoginSession(ctx context.Context, s *db.DB, row *LoginSession) error {
	row.CreatedAt = s.Now()
	_, err := s.NewInsert().Model(row).Exec(ctx)
	return err
}

// GetLoginSession returns a live session of a member who may sign in, or
// fault.NotFound.
func GetLoginSession(ctx context.Context, s *db.DB, hash string) (*LoginSession, error) {
	row := &LoginSession{}
	err := s.NewSelect().Model(row).ColumnExpr("?TableAlias.*").ColumnExpr("m.username, p.name, m.email, m.timezone, m.locale").
		Join("JOIN members AS m ON m.id = ?TableAlias.member_id").
		Join("JOIN profiles AS p ON p.member_id = m.id").
		Join("JOIN tenant_states AS st ON st.tenant_id = m.id AND NOT st.read_only").
		Where("?TableAlias.hash = ?", hash).Where("?TableAlias.expires_at > ?", s.Now()).Where("m.suspended_at IS NULL").Scan(ctx)
	return db.Found(row, err, "the login session has ended")
}

// DeleteLoginSession ends a session; it is no error if the session does not exist.
func DeleteLoginSession(ctx context.Context, s *db.DB, hash string) error {
	_, err := s.NewWrite("DELETE FROM login_sessions WHERE hash = ?", hash).Exec(ctx)
	return err
}

// DeleteLoginSessions ends all sessions of a member except the one to keep.
func DeleteLoginSessions(ctx context.Context, s *db.DB, owner tenant.ID, keep string) error {
	_, err := s.NewWrite("DELETE FROM login_sessions WHERE member_id = ? AND hash <> ?", owner, keep).Exec(ctx)
	return err
}
