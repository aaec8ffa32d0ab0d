package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/grant"
	"github.com/kith-crm/kith/backend/internal/idempotency"
)

// ClaimKey takes a key for this process until release is called, or fails with
// fault.InFlight.
func (s *Store) ClaimKey(k idempotency.Key) (release func(), err error) { return s.keys.Claim(k) }

// FindAnswer returns what was answered to a keyed request, or nil. It fails with
// fault.KeyReused when the key stands for another request.
func (s *Store) FindAnswer(ctx context.Context, k idempotency.Key) ([]byte, error) {
	answer, err := s.findAnswer(ctx, s.engine.serviceRead, k)
	return answer, translate(err)
}

func (s *Store) findAnswer(ctx context.Context, db bun.IDB, k idempotency.Key) ([]byte, error) {
	r := &idempotency.Record{}
	err := db.NewSelect().Model(r).ModelTableExpr("idempotency_keys AS record").
		Where("scope = ? AND key = ? AND coalesce(tenant_id, '') = ? AND expires_at > ?", k.Scope, k.Name, k.Tenant, s.time()).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return k.Match(r)
}

// replay ends a transaction that found that its work is done already.
type replay struct{ answer []byte }

func (replay) Error() string { return "answered already" }

// WriteOnce is Write for a keyed request. The answer that fn returns is kept in
// the same transaction; when it is nil, the key stays unused. When the request
// was answered before, fn is not called and the old answer comes back.
func (t *Tenant) WriteOnce(
	ctx context.Context, actor Actor, k idempotency.Key, fn func(context.Context, *Unit) ([]byte, error),
) (replayed []byte, err error) {
	k.Tenant = t.id
	before := func(ctx context.Context, u *Unit) error {
		// The tenant's transaction doesn't see the answers of others.
		room, err := t.store.lockKey(ctx, u.db, t.store.engine.serviceRead, k)
		if err == nil && !room {
			err = idempotency.ErrNoRoom
		}
		return err
	}
	err = t.write(ctx, actor, before, func(ctx context.Context, u *Unit) error {
		answer, err := fn(ctx, u)
		if err != nil || answer == nil {
			return err
		}
		return t.store.keepAnswer(ctx, u.db, k, answer)
	})
	return replayOf(err)
}

// replayOf tells the end of a transaction by a replay from other errors.
func replayOf(err error) ([]byte, error) {
	if old := (replay{}); errors.As(err, &old) {
		return old.answer, nil
	}
	return nil, translate(err)
}

// lockKey takes a key for this transaction among all processes. It fails with
// fault.InFlight while another has it, with a replay when it was answered, and
// with fault.Exhausted when its scope is full. room is false when the answer
// cannot be kept, since those of all scopes take too much; all sees all of them.
func (s *Store) lockKey(ctx context.Context, db, all bun.IDB, k idempotency.Key) (room bool, err error) {
	if s.engine.name == postgresName {
		var free bool
		// A line feed is in no key.
		err := db.NewRaw("SELECT pg_try_advisory_xact_lock(hashtextextended(?, 0))", k.Scope+"\n"+k.Name).Scan(ctx, &free)
		if err != nil {
			return false, err
		}
		if !free {
			return false, idempotency.InFlight()
		}
	}
	answer, err := s.findAnswer(ctx, db, k)
	if err != nil {
		return false, err
	}
	if answer != nil {
		return false, replay{answer}
	}
	room, err = s.counts.HasRoom(k, s.now(), func() (t idempotency.Totals, err error) {
		err = all.NewRaw(`SELECT coalesce(sum(CASE WHEN tenant_id IS NOT NULL THEN length(answer) END), 0),
coalesce(sum(CASE WHEN tenant_id IS NULL THEN length(answer) END), 0) FROM idempotency_keys`).Scan(ctx, &t.Credentials, &t.Addresses)
		return t, err
	})
	if err != nil || !room {
		return false, err
	}
	admitted, err := s.counts.Admits(k, func() (u idempotency.Usage, err error) {
		err = db.NewRaw("SELECT count(*), coalesce(sum(length(answer)), 0) FROM idempotency_keys WHERE scope = ? AND expires_at > ?", k.Scope, s.time()).
			Scan(ctx, &u.Keys, &u.Bytes)
		return u, err
	})
	if err == nil && !admitted {
		err = k.TooMany()
	}
	return admitted, err
}

// keepAnswer keeps an answer, also in place of one that is forgotten. Where there
// is one by now, that of another process, it fails with its replay.
func (s *Store) keepAnswer(ctx context.Context, db bun.IDB, k idempotency.Key, answer []byte) error {
	now := s.time()
	row := idempotency.Record{
		Scope: k.Scope, Key: k.Name, TenantID: k.Tenant, Fingerprint: k.Fingerprint, Answer: answer,
		CreatedAt: now, ExpiresAt: now.Add(idempotency.Window),
	}
	result, err := db.NewInsert().Model(&row).ModelTableExpr("idempotency_keys").
		On("CONFLICT (scope, key) DO UPDATE").
		Set("tenant_id = excluded.tenant_id, fingerprint = excluded.fingerprint, answer = excluded.answer").
		Set("created_at = excluded.created_at, expires_at = excluded.expires_at").
		Where("idempotency_keys.expires_at <= ?", now).Exec(ctx)
	if err != nil {
		return err
	}
	switch n, err := result.RowsAffected(); {
	case err != nil:
		return err
	case n == 1:
		s.counts.Kept(k, answer)
		return nil
	}
	old, err := s.findAnswer(ctx, db, k)
	if err == nil && old == nil {
		err = errors.New("the key is another tenant's")
	}
	if err != nil {
		return err
	}
	return replay{old}
}

// KeepAnswer keeps the answer of a keyed request that wrote nothing, and charges
// for it in the same transaction where charge is not nil. encode makes the answer
// with its receipt; nil keeps none. Nor is one kept while those of all take too
// much: what wrote nothing can be done again. When the request was answered
// meanwhile, nothing is charged and the old answer comes back.
func (s *Store) KeepAnswer(
	ctx context.Context, k idempotency.Key, charge *credit.Charge, encode func(credit.Receipt) ([]byte, error),
) (replayed []byte, err error) {
	var paid credit.Outcome
	err = s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		room, err := s.lockKey(ctx, tx, tx, k)
		if err != nil {
			return err
		}
		if charge != nil {
			outcomes, err := s.chargeWithin(ctx, tx, []credit.Charge{*charge})
			if err != nil {
				return err
			}
			if paid = outcomes[0]; paid.Err != nil {
				return paid.Err
			}
		}
		answer, err := encode(paid.Receipt)
		if err != nil || answer == nil || !room {
			return err
		}
		return s.keepAnswer(ctx, tx, k, answer)
	})
	if short := (*credit.Shortage)(nil); charge != nil && (err == nil || errors.As(paid.Err, &short)) {
		s.tellOutcomes([]credit.Charge{*charge}, []credit.Outcome{paid})
	}
	return replayOf(err)
}

// CreateClientOnce implements grant.Store.
func (s *Store) CreateClientOnce(
	ctx context.Context, c *grant.Client, k idempotency.Key, render func(*grant.Client) ([]byte, error),
) (replayed []byte, err error) {
	release, err := s.ClaimKey(k)
	if err != nil {
		if answer, findErr := s.FindAnswer(ctx, k); answer != nil || findErr != nil {
			return answer, findErr
		}
		return nil, err
	}
	defer release()
	err = s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		room, err := s.lockKey(ctx, tx, tx, k)
		if err == nil && !room { // a repeat would make another client
			err = idempotency.ErrNoRoom
		}
		if err != nil {
			return err
		}
		if err := s.insertClient(ctx, tx, c); err != nil {
			return err
		}
		answer, err := render(c)
		if err != nil || len(answer) > k.MaxAnswer() {
			return err
		}
		return s.keepAnswer(ctx, tx, k, answer)
	})
	return replayOf(err)
}
