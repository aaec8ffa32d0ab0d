package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/token"
)

// authStatement finds a credential by its hash: the one read that every call
// pays, so it is prepared by hand.
type authStatement struct {
	stmt *sql.Stmt
	db   *sql.DB
	text string
	mode []any
}

const authText = `SELECT t.id, t.name, t.scopes, t.expires_at, m.id, m.username, m.timezone, m.plan, p.name, s.read_only, s.data_version
FROM personal_tokens t
JOIN members m ON m.id = t.member_id
JOIN tenant_states s ON s.tenant_id = m.id
JOIN profiles p ON p.member_id = m.id
WHERE t.hash = ? AND t.revoked_at IS NULL AND m.suspended_at IS NULL`

func (s *Store) prepareAuth(ctx context.Context) (*authStatement, error) {
	a := &authStatement{db: s.engine.serviceRead.DB, text: authText, mode: s.engine.mode}
	if s.engine.name == postgresName {
		// pgx keeps the prepared statement with each connection.
		a.text = strings.Replace(authText, "?", "$1", 1)
		return a, nil
	}
	stmt, err := a.db.PrepareContext(ctx, authText)
	if err != nil {
		return nil, fmt.Errorf("prepare authentication: %w", err)
	}
	a.stmt = stmt
	return a, nil
}

func (a *authStatement) row(ctx context.Context, hash string) *sql.Row {
	if a.stmt != nil {
		return a.stmt.QueryRowContext(ctx, hash)
	}
	return a.db.QueryRowContext(ctx, a.text, append(slices.Clip(a.mode), hash)...)
}

// Authenticate returns the principal of a bearer by the bearer's hash. It fails
// with fault.Unauthenticated for an unknown, expired or revoked one and for one
// of a suspended member, and with fault.Unavailable when it cannot tell.
func (s *Store) Authenticate(ctx context.Context, hash string) (*tenant.Principal, error) {
	p := &tenant.Principal{}
	var scopes string
	var expires sql.NullTime
	err := s.auth.row(ctx, hash).Scan(&p.Credential.ID, &p.Credential.Name, &scopes, &expires,
		&p.Tenant, &p.Username, &p.Timezone, &p.Plan, &p.DisplayName, &p.ReadOnly, &p.DataVersion)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && expires.Valid && !expires.Time.After(s.now()):
		return nil, fault.New(fault.Unauthenticated, "the token is unknown, expired or revoked")
	case err != nil:
		return nil, fmt.Errorf("authenticate: %w", translate(err))
	}
	p.Credential.Kind = token.KindToken
	p.Credential.Scopes = strings.Fields(scopes)
	p.Credential.ExpiresAt = expires.Time
	return p, nil
}
