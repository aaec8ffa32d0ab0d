package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/grant"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/token"
)

// authStatements find a credential by its bearer's hash: the one read that every
// call pays, so they are prepared by hand.
type authStatements struct{ personal, access *hotStatement }

const memberColumns = "m.id, m.username, m.timezone, m.plan, m.embeddings_host, p.name, s.read_only, s.data_version, s.embedded_version"

const memberJoins = `JOIN tenant_states s ON s.tenant_id = m.id
JOIN profiles p ON p.member_id = m.id`

const personalText = `SELECT t.id, '', t.name, t.scopes, t.tools, t.expires_at, ` + memberColumns + `
FROM personal_tokens t
JOIN members m ON m.id = t.member_id
` + memberJoins + `
WHERE t.hash = ? AND t.revoked_at IS NULL AND m.suspended_at IS NULL`

const accessText = `SELECT g.id, c.id, c.name, t.scopes, '', t.expires_at, ` + memberColumns + `
FROM access_tokens t
JOIN grants g ON g.id = t.grant_id
JOIN clients c ON c.id = g.client_id
JOIN members m ON m.id = g.member_id
` + memberJoins + `
WHERE t.hash = ? AND g.revoked_at IS NULL AND m.suspended_at IS NULL`

func (s *Store) prepareAuth(ctx context.Context) (*authStatements, error) {
	personal, personalErr := s.prepare(ctx, personalText)
	access, accessErr := s.prepare(ctx, accessText)
	if err := errors.Join(personalErr, accessErr); err != nil {
		return nil, fmt.Errorf("prepare authentication: %w", err)
	}
	return &authStatements{personal: personal, access: access}, nil
}

// Authenticate returns the principal of a bearer, a personal token or an access
// token. It fails with fault.Unauthenticated for an unknown, expired or revoked
// one and for one of a suspended member, and with fault.Unavailable when it
// cannot tell.
func (s *Store) Authenticate(ctx context.Context, bearer string) (*tenant.Principal, error) {
	statement, kind := s.auth.personal, token.KindToken
	if strings.HasPrefix(bearer, grant.PrefixAccessToken) {
		statement, kind = s.auth.access, grant.KindOAuth
	}
	p := &tenant.Principal{}
	var scopes, tools string
	var expires sql.NullTime
	err := statement.row(ctx, token.Hash(bearer)).Scan(&p.Credential.ID, &p.Credential.ClientID, &p.Credential.Name, &scopes, &tools, &expires,
		&p.Tenant, &p.Username, &p.Timezone, &p.Plan, &p.EmbeddingsHost, &p.DisplayName, &p.ReadOnly, &p.DataVersion, &p.EmbeddedVersion)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && expires.Valid && !expires.Time.After(s.now()):
		return nil, fault.New(fault.Unauthenticated, "the token is unknown, expired or revoked")
	case err != nil:
		return nil, fmt.Errorf("authenticate: %w", translate(err))
	}
	p.Credential.Kind = kind
	p.Credential.Scopes = strings.Fields(scopes)
	p.Credential.Tools = strings.Fields(tools)
	p.Credential.ExpiresAt = expires.Time
	return p, nil
}

// MarkUsed notes when a credential, a personal token or a grant, was last used.
func (s *Store) MarkUsed(ctx context.Context, credentialID string, at time.Time) error {
	if id.Valid(id.Grant, credentialID) {
		return s.MarkGrantUsed(ctx, credentialID, at)
	}
	return s.MarkTokenUsed(ctx, credentialID, at)
}
