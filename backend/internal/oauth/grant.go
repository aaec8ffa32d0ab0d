package oauth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
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
	"github.com/kith-crm/kith/proto/catalog"
)

// Prefixes of the bearers, so that leaked ones can be recognised.
const (
	PrefixAccessToken  = "kith_at_"
	PrefixRefreshToken = "kith_rt_"
)

// KindOAuth is the tenant.Credential kind of grants.
const KindOAuth = "oauth"

// CodeLifetime is how long an authorization code can be redeemed; the specification
// fixes it.
const CodeLifetime = 60 * time.Second

// MaxRequests is how many requests of one login session can wait for consent; a new one
// replaces the oldest.
const MaxRequests = 20

// RequestLifetime is how long a request waits for consent.
const RequestLifetime = 10 * time.Minute

// Client is an OAuth client, and its row. All are public clients.
type Client struct {
	// ID is generated for a registered client, and is the URL of its client ID metadata
	// document for any other.
	ID           string `bun:",pk"`
	Name         string
	RedirectURIs []string `bun:"redirect_uris,type:text"`
	ClientURI    string
	// GrantTypes and Scope are what the client registered. They are not enforced: each
	// request names its scopes, and the member allows them.
	GrantTypes []string `bun:"grant_types,type:text"`
	Scope      string
	// ApplicationType is web, native or empty.
	ApplicationType string
	CreatedAt       time.Time
	LastUsedAt      time.Time `bun:",nullzero"`
}

// Request is an authorization request that waits for consent, and its row.
type Request struct {
	Hash          string `bun:",pk"`
	SessionHash   string
	ClientID      string
	RedirectURI   string
	Scopes        string
	Resource      string
	State         string
	CodeChallenge string
	CreatedAt     time.Time
	ExpiresAt     time.Time
}

// AuthorizationCode is a code's record, and its row.
type AuthorizationCode struct {
	Hash        string `bun:",pk"`
	MemberID    tenant.ID
	ClientID    string
	RedirectURI string
	Scopes      string
	// Tools and Days apply to the new grant: the tools that it is limited to, separated by
	// single spaces, and how many days it lasts; 0 means until it is revoked.
	Tools string
	Days  int
	// Asks says which acts of the new grant need the member's approval, as tenant.Asks writes it.
	Asks          string
	Resource      string
	CodeChallenge string
	CreatedAt     time.Time
	ExpiresAt     time.Time
	UsedAt        time.Time `bun:",nullzero"`
	// AccessEpoch is the member's at the consent. The code ends when access is revoked.
	AccessEpoch int64
	// SessionID is the login session that allows it. It is not stored.
	SessionID string `bun:"-"`
	// GrantID is the grant that the code was exchanged for.
	GrantID string `bun:",nullzero"`
}

// Grant is the durable authorisation from which tokens are issued, and its row.
type Grant struct {
	ID       string `bun:",pk"`
	MemberID tenant.ID
	ClientID string
	// Scopes are separated by single spaces.
	Scopes string
	// Tools are the names of the tools that it is limited to, separated by single
	// spaces; empty means no limit.
	Tools string
	// Asks says which acts need the member's approval, as tenant.Asks writes it.
	Asks      string
	Resource  string
	CreatedAt time.Time
	// ExpiresAt is when the member's permission ends; zero means until it is revoked.
	ExpiresAt  time.Time `bun:",nullzero"`
	LastUsedAt time.Time `bun:",nullzero"`
	// PausedAt is set while the member has paused the agent.
	PausedAt  time.Time `bun:",nullzero"`
	RevokedAt time.Time `bun:",nullzero"`
	// ClientName and ClientRedirectURIs belong to the client; they are read with the
	// grant and stored with the client.
	ClientName         string   `bun:",scanonly"`
	ClientRedirectURIs []string `bun:"client_redirect_uris,type:text,scanonly"`
}

func (g Grant) scopes() []string { return strings.Fields(g.Scopes) }

// Pair is a new access token and refresh token, as hashes with their expiry.
type Pair struct {
	AccessHash, RefreshHash           string
	AccessExpiresAt, RefreshExpiresAt time.Time
	// Scopes of the access token; empty means those of the grant.
	Scopes string
	// answer is the encrypted answer with the tokens; nil if it is not kept.
	answer []byte
}

// endBy returns the pair with no expiry later than the end of its grant.
func (p Pair) endBy(end time.Time) Pair {
	if !end.IsZero() && end.Before(p.AccessExpiresAt) {
		p.AccessExpiresAt = end
	}
	if !end.IsZero() && end.Before(p.RefreshExpiresAt) {
		p.RefreshExpiresAt = end
	}
	return p
}

// Generate returns a new secret with a prefix.
func Generate(prefix string) (string, error) { return account.NewSecret(prefix) }

// Hash returns the form in which codes, tokens and request secrets are stored.
func Hash(secret string) string { return account.HashSecret(secret) }

// CodeOf returns the authorization code of a request, always the same one. So if a
// browser sends the answer twice and follows the last redirect, that redirect has the
// same code. It is derived from the request's secret, which only the consent page
// contains, and the session that the page was shown to.
func CodeOf(requestSecret, sessionHash string) string {
	mac := hmac.New(sha256.New, []byte(requestSecret))
	mac.Write([]byte("kith authorization code " + sessionHash))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// chooseScopes is Narrow for the member's answer, which must name an area of the
// requested ones: the scope for writing alone permits nothing.
func chooseScopes(asked, chosen string) (string, error) {
	kept, err := Narrow(asked, chosen)
	if err == nil && kept == catalog.ScopeWrite && asked != catalog.ScopeWrite {
		err = fault.InvalidField("scope", "choose an area beside it: by itself, %s permits nothing", catalog.ScopeWrite)
	}
	return kept, err
}

// Narrow returns the chosen scopes in the order of the requested ones. It fails with
// fault.Invalid if nothing was chosen or a chosen scope was not requested.
func Narrow(asked, chosen string) (string, error) {
	var kept []string
	for scope := range strings.FieldsSeq(asked) {
		if slices.Contains(strings.Fields(chosen), scope) {
			kept = append(kept, scope)
		}
	}
	if len(kept) == 0 || len(kept) != len(strings.Fields(chosen)) {
		return "", fault.InvalidField("scope", "choose at least one of those asked for, and no other")
	}
	return strings.Join(kept, " "), nil
}

// CreateClient stores a new client and sets its id.
func CreateClient(ctx context.Context, s *db.DB, c *Client) error {
	return insertClient(ctx, s, s, c)
}

// insertClient is CreateClient within a transaction.
func insertClient(ctx context.Context, s *db.DB, tx db.Querier, c *Client) error {
	clientID, err := s.NewID(id.Client)
	if err != nil {
		return err
	}
	c.ID, c.CreatedAt = clientID, s.Now()
	_, err = tx.NewInsert().Model(c).Exec(ctx)
	return err
}

// UpsertClient stores a client with a client ID metadata document, as the document
// describes it now, and sets since when it is stored. While no member has granted the client access, this restarts the
// time after which it is deleted.
func UpsertClient(ctx context.Context, s *db.DB, c *Client) error {
	c.CreatedAt = s.Now()
	return s.NewInsert().Model(c).On("CONFLICT (id) DO UPDATE").
		Set("name = EXCLUDED.name").Set("redirect_uris = EXCLUDED.redirect_uris").Set("client_uri = EXCLUDED.client_uri").
		Set("grant_types = EXCLUDED.grant_types").Set("application_type = EXCLUDED.application_type").
		Set("created_at = CASE WHEN ?TableAlias.last_used_at IS NULL THEN EXCLUDED.created_at ELSE ?TableAlias.created_at END").
		Returning("created_at").Scan(ctx)
}

// GetClient returns a client, or fault.NotFound.
func GetClient(ctx context.Context, s *db.DB, clientID string) (*Client, error) {
	c := &Client{}
	err := s.NewSelect().Model(c).Where("id = ?", clientID).Scan(ctx)
	return db.Found(c, err, "the client is not registered")
}

// CreateRequest stores a request for the consent page of a login session. If that
// session has MaxRequests already, the oldest is deleted, as if it had expired.
func CreateRequest(ctx context.Context, s *db.DB, r *Request) error {
	r.CreatedAt = s.Now()
	r.ExpiresAt = r.CreatedAt.Add(RequestLifetime)
	return s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		// The update changes nothing, but it locks the session, so that its other
		// requests wait.
		if _, err := tx.NewRaw("UPDATE login_sessions SET expires_at = expires_at WHERE hash = ?", r.SessionHash).Exec(ctx); err != nil {
			return err
		}
		if _, err := tx.NewRaw(`DELETE FROM authorization_requests WHERE session_hash = ? AND hash NOT IN
(SELECT hash FROM authorization_requests WHERE session_hash = ? ORDER BY created_at DESC, hash LIMIT ?)`,
			r.SessionHash, r.SessionHash, MaxRequests-1).Exec(ctx); err != nil {
			return err
		}
		_, err := tx.NewInsert().Model(r).ModelTableExpr("authorization_requests").Exec(ctx)
		return err
	})
}

// GetCode returns a code in any state, or fault.NotFound.
func GetCode(ctx context.Context, s *db.DB, hash string) (*AuthorizationCode, error) {
	c := &AuthorizationCode{}
	err := s.NewSelect().Model(c).Where("hash = ?", hash).Scan(ctx)
	return db.Found(c, err, "the code is unknown")
}

// RedeemCode exchanges an issued code for a grant with a first pair of tokens. It fails
// with fault.Conflict for a used or expired code, and for one that was issued before
// access was revoked, and for a used one it revokes the
// grant that it was exchanged for. With that error it returns the revoked grant, of
// which only the member is set, or nil if none was revoked.
func RedeemCode(ctx context.Context, s *db.DB, hash string, pair Pair) (*Grant, error) {
	grantID, err := s.NewID(id.Grant)
	if err != nil {
		return nil, err
	}
	var made, revoked *Grant
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		made, revoked = nil, nil
		epoch, err := lockOwner(ctx, tx, "SELECT member_id FROM authorization_codes WHERE hash = ?", hash)
		if err != nil {
			return err
		}
		code, err := useCode(ctx, s, tx, hash)
		if err == nil && code.AccessEpoch != epoch {
			return nil // it was issued before access was revoked: nobody can use it any more
		}
		if errors.Is(err, sql.ErrNoRows) {
			revoked, err = revokeReplayedCode(ctx, s, tx, hash)
			return err
		}
		if err != nil {
			return err
		}
		g := &Grant{
			ID: grantID, MemberID: code.MemberID, ClientID: code.ClientID, Scopes: code.Scopes, Tools: code.Tools, Asks: code.Asks, Resource: code.Resource,
			CreatedAt: s.Now(),
		}
		if code.Days > 0 {
			g.ExpiresAt = code.CreatedAt.Add(time.Duration(code.Days) * 24 * time.Hour)
		}
		// What the member paused stays paused until they resume it.
		err = tx.NewRaw("SELECT paused_at FROM grants WHERE client_id = ? AND member_id = ? AND revoked_at IS NULL AND paused_at IS NOT NULL LIMIT 1",
			g.ClientID, g.MemberID).Scan(ctx, &g.PausedAt)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if _, err := tx.NewInsert().Model(g).Exec(ctx); err != nil {
			return fmt.Errorf("insert grant: %w", err)
		}
		if _, err := tx.NewRaw("UPDATE authorization_codes SET grant_id = ? WHERE hash = ?", g.ID, hash).Exec(ctx); err != nil {
			return err
		}
		if _, err := tx.NewRaw("UPDATE clients SET last_used_at = ? WHERE id = ?", g.CreatedAt, g.ClientID).Exec(ctx); err != nil {
			return err
		}
		made = g
		return insertPair(ctx, s, tx, g, pair)
	})
	if err != nil {
		return nil, err
	}
	if made == nil {
		return revoked, fault.New(fault.Conflict, "the code was used already or has expired")
	}
	return made, nil
}

// lockOwner locks the member of a code or token, whom a query returns, as every transaction on
// credentials does first. It returns the epoch of the member's access; 0 if there is no such member.
func lockOwner(ctx context.Context, tx db.Querier, query, hash string) (epoch int64, err error) {
	var owner tenant.ID
	if err = tx.NewRaw(query, hash).Scan(ctx, &owner); err == nil {
		epoch, err = account.LockForCredential(ctx, tx, owner)
	}
	if errors.Is(err, sql.ErrNoRows) || fault.Is(err, fault.NotFound) {
		return 0, nil
	}
	return epoch, err
}

// useCode marks an issued code as used and returns it; it returns sql.ErrNoRows if
// there is no such code.
func useCode(ctx context.Context, s *db.DB, tx db.Querier, hash string) (*AuthorizationCode, error) {
	code := &AuthorizationCode{}
	err := tx.NewRaw("UPDATE authorization_codes SET used_at = ? WHERE hash = ? AND used_at IS NULL AND expires_at > ? RETURNING ?",
		s.Now(), hash, s.Now(), db.Columns[AuthorizationCode](s)).Scan(ctx, code)
	return code, err
}

// revokeReplayedCode revokes the grant that a used code was exchanged for.
func revokeReplayedCode(ctx context.Context, s *db.DB, tx db.Querier, hash string) (*Grant, error) {
	return revokeOne(ctx, tx, `UPDATE grants SET revoked_at = ? WHERE revoked_at IS NULL
AND id = (SELECT grant_id FROM authorization_codes WHERE hash = ? AND used_at IS NOT NULL) RETURNING member_id`, s.Now(), hash)
}

// revokeOne runs a statement that revokes at most one grant. It returns that grant, of which
// only the member is set, or nil if none was revoked.
func revokeOne(ctx context.Context, tx db.Querier, statement string, args ...any) (*Grant, error) {
	revoked := &Grant{}
	err := tx.NewRaw(statement, args...).Scan(ctx, &revoked.MemberID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return revoked, err
}

// insertPair stores a pair of tokens and deletes the previous access token. No token
// outlives the grant.
func insertPair(ctx context.Context, s *db.DB, tx db.Querier, g *Grant, pair Pair) error {
	pair = pair.endBy(g.ExpiresAt)
	scopes := pair.Scopes
	if scopes == "" {
		scopes = g.Scopes
	}
	if _, err := tx.NewRaw(`INSERT INTO access_tokens (grant_id, hash, scopes, created_at, expires_at, answer) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (grant_id) DO UPDATE SET hash = excluded.hash, scopes = excluded.scopes, created_at = excluded.created_at,
expires_at = excluded.expires_at, answer = excluded.answer`,
		g.ID, pair.AccessHash, scopes, s.Now(), pair.AccessExpiresAt, pair.answer).Exec(ctx); err != nil {
		return fmt.Errorf("insert access token: %w", err)
	}
	if _, err := tx.NewRaw("INSERT INTO refresh_tokens (hash, grant_id, created_at, expires_at) VALUES (?, ?, ?, ?)",
		pair.RefreshHash, g.ID, s.Now(), pair.RefreshExpiresAt).Exec(ctx); err != nil {
		return fmt.Errorf("insert refresh token: %w", err)
	}
	return nil
}

// GetResource returns the resource (RFC 8707) of the grant that a refresh token belongs to, exactly as the client
// named it. It fails with fault.NotFound if the token is unknown or belongs to another client.
func GetResource(ctx context.Context, s *db.DB, hash, clientID string) (resource string, err error) {
	err = s.NewRaw("SELECT g.resource FROM refresh_tokens r JOIN grants g ON g.id = r.grant_id WHERE r.hash = ? AND g.client_id = ?", hash, clientID).
		Scan(ctx, &resource)
	_, err = db.Found(&resource, err, "there is no such refresh token")
	return resource, err
}

// RotateRefreshToken marks the current refresh token of a client's live grant as spent
// and replaces it with the pair. It fails with fault.Conflict for any other token; for
// a spent one it also revokes the grant, and returns that as RedeemCode does. It fails
// with ErrPaused while the grant is paused, and changes nothing. Of the live grant
// only id, scopes and end are returned.
//
// With once, which may be nil, the answer is kept. If the same request is made again, nothing
// changes, and that answer is returned as repeated, without a grant.
func RotateRefreshToken(ctx context.Context, s *db.DB, hash, clientID string, pair Pair, once *RefreshOnce) (g *Grant, repeated []byte, err error) {
	var rotated, killed *Grant
	err = s.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		rotated, killed, repeated = nil, nil, nil
		if _, err := lockOwner(ctx, tx, "SELECT g.member_id FROM refresh_tokens r JOIN grants g ON g.id = r.grant_id WHERE r.hash = ?", hash); err != nil {
			return err
		}
		pair, g := pair, &Grant{}
		now := s.Now()
		err := tx.NewRaw(`UPDATE refresh_tokens SET spent_at = ? WHERE hash = ? AND spent_at IS NULL AND expires_at > ?
AND EXISTS (SELECT 1 FROM grants g JOIN members m ON m.id = g.member_id
WHERE g.id = refresh_tokens.grant_id AND g.client_id = ? AND g.revoked_at IS NULL AND m.suspended_at IS NULL)
RETURNING grant_id`, now, hash, now, clientID).Scan(ctx, &g.ID)
		if errors.Is(err, sql.ErrNoRows) {
			if repeated, err = once.find(ctx, s, tx, hash, clientID); repeated != nil || err != nil {
				return err
			}
			killed, err = killReplayed(ctx, s, tx, hash, clientID)
			return err
		}
		if err != nil {
			return err
		}
		if err := tx.NewRaw("SELECT scopes, expires_at, paused_at FROM grants WHERE id = ?", g.ID).Scan(ctx, g); err != nil {
			return err
		}
		if !g.PausedAt.IsZero() {
			return ErrPaused
		}
		if pair.Scopes != "" {
			if pair.Scopes, err = Narrow(g.Scopes, pair.Scopes); err != nil {
				return err
			}
		}
		if pair.answer, err = once.seal(g); err != nil {
			return err
		}
		rotated = g
		return insertPair(ctx, s, tx, g, pair)
	})
	if err != nil || repeated != nil {
		return nil, repeated, err
	}
	if rotated == nil {
		return killed, nil, fault.New(fault.Conflict, "the refresh token is unknown, expired, revoked or was used before")
	}
	return rotated, nil, nil
}

// killReplayed revokes the grant of a spent refresh token: either the client or an
// attacker uses an old one, and the two cannot be distinguished (RFC 9700 §4.14.2).
func killReplayed(ctx context.Context, s *db.DB, tx db.Querier, hash, clientID string) (*Grant, error) {
	return revokeOne(ctx, tx, `UPDATE grants SET revoked_at = ? WHERE revoked_at IS NULL AND client_id = ?
AND id = (SELECT grant_id FROM refresh_tokens WHERE hash = ? AND spent_at IS NOT NULL) RETURNING member_id`, s.Now(), clientID, hash)
}

// RevokeToken revokes the grant that an access or refresh token of the client belongs
// to. It returns the member of the grant, or an empty id and no error if the token
// belongs to no live grant.
func RevokeToken(ctx context.Context, s *db.DB, hash, clientID string) (owner tenant.ID, err error) {
	err = s.NewWrite(`UPDATE grants SET revoked_at = ? WHERE revoked_at IS NULL AND client_id = ?
AND id IN (SELECT grant_id FROM access_tokens WHERE hash = ? UNION ALL SELECT grant_id FROM refresh_tokens WHERE hash = ?) RETURNING member_id`,
		s.Now(), clientID, hash, hash).Scan(ctx, &owner)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return owner, err
}

// RevokeBearer revokes the personal token with this hash, and returns it with its member. Without such a
// live token, it returns nil and no error. The demo account's token, which is public, stays.
func RevokeBearer(ctx context.Context, s *db.DB, hash string) (*account.PersonalToken, error) {
	t := &account.PersonalToken{}
	err := s.NewWrite(`UPDATE personal_tokens SET revoked_at = ? WHERE hash = ? AND revoked_at IS NULL
AND member_id NOT IN (SELECT tenant_id FROM tenant_states WHERE read_only) RETURNING id, member_id`, s.Now(), hash).Scan(ctx, &t.ID, &t.MemberID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return t, err
}

// ListGrants returns a member's live grants, newest first.
func ListGrants(ctx context.Context, s *db.DB, owner tenant.ID) ([]Grant, error) {
	var grants []Grant
	err := s.NewSelect().Model(&grants).ColumnExpr("?TableColumns").ColumnExpr("c.name AS client_name, c.redirect_uris AS client_redirect_uris").
		Join("JOIN clients AS c ON c.id = ?TableAlias.client_id").
		Where("?TableAlias.member_id = ?", owner).Where("?TableAlias.revoked_at IS NULL").
		Where("EXISTS (SELECT 1 FROM refresh_tokens r WHERE r.grant_id = ?TableAlias.id AND r.spent_at IS NULL AND r.expires_at > ?)", s.Now()).
		OrderExpr("?TableAlias.id DESC").Scan(ctx)
	return grants, err
}

// markGrantUsed records when a grant was last used. It never sets an earlier time.
func markGrantUsed(ctx context.Context, s *db.DB, grantID string, at time.Time) error {
	_, err := s.NewWrite(
		"UPDATE grants SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)", at, grantID, at).Exec(ctx)
	return err
}

// Steps is how far a new member has come with agents.
type Steps struct {
	// Hidden is set if the member hid the steps.
	Hidden bool
	// Connected is set if the member allowed an agent or made a personal token, Called if one of
	// them made a call. Those that were revoked count until they are deleted.
	Connected, Called bool
}

const stepsText = `SELECT m.steps_hidden_at IS NOT NULL,
EXISTS (SELECT 1 FROM grants g WHERE g.member_id = m.id) OR EXISTS (SELECT 1 FROM personal_tokens t WHERE t.member_id = m.id AND t.kind = ''),
EXISTS (SELECT 1 FROM grants g WHERE g.member_id = m.id AND g.last_used_at IS NOT NULL)
OR EXISTS (SELECT 1 FROM personal_tokens t WHERE t.member_id = m.id AND t.kind = '' AND t.last_used_at IS NOT NULL)
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
