package oauth

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Steps is how far a new member has come with agents.
type Steps struct {
	// Hidden is set if the member hid the steps.
	Hidden bool
	// Connected is set if the member allowed an agent or made a personal token, Called if one of
	// them made a call. Those that were revoked count until they are deleted.
	Connected, Called bool
}

const stepsText = `SELECT m.steps_hidden_at IS NOT NULL,
EXISTS (SELECT 1 FROM grants g WHERE g.member_id = m.id) OR EXISTS (SELECT 1 FROM personal_tokens t WHERE t.member_id = m.id),
EXISTS (SELECT 1 FROM grants g WHERE g.member_id = m.id AND g.last_used_at IS NOT NULL)
OR EXISTS (SELECT 1 FROM personal_tokens t WHERE t.member_id = m.id AND t.last_used_at IS NOT NULL)
FROM members m WHERE m.id = ?`

// GetSteps returns how far a member has come. It fails with fault.NotFound for an unknown member.
func GetSteps(ctx context.Context, s *db.DB, owner tenant.ID) (steps Steps, err error) {
	statement, err := s.Prepared(ctx, "steps", func() string { return stepsText })
	if err != nil {
		return steps, err
	}
	err = statement.Scan(ctx, string(owner), &steps.Hidden, &steps.Connected, &steps.Called)
	if errors.Is(err, sql.ErrNoRows) {
		return steps, fault.New(fault.NotFound, "there is no such member")
	}
	return steps, err
}
