package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/grant"
)

const requestIsOver = "the request was answered already or has expired; start again at the application"

// GetRequest implements grant.Store.
func (s *Store) GetRequest(ctx context.Context, hash, sessionHash string) (*grant.Request, error) {
	r := &grant.Request{}
	err := s.engine.serviceRead.NewRaw(`SELECT * FROM authorization_requests WHERE hash = ? AND session_hash = ? AND expires_at > ?
AND NOT EXISTS (SELECT 1 FROM consent_answers a WHERE a.request_hash = authorization_requests.hash)`, hash, sessionHash, s.time()).Scan(ctx, r)
	return found(r, err, requestIsOver)
}

// DecideRequest implements grant.Store.
func (s *Store) DecideRequest(ctx context.Context, hash, sessionHash string, code *grant.AuthorizationCode) (*grant.Request, error) {
	r := &grant.Request{}
	err := s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		// Written, though nothing in it changes, the row has others who answer it wait.
		err := tx.NewRaw("UPDATE authorization_requests SET session_hash = session_hash WHERE hash = ? AND session_hash = ? AND expires_at > ? RETURNING *",
			hash, sessionHash, s.time()).Scan(ctx, r)
		if err != nil {
			return err
		}
		var first sql.NullString
		err = tx.NewRaw("SELECT code_hash FROM consent_answers WHERE request_hash = ?", hash).Scan(ctx, &first)
		if errors.Is(err, sql.ErrNoRows) {
			return s.answerRequest(ctx, tx, r, code)
		}
		if err != nil {
			return err
		}
		return s.repeatAnswer(ctx, tx, r, first, code)
	})
	return found(r, err, requestIsOver)
}

// answerRequest keeps the first answer to a request, with its code if there is one.
func (s *Store) answerRequest(ctx context.Context, tx bun.Tx, r *grant.Request, code *grant.AuthorizationCode) error {
	var codeHash sql.NullString
	if code != nil {
		codeHash = sql.NullString{String: code.Hash, Valid: true}
	}
	if _, err := tx.NewRaw("INSERT INTO consent_answers (request_hash, code_hash) VALUES (?, ?)", r.Hash, codeHash).Exec(ctx); err != nil || code == nil {
		return err
	}
	scopes, err := grant.Choose(r.Scopes, code.Scopes)
	if err != nil {
		return err
	}
	code.ClientID, code.RedirectURI, code.Resource, code.CodeChallenge = r.ClientID, r.RedirectURI, r.Resource, r.CodeChallenge
	code.Scopes, code.CreatedAt = scopes, s.time()
	code.ExpiresAt = code.CreatedAt.Add(grant.CodeLifetime)
	_, err = tx.NewInsert().Model(code).Exec(ctx)
	return err
}

// repeatAnswer returns sql.ErrNoRows unless the answer is the first one over
// again, and its code waits to be used.
func (s *Store) repeatAnswer(ctx context.Context, tx bun.Tx, r *grant.Request, first sql.NullString, code *grant.AuthorizationCode) error {
	if code == nil && !first.Valid {
		return nil
	}
	if code == nil || code.Hash != first.String {
		return sql.ErrNoRows
	}
	scopes, err := grant.Choose(r.Scopes, code.Scopes)
	if err != nil {
		return sql.ErrNoRows // the first answer had scopes that could be chosen
	}
	var waits int
	return tx.NewRaw("SELECT 1 FROM authorization_codes WHERE hash = ? AND scopes = ? AND used_at IS NULL AND expires_at > ?",
		code.Hash, scopes, s.time()).Scan(ctx, &waits)
}
