package idempotency

import (
	"context"
	"database/sql"
	"errors"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/uptrace/bun"
)

// Keys stores the answers of requests that carry an Idempotency-Key. It is safe for
// concurrent use.
type Keys struct {
	db     *db.DB
	ledger *billing.Ledger
	claims Registry
	counts Counter
}

// NewKeys returns the keys of a database.
func NewKeys(db *db.DB, ledger *billing.Ledger) *Keys { return &Keys{db: db, ledger: ledger} }

// ClaimKey reserves a key in this process until release is called. It fails with
// fault.InFlight when another request has it.
func (s *Keys) ClaimKey(k Key) (release func(), err error) { return s.claims.Claim(k) }

// FindAnswer returns the stored answer of a request with a key, or nil. It fails with
// fault.KeyReused when the key belongs to another request.
func (s *Keys) FindAnswer(ctx context.Context, k Key) ([]byte, error) {
	answer, err := s.findAnswer(ctx, s.db, k)
	return answer, err
}

func (s *Keys) findAnswer(ctx context.Context, db db.Querier, k Key) ([]byte, error) {
	r := &Record{}
	err := db.NewSelect().Model(r).ModelTableExpr("idempotency_keys AS record").
		Where("scope = ? AND key = ? AND coalesce(tenant_id, '') = ? AND expires_at > ?", k.Scope, k.Name, k.Tenant, s.db.Now()).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	stored, err := k.Match(r)
	if err != nil {
		return nil, err
	}
	return decompress(stored) // nil for a large read, which is done again
}

// replay is the error that ends a transaction whose work was already done.
type replay struct{ answer []byte }

func (replay) Error() string { return "answered already" }

// WriteOnce is Write for a request with a key. The answer that fn returns is stored in
// the same transaction; when it is nil, the key stays unused. When the request was
// answered before, fn is not called and the stored answer is returned.
func (s *Keys) WriteOnce(
	ctx context.Context, t *db.Tenant, actor db.Actor, k Key, fn func(context.Context, *db.Tx) ([]byte, error),
) (replayed []byte, err error) {
	k.Tenant = t.TenantID()
	if err := s.makeRoom(ctx, k); err != nil {
		return nil, err
	}
	before := func(ctx context.Context, tx *db.Tx) error {
		// The tenant's transaction doesn't see the answers of other tenants.
		room, err := s.lockKey(ctx, tx, s.db, k)
		if err == nil && !room {
			err = ErrNoRoom
		}
		return err
	}
	err = t.WriteAfter(ctx, actor, before, func(ctx context.Context, tx *db.Tx) error {
		answer, err := fn(ctx, tx)
		if err != nil || answer == nil {
			return err
		}
		return s.keepAnswer(ctx, tx, k, answer)
	})
	return replayOf(err)
}

// replayOf distinguishes a replay from other errors of a transaction.
func replayOf(err error) ([]byte, error) {
	if old := (replay{}); errors.As(err, &old) {
		return old.answer, nil
	}
	return nil, err
}

// lockKey locks a key for this transaction across all processes. It fails with
// fault.InFlight while another transaction has it, with a replay when it was answered,
// and with fault.Exhausted when its scope is full. room is false when the answer can't be
// stored because all scopes together hold too much; all is a Querier that sees all scopes.
func (s *Keys) lockKey(ctx context.Context, q, all db.Querier, k Key) (room bool, err error) {
	// No key contains a line feed.
	free, err := db.TryLock(ctx, q, k.Scope+"\n"+k.Name)
	if err != nil {
		return false, err
	}
	if !free {
		return false, InFlight()
	}
	answer, err := s.findAnswer(ctx, q, k)
	if err != nil {
		return false, err
	}
	if answer != nil {
		return false, replay{answer}
	}
	room, err = s.hasRoom(ctx, all, k)
	if err != nil || !room {
		return false, err
	}
	admitted, err := s.admits(ctx, q, k, "scope", k.Scope)
	if err == nil && admitted && k.Tenant != "" {
		k = k.ofMember()
		admitted, err = s.admits(ctx, q, k, "tenant_id", string(k.Tenant))
	}
	if err == nil && !admitted {
		err = k.TooMany()
	}
	return admitted, err
}

// hasRoom reports whether the answers to all credentials, or those to all addresses, take less space
// than their bound.
func (s *Keys) hasRoom(ctx context.Context, all db.Querier, k Key) (bool, error) {
	return s.counts.HasRoom(k, s.db.Now(), func() (t Totals, err error) {
		err = all.NewRaw(`SELECT coalesce(sum(CASE WHEN tenant_id IS NOT NULL THEN length(answer) END), 0),
coalesce(sum(CASE WHEN tenant_id IS NULL THEN length(answer) END), 0) FROM idempotency_keys`).Scan(ctx, &t.Credentials, &t.Addresses)
		return t, err
	})
}

// admits reports whether the owner of a key, whom a column names, may have another one.
func (s *Keys) admits(ctx context.Context, q db.Querier, k Key, column, owner string) (bool, error) {
	return s.counts.Admits(k, func() (u Usage, err error) {
		err = q.NewRaw("SELECT count(*), coalesce(sum(length(answer)), 0) FROM idempotency_keys WHERE ? = ? AND expires_at > ?", bun.Ident(column), owner, s.db.Now()).
			Scan(ctx, &u.Keys, &u.Bytes)
		return u, err
	})
}

// The part of the bound over all scopes that makeRoom frees in a round, and how many rounds it takes at most;
// the first one only measures.
const (
	freedShare = 64
	maxRounds  = 8
)

// makeRoom deletes the oldest answers of the member, or of the address, that has the most, until the
// answers to all credentials, or to all addresses, fit their bound. So nobody's answers keep others from
// writing.
func (s *Keys) makeRoom(ctx context.Context, k Key) error {
	column, kind := "tenant_id", "tenant_id IS NOT NULL"
	if k.Tenant == "" {
		column, kind = "scope", "tenant_id IS NULL"
	}
	for round := range maxRounds {
		room, err := s.hasRoom(ctx, s.db, k)
		if err != nil || room {
			return err
		}
		if round == 0 { // another process may have made room since the last measurement
			s.counts.Forget()
			continue
		}
		err = s.db.Write(ctx, func(ctx context.Context, tx db.Querier) error {
			var owner string
			err := tx.NewRaw("SELECT ?0 FROM idempotency_keys WHERE "+kind+" GROUP BY ?0 ORDER BY sum(length(answer)) DESC, ?0 LIMIT 1", bun.Ident(column)).Scan(ctx, &owner)
			if err != nil {
				return err
			}
			_, err = tx.NewRaw(`DELETE FROM idempotency_keys WHERE (scope, key) IN (SELECT scope, key FROM (
SELECT scope, key, sum(length(answer)) OVER (ORDER BY expires_at, scope, key) - length(answer) AS older FROM idempotency_keys WHERE `+kind+` AND ?0 = ?1) AS r WHERE older < ?2)`,
				bun.Ident(column), owner, k.maxTotal()/freedShare).Exec(ctx)
			return err
		})
		if err != nil {
			return err
		}
		s.counts.Forget()
	}
	return nil
}

// keepAnswer stores an answer, and replaces an expired one. When another process has
// stored an answer by now, it fails with the replay of that.
func (s *Keys) keepAnswer(ctx context.Context, db db.Querier, k Key, answer []byte) error {
	stored, err := compress(answer)
	if err != nil {
		return err
	}
	now := s.db.Now()
	row := Record{
		Scope: k.Scope, Key: k.Name, TenantID: k.Tenant, Fingerprint: k.Fingerprint, Answer: stored,
		ExpiresAt: now.Add(Window),
	}
	result, err := db.NewInsert().Model(&row).ModelTableExpr("idempotency_keys").
		On("CONFLICT (scope, key) DO UPDATE").
		Set("tenant_id = excluded.tenant_id, fingerprint = excluded.fingerprint, answer = excluded.answer, expires_at = excluded.expires_at").
		Where("idempotency_keys.expires_at <= ?", now).Exec(ctx)
	if err != nil {
		return err
	}
	switch n, err := result.RowsAffected(); {
	case err != nil:
		return err
	case n == 1:
		s.counts.Kept(k, stored)
		return nil
	}
	old, err := s.findAnswer(ctx, db, k)
	switch {
	case err != nil:
		return err
	case old != nil:
		return replay{old}
	case len(answer) == 0: // the key was bound before
		return nil
	default:
		return errors.New("the key is another tenant's")
	}
}

// KeepAnswer stores the answer of a request with a key that wrote nothing, and charges
// for it in the same transaction if charge is not nil. encode encodes the answer with its
// receipt; when it returns nil, the key is only bound to the request, which is done again when it is
// repeated. Nothing is stored while all answers together take too much space. When the request was
// answered meanwhile, nothing is charged and the stored answer is returned.
func (s *Keys) KeepAnswer(
	ctx context.Context, k Key, charge *billing.Charge, encode func(billing.Receipt) ([]byte, error),
) (replayed []byte, err error) {
	var receipt billing.Receipt
	var charged func(error) // ends the charge
	if err := s.makeRoom(ctx, k); err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		room, err := s.lockKey(ctx, tx, tx, k)
		if err != nil {
			return err
		}
		if charge != nil {
			if charged != nil {
				charged(db.ErrAborted)
			}
			if receipt, charged, err = s.ledger.ChargeIn(ctx, tx, *charge); err != nil {
				return err
			}
		}
		answer, err := encode(receipt)
		if err != nil || !room {
			return err
		}
		return s.keepAnswer(ctx, tx, k, answer)
	})
	if charged != nil {
		charged(err)
	}
	return replayOf(err)
}

// Once runs fn in a transaction across tenants, and stores the answer that fn returns in
// the same transaction; nil stores nothing. When the request was answered before, fn is
// not called and the stored answer is returned. It fails with fault.InFlight while
// another request with the key runs.
func (s *Keys) Once(ctx context.Context, k Key, fn func(context.Context, db.Querier) ([]byte, error)) (replayed []byte, err error) {
	release, err := s.ClaimKey(k)
	if err != nil {
		if answer, findErr := s.FindAnswer(ctx, k); answer != nil || findErr != nil {
			return answer, findErr
		}
		return nil, err
	}
	defer release()
	if err := s.makeRoom(ctx, k); err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		room, err := s.lockKey(ctx, tx, tx, k)
		if err == nil && !room { // without a stored answer, a repeat would do it again
			err = ErrNoRoom
		}
		if err != nil {
			return err
		}
		answer, err := fn(ctx, tx)
		if err != nil || answer == nil || len(answer) > k.MaxAnswer() {
			return err
		}
		return s.keepAnswer(ctx, tx, k, answer)
	})
	return replayOf(err)
}
