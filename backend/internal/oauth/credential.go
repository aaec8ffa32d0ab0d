package oauth

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// The statements find a credential by the hash of its bearer. This is the one read that
// every call makes.
const memberColumns = "m.id, m.username, m.timezone, m.locale, m.plan, m.embeddings_host, p.name, s.read_only, s.data_version, s.embedded_version"

const memberJoins = `JOIN tenant_states s ON s.tenant_id = m.id
JOIN profiles p ON p.member_id = m.id`

const personalText = personalSelect + "WHERE t.hash = ? AND t.kind = ''" + personalLive

// deviceText finds an app password.
const deviceText = personalSelect + "WHERE t.hash = ? AND t.kind = 'device'" + personalLive

// feedText finds the secret of a calendar feed.
const feedText = personalSelect + "WHERE t.hash = ? AND t.kind = 'feed'" + personalLive

const (
	personalSelect = `SELECT t.id, '', t.name, t.scopes, t.scopes, t.tools, t.asks, t.expires_at, NULL, FALSE, m.suspended_at IS NOT NULL, ` + memberColumns + `
FROM personal_tokens t
JOIN members m ON m.id = t.member_id
` + memberJoins + "\n"
	personalLive = " AND t.revoked_at IS NULL"
)

// accessText reads the scopes of the token and those of its grant: the grant may have been narrowed
// since the token was issued.
const accessText = `SELECT g.id, c.id, c.name, t.scopes, g.scopes, g.tools, g.asks, t.expires_at, g.expires_at, g.paused_at IS NOT NULL, m.suspended_at IS NOT NULL, ` + memberColumns + `
FROM access_tokens t
JOIN grants g ON g.id = t.grant_id
JOIN clients c ON c.id = g.client_id
JOIN members m ON m.id = g.member_id
` + memberJoins + `
WHERE t.hash = ? AND g.revoked_at IS NULL`

// grantText reads a grant as it is now. Its older access tokens may name more scopes.
const grantText = `SELECT g.id, c.id, c.name, g.scopes, g.scopes, g.tools, g.asks, NULL, g.expires_at, g.paused_at IS NOT NULL, m.suspended_at IS NOT NULL, ` + memberColumns + `
FROM grants g
JOIN clients c ON c.id = g.client_id
JOIN members m ON m.id = g.member_id
` + memberJoins + `
WHERE g.id = ? AND g.revoked_at IS NULL`

// Authenticate returns the principal of a bearer, a personal token or an access token.
// It fails with fault.Unauthenticated for an unknown, expired or revoked token and for
// a token of a suspended member, and with fault.Unavailable if the store cannot be
// read.
func Authenticate(ctx context.Context, s *db.DB, bearer string) (*tenant.Principal, error) {
	query, kind := personalText, account.KindToken
	if strings.HasPrefix(bearer, PrefixAccessToken) {
		query, kind = accessText, KindOAuth
	}
	statement, err := s.Prepared(ctx, kind, func() string { return query })
	if err != nil {
		return nil, err
	}
	p, err := readPrincipal(ctx, s, statement, kind, account.HashSecret(bearer))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.Unauthenticated, "the token is unknown, expired or revoked")
	}
	return p, err
}

// AuthenticateDevice returns the principal of a device by its app password. The scopes are account.ScopeContacts, and
// catalog.ScopeWrite if the device may change people. The errors are those of Authenticate; a wrong username counts as a wrong password.
func AuthenticateDevice(ctx context.Context, s *db.DB, username, password string) (*tenant.Principal, error) {
	statement, err := s.Prepared(ctx, account.KindDevice, func() string { return deviceText })
	if err != nil {
		return nil, err
	}
	p, err := readPrincipal(ctx, s, statement, account.KindDevice, account.HashAppPassword(password))
	if errors.Is(err, sql.ErrNoRows) || err == nil && !strings.EqualFold(p.Username, username) {
		return nil, fault.New(fault.Unauthenticated, "the user name or the app password is wrong, or the device was removed")
	}
	return p, err
}

// AuthenticateFeed returns the principal of a calendar feed by the secret in its address. The scopes are what the feed has: see
// account.KindFeed. The errors are those of Authenticate.
func AuthenticateFeed(ctx context.Context, s *db.DB, secret string) (*tenant.Principal, error) {
	statement, err := s.Prepared(ctx, account.KindFeed, func() string { return feedText })
	if err != nil {
		return nil, err
	}
	p, err := readPrincipal(ctx, s, statement, account.KindFeed, account.HashFeedSecret(secret))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.Unauthenticated, "the calendar is unknown, or was removed")
	}
	return p, err
}

// Credential returns the principal of a personal token or a grant, by its id. Jobs use it to run with
// the access of the agent that started them. It fails with fault.NotFound if its access has ended, and with
// fault.Unauthenticated for a suspended member.
func Credential(ctx context.Context, s *db.DB, credentialID string) (*tenant.Principal, error) {
	query, kind := personalSelect+"WHERE t.id = ? AND t.kind = ''"+personalLive, account.KindToken
	if id.Valid(id.Grant, credentialID) {
		query, kind = grantText, KindOAuth
	}
	statement, err := s.Prepared(ctx, kind+" by id", func() string { return query })
	if err != nil {
		return nil, err
	}
	p, err := readPrincipal(ctx, s, statement, kind, credentialID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "the agent has no access any more")
	}
	return p, err
}

// readPrincipal reads the principal of a live credential, or fails with sql.ErrNoRows. That of a
// suspended member is fault.Unauthenticated.
func readPrincipal(ctx context.Context, s *db.DB, statement *db.Prepared, kind, key string) (*tenant.Principal, error) {
	p := &tenant.Principal{}
	var scopes, granted, tools, asks string
	var expires, ends sql.NullTime
	var suspended bool
	fields := []any{
		&p.Credential.ID, &p.Credential.ClientID, &p.Credential.Name, &scopes, &granted, &tools, &asks, &expires, &ends, &p.Credential.Paused, &suspended,
	}
	err := statement.Scan(ctx, key, append(fields, memberFields(p)...)...)
	switch {
	case err == nil && (expired(expires, s.Now()) || expired(ends, s.Now())):
		return nil, sql.ErrNoRows
	case err != nil:
		return nil, fmt.Errorf("authenticate: %w", err)
	case suspended:
		return nil, fault.New(fault.Unauthenticated, "the account of this token is suspended; the people who run this service can resume it")
	}
	p.Credential.Kind = kind
	p.Credential.Scopes = both(strings.Fields(scopes), strings.Fields(granted))
	p.Credential.Tools = strings.Fields(tools)
	p.Credential.Asks = tenant.ParseAsks(asks)
	p.Credential.ExpiresAt, p.Credential.GrantExpiresAt = expires.Time, ends.Time
	return p, nil
}

// expired reports whether end is set and has passed.
func expired(end sql.NullTime, now time.Time) bool { return end.Valid && !end.Time.After(now) }

// both returns the names of the first list that are in the second too.
func both(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(others, name) })
}

const memberText = "SELECT " + memberColumns + "\nFROM members m\n" + memberJoins + "\nWHERE m.id = ? AND m.suspended_at IS NULL"

// Member returns the principal of a member who is signed in, without a credential. It
// fails with fault.NotFound for an unknown or suspended member.
func Member(ctx context.Context, s *db.DB, member tenant.ID) (*tenant.Principal, error) {
	statement, err := s.Prepared(ctx, "member", func() string { return memberText })
	if err != nil {
		return nil, err
	}
	p := &tenant.Principal{}
	err = statement.Scan(ctx, string(member), memberFields(p)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "there is no such member")
	}
	return p, err
}

// memberFields are where memberColumns are read into.
func memberFields(p *tenant.Principal) []any {
	return []any{&p.Tenant, &p.Username, &p.Timezone, &p.Locale, &p.Plan, &p.EmbeddingsHost, &p.DisplayName, &p.ReadOnly, &p.DataVersion, &p.EmbeddedVersion}
}

// MarkUsed records when a personal token, a grant or a login session was last used.
func MarkUsed(ctx context.Context, s *db.DB, credentialID string, at time.Time) error {
	if id.Valid(id.Grant, credentialID) {
		return markGrantUsed(ctx, s, credentialID, at)
	}
	if id.Valid(id.Session, credentialID) {
		return account.MarkSessionUsed(ctx, s, credentialID, at)
	}
	return account.MarkTokenUsed(ctx, s, credentialID, at)
}
