package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/grant"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// CreateClient implements grant.Store.
func (s *Store) CreateClient(ctx context.Context, c *grant.Client) error {
	return translate(s.insertClient(ctx, s.engine.serviceWrite, c))
}

func (s *Store) insertClient(ctx context.Context, db bun.IDB, c *grant.Client) error {
	clientID, err := s.ids.New(id.Client)
	if err != nil {
		return err
	}
	c.ID, c.CreatedAt = clientID, s.time()
	_, err = db.NewInsert().Model(c).Exec(ctx)
	return err
}

// GetClient implements grant.Store.
func (s *Store) GetClient(ctx context.Context, clientID string) (*grant.Client, error) {
	c := &grant.Client{}
	err := s.engine.serviceRead.NewSelect().Model(c).Where("id = ?", clientID).Scan(ctx)
	return found(c, err, "the client is not registered")
}

// found names what is missing when there was no row.
func found[T any](row *T, err error, missing string) (*T, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fault.New(fault.NotFound, "%s", missing)
	}
	if err != nil {
		return nil, translate(err)
	}
	return row, nil
}

// CreateRequest implements grant.Store.
func (s *Store) CreateRequest(ctx context.Context, r *grant.Request) error {
	r.CreatedAt = s.time()
	r.ExpiresAt = r.CreatedAt.Add(grant.RequestLifetime)
	err := s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		// Written, though nothing in it changes, the session has its other requests wait.
		if _, err := tx.NewRaw("UPDATE login_sessions SET expires_at = expires_at WHERE hash = ?", r.SessionHash).Exec(ctx); err != nil {
			return err
		}
		if _, err := tx.NewRaw(`DELETE FROM authorization_requests WHERE session_hash = ? AND hash NOT IN
(SELECT hash FROM authorization_requests WHERE session_hash = ? ORDER BY created_at DESC, hash LIMIT ?)`,
			r.SessionHash, r.SessionHash, grant.MaxRequests-1).Exec(ctx); err != nil {
			return err
		}
		_, err := tx.NewInsert().Model(r).ModelTableExpr("authorization_requests").Exec(ctx)
		return err
	})
	return translate(err)
}

// GetCode implements grant.Store.
func (s *Store) GetCode(ctx context.Context, hash string) (*grant.AuthorizationCode, error) {
	c := &grant.AuthorizationCode{}
	err := s.engine.serviceRead.NewSelect().Model(c).Where("hash = ?", hash).Scan(ctx)
	return found(c, err, "the code is unknown")
}

// RedeemCode implements grant.Store.
func (s *Store) RedeemCode(ctx context.Context, hash string, pair grant.Pair) (*grant.Grant, error) {
	grantID, err := s.ids.New(id.Grant)
	if err != nil {
		return nil, err
	}
	var made, killed *grant.Grant
	err = s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		killed = nil
		code, err := s.useCode(ctx, tx, hash)
		if errors.Is(err, sql.ErrNoRows) {
			killed, err = s.killReplayedCode(ctx, tx, hash)
			return err
		}
		if err != nil {
			return err
		}
		g := &grant.Grant{
			ID: grantID, MemberID: code.MemberID, ClientID: code.ClientID, Scopes: code.Scopes, Resource: code.Resource, CreatedAt: s.time(),
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
		return s.insertPair(ctx, tx, g, pair)
	})
	if err != nil {
		return nil, translate(err)
	}
	if made == nil {
		return killed, fault.New(fault.Conflict, "the code was used already or has expired")
	}
	return made, nil
}

// useCode marks an issued code as used and returns it; sql.ErrNoRows tells that there
// is none to use.
func (s *Store) useCode(ctx context.Context, tx bun.Tx, hash string) (*grant.AuthorizationCode, error) {
	code := &grant.AuthorizationCode{}
	err := tx.NewRaw("UPDATE authorization_codes SET used_at = ? WHERE hash = ? AND used_at IS NULL AND expires_at > ? RETURNING *",
		s.time(), hash, s.time()).Scan(ctx, code)
	return code, err
}

// killReplayedCode kills the grant that a used code was redeemed for.
func (s *Store) killReplayedCode(ctx context.Context, tx bun.Tx, hash string) (*grant.Grant, error) {
	return kill(ctx, tx, `UPDATE grants SET revoked_at = ? WHERE revoked_at IS NULL
AND id = (SELECT grant_id FROM authorization_codes WHERE hash = ? AND used_at IS NOT NULL) RETURNING member_id`, s.time(), hash)
}

// kill runs a statement that revokes at most one grant and returns its member. It
// returns that grant, or nil when there was none to revoke.
func kill(ctx context.Context, tx bun.Tx, statement string, args ...any) (*grant.Grant, error) {
	killed := &grant.Grant{}
	err := tx.NewRaw(statement, args...).Scan(ctx, &killed.MemberID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return killed, err
}

// insertPair keeps a pair of tokens; the access token before it is gone.
func (s *Store) insertPair(ctx context.Context, tx bun.Tx, g *grant.Grant, pair grant.Pair) error {
	scopes := pair.Scopes
	if scopes == "" {
		scopes = g.Scopes
	}
	if _, err := tx.NewRaw(`INSERT INTO access_tokens (grant_id, hash, scopes, created_at, expires_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (grant_id) DO UPDATE SET hash = excluded.hash, scopes = excluded.scopes, created_at = excluded.created_at, expires_at = excluded.expires_at`,
		g.ID, pair.AccessHash, scopes, s.time(), pair.AccessExpiresAt).Exec(ctx); err != nil {
		return fmt.Errorf("insert access token: %w", err)
	}
	if _, err := tx.NewRaw("INSERT INTO refresh_tokens (hash, grant_id, created_at, expires_at) VALUES (?, ?, ?, ?)",
		pair.RefreshHash, g.ID, s.time(), pair.RefreshExpiresAt).Exec(ctx); err != nil {
		return fmt.Errorf("insert refresh token: %w", err)
	}
	return nil
}

// RotateRefreshToken implements grant.Store.
func (s *Store) RotateRefreshToken(ctx context.Context, hash, clientID string, pair grant.Pair) (*grant.Grant, error) {
	var rotated, killed *grant.Grant
	err := s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		killed = nil
		g := &grant.Grant{}
		now := s.time()
		err := tx.NewRaw(`UPDATE refresh_tokens SET spent_at = ? WHERE hash = ? AND spent_at IS NULL AND expires_at > ?
AND EXISTS (SELECT 1 FROM grants g JOIN members m ON m.id = g.member_id
WHERE g.id = refresh_tokens.grant_id AND g.client_id = ? AND g.revoked_at IS NULL AND m.suspended_at IS NULL)
RETURNING grant_id AS id, (SELECT g.scopes FROM grants g WHERE g.id = refresh_tokens.grant_id) AS scopes`,
			now, hash, now, clientID).Scan(ctx, g)
		if errors.Is(err, sql.ErrNoRows) {
			killed, err = s.killReplayed(ctx, tx, hash, clientID)
			return err
		}
		if err != nil {
			return err
		}
		if pair.Scopes != "" {
			if pair.Scopes, err = grant.Narrow(g.Scopes, pair.Scopes); err != nil {
				return err
			}
		}
		rotated = g
		return s.insertPair(ctx, tx, g, pair)
	})
	if err != nil {
		return nil, translate(err)
	}
	if rotated == nil {
		return killed, fault.New(fault.Conflict, "the refresh token is unknown, expired, revoked or was used before")
	}
	return rotated, nil
}

// killReplayed kills the grant of a spent refresh token: either the client or a
// thief holds an old one, and nobody can tell which (RFC 9700 §4.14.2).
func (s *Store) killReplayed(ctx context.Context, tx bun.Tx, hash, clientID string) (*grant.Grant, error) {
	return kill(ctx, tx, `UPDATE grants SET revoked_at = ? WHERE revoked_at IS NULL AND client_id = ?
AND id = (SELECT grant_id FROM refresh_tokens WHERE hash = ? AND spent_at IS NOT NULL) RETURNING member_id`, s.time(), clientID, hash)
}

// RevokeToken implements grant.Store.
func (s *Store) RevokeToken(ctx context.Context, hash, clientID string) (owner tenant.ID, err error) {
	err = s.engine.serviceWrite.NewRaw(`UPDATE grants SET revoked_at = ? WHERE revoked_at IS NULL AND client_id = ?
AND id IN (SELECT grant_id FROM access_tokens WHERE hash = ? UNION ALL SELECT grant_id FROM refresh_tokens WHERE hash = ?) RETURNING member_id`,
		s.time(), clientID, hash, hash).Scan(ctx, &owner)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return owner, translate(err)
}

// ListGrants implements grant.MemberStore.
func (s *Store) ListGrants(ctx context.Context, owner tenant.ID) ([]grant.Grant, error) {
	var grants []grant.Grant
	err := s.engine.serviceRead.NewSelect().Model(&grants).ColumnExpr("?TableAlias.*").ColumnExpr("c.name AS client_name, c.redirect_uris AS client_redirect_uris").
		Join("JOIN clients AS c ON c.id = ?TableAlias.client_id").
		Where("?TableAlias.member_id = ?", owner).Where("?TableAlias.revoked_at IS NULL").
		Where("EXISTS (SELECT 1 FROM refresh_tokens r WHERE r.grant_id = ?TableAlias.id AND r.spent_at IS NULL AND r.expires_at > ?)", s.time()).
		OrderExpr("?TableAlias.id DESC").Scan(ctx)
	return grants, translate(err)
}

// RevokeAgent implements grant.MemberStore. The order of the statements matters: a
// request that is being answered, or a code that is being redeemed, is waited for,
// and what came of it is found by the statement after.
func (s *Store) RevokeAgent(ctx context.Context, owner tenant.ID, clientID string) error {
	ended := int64(0)
	err := s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		ended = 0
		for _, step := range []struct {
			statement string
			args      []any
		}{
			{`DELETE FROM authorization_requests WHERE client_id = ?
AND session_hash IN (SELECT hash FROM login_sessions WHERE member_id = ?)`, []any{clientID, owner}},
			{"DELETE FROM authorization_codes WHERE client_id = ? AND member_id = ? AND used_at IS NULL", []any{clientID, owner}},
			{"UPDATE grants SET revoked_at = ? WHERE client_id = ? AND member_id = ? AND revoked_at IS NULL", []any{s.time(), clientID, owner}},
		} {
			result, err := tx.NewRaw(step.statement, step.args...).Exec(ctx)
			if err != nil {
				return err
			}
			n, err := result.RowsAffected()
			if err != nil {
				return err
			}
			ended += n
		}
		return nil
	})
	if err == nil && ended == 0 {
		return fault.New(fault.NotFound, "there is no such connected agent")
	}
	return translate(err)
}

// MarkGrantUsed notes when a grant was last used. It never moves a time back.
func (s *Store) MarkGrantUsed(ctx context.Context, grantID string, at time.Time) error {
	_, err := s.engine.serviceWrite.NewRaw(
		"UPDATE grants SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)", at, grantID, at).Exec(ctx)
	return translate(err)
}
