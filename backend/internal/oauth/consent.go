package oauth

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
)

const requestIsOver = "the request was answered already or has expired; start again at the application"

// GetRequest returns a request of that login session that waits for consent, or
// fault.NotFound.
func GetRequest(ctx context.Context, s *db.DB, hash, sessionHash string) (*Request, error) {
	r := &Request{}
	err := s.NewRaw(`SELECT ? FROM authorization_requests WHERE hash = ? AND session_hash = ? AND expires_at > ?
AND NOT EXISTS (SELECT 1 FROM consent_answers a WHERE a.request_hash = authorization_requests.hash)`, db.Columns[Request](s), hash, sessionHash, s.Now()).Scan(ctx, r)
	return db.Found(r, err, requestIsOver)
}

// DecideRequest answers a request of that login session and returns it. With a code,
// the code is stored in the same transaction, with the given scopes. Repeating the same
// answer, with the code, scopes, tools, asks and days of the first, changes nothing and succeeds while
// that code is unused. It fails with fault.NotFound if this session has no such
// request, or if the request has expired or was answered differently, and with
// account.ErrAccessEnded if access was revoked since the epoch of the code.
func DecideRequest(ctx context.Context, s *db.DB, hash, sessionHash string, code *AuthorizationCode) (*Request, error) {
	r := &Request{}
	write := s.Write
	if code != nil {
		write = func(ctx context.Context, fn func(context.Context, db.Querier) error) error {
			access := account.Access{Owner: code.MemberID, Epoch: code.AccessEpoch, SessionID: code.SessionID}
			return account.StoreCredential(ctx, s, access, fn)
		}
	}
	err := write(ctx, func(ctx context.Context, tx db.Querier) error {
		*r = Request{}
		// The update changes nothing, but it locks the row, so that concurrent answers
		// wait.
		err := tx.NewRaw("UPDATE authorization_requests SET session_hash = session_hash WHERE hash = ? AND session_hash = ? AND expires_at > ? RETURNING ?",
			hash, sessionHash, s.Now(), db.Columns[Request](s)).Scan(ctx, r)
		if err != nil {
			return err
		}
		var first sql.NullString
		err = tx.NewRaw("SELECT code_hash FROM consent_answers WHERE request_hash = ?", hash).Scan(ctx, &first)
		if errors.Is(err, sql.ErrNoRows) {
			return answerRequest(ctx, s, tx, r, code)
		}
		if err != nil {
			return err
		}
		return repeatAnswer(ctx, s, tx, r, first, code)
	})
	return db.Found(r, err, requestIsOver)
}

// answerRequest stores the first answer to a request, with its code if there is one.
func answerRequest(ctx context.Context, s *db.DB, tx db.Querier, r *Request, code *AuthorizationCode) error {
	var codeHash sql.NullString
	if code != nil {
		codeHash = sql.NullString{String: code.Hash, Valid: true}
	}
	if _, err := tx.NewRaw("INSERT INTO consent_answers (request_hash, code_hash) VALUES (?, ?)", r.Hash, codeHash).Exec(ctx); err != nil || code == nil {
		return err
	}
	scopes, err := chooseScopes(r.Scopes, code.Scopes)
	if err != nil {
		return err
	}
	code.ClientID, code.RedirectURI, code.Resource, code.CodeChallenge = r.ClientID, r.RedirectURI, r.Resource, r.CodeChallenge
	code.Scopes, code.CreatedAt = scopes, s.Now()
	code.ExpiresAt = code.CreatedAt.Add(CodeLifetime)
	_, err = tx.NewInsert().Model(code).Exec(ctx)
	return err
}

// repeatAnswer returns sql.ErrNoRows unless the answer repeats the first one and its
// code is unused.
func repeatAnswer(ctx context.Context, s *db.DB, tx db.Querier, r *Request, first sql.NullString, code *AuthorizationCode) error {
	if code == nil && !first.Valid {
		return nil
	}
	if code == nil || code.Hash != first.String {
		return sql.ErrNoRows
	}
	scopes, err := chooseScopes(r.Scopes, code.Scopes)
	if err != nil {
		return sql.ErrNoRows // the first answer had scopes that could be chosen
	}
	var waits int
	return tx.NewRaw("SELECT 1 FROM authorization_codes WHERE hash = ? AND scopes = ? AND tools = ? AND asks = ? AND days = ? AND used_at IS NULL AND expires_at > ?",
		code.Hash, scopes, code.Tools, code.Asks, code.Days, s.Now()).Scan(ctx, &waits)
}
