package idempotency

import (
	"bytes"
	"compress/flate"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// Window is how long an answer is repeated; fixed by the specification.
const Window = 24 * time.Hour

// bounds are how much is stored: for one answer, for one scope and for all scopes
// of a kind. Sizes are in bytes.
type bounds struct {
	answer   int
	keys     int
	bytes    int64
	allBytes int64
}

// Callers without a credential are counted by address, with lower bounds. All credentials of a member
// together have the bounds of a member, too.
var (
	credentialBounds = bounds{answer: 1 << 20, keys: 10_000, bytes: 64 << 20, allBytes: 2 << 30}
	memberBounds     = bounds{answer: 1 << 20, keys: 30_000, bytes: 128 << 20, allBytes: 2 << 30}
	addressBounds    = bounds{answer: 64 << 10, keys: 1_000, bytes: 4 << 20, allBytes: 128 << 20}
)

// MaxRead is the size of the largest answer to a read that is stored, in bytes: a read can be repeated.
const MaxRead = 64 << 10

// Prefixes of scopes: of a caller without a credential, before the address, and of all credentials
// of a member, before its id.
const (
	addressScope = "address:"
	memberScope  = "member:"
)

// Key names a request that may be repeated.
type Key struct {
	// Scope is the owner of the key: a credential's id, or an address.
	Scope string
	// Name is what the caller sent.
	Name string
	// Fingerprint identifies the request: a hash of method, route, media type and body.
	Fingerprint string
	// Tenant is the credential's; empty for an address.
	Tenant tenant.ID
}

// AddressScope is the scope of a caller without a credential of its own.
func AddressScope(bucket string) string { return addressScope + bucket }

// Record is a stored answer, and its database row.
type Record struct {
	Scope       string    `bun:",pk"`
	Key         string    `bun:",pk"`
	TenantID    tenant.ID `bun:",nullzero"`
	Fingerprint string
	Answer      []byte
	ExpiresAt   time.Time
}

func (k Key) bounds() bounds {
	switch {
	case k.Tenant == "":
		return addressBounds
	case strings.HasPrefix(k.Scope, memberScope):
		return memberBounds
	default:
		return credentialBounds
	}
}

// ofMember is the key as one of all credentials of its member.
func (k Key) ofMember() Key {
	k.Scope = memberScope + string(k.Tenant)
	return k
}

// MaxAnswer is the size of the largest answer that is stored, in bytes.
func (k Key) MaxAnswer() int { return k.bounds().answer }

// MaxKeys is how many keys of the scope may live at once.
func (k Key) MaxKeys() int { return k.bounds().keys }

// MaxBytes is how many bytes of answers are stored for the scope at once.
func (k Key) MaxBytes() int64 { return k.bounds().bytes }

// maxTotal is how many bytes of answers are stored for all scopes of the key's kind.
func (k Key) maxTotal() int64 { return k.bounds().allBytes }

// admits reports whether a scope with this usage may store another answer.
func (k Key) admits(u Usage) bool { return u.Keys < k.MaxKeys() && u.Bytes < k.MaxBytes() }

// TooMany is the error for a key whose scope has no room for another one.
func (k Key) TooMany() error {
	return fault.New(fault.Exhausted,
		"There are too many keyed requests of the last 24 hours (at most %d, with %d MiB of answers): wait, or send this one without an Idempotency-Key.",
		k.MaxKeys(), k.MaxBytes()>>20)
}

// ErrNoRoom is the error for a write with a key while there is no room for any scope's
// answers; its code is fault.Unavailable.
var ErrNoRoom = fault.New(fault.Unavailable,
	"No more answers to keyed requests can be kept right now: try again later, or send this one without an Idempotency-Key.")

// Match returns the answer that was stored for the key; it is empty if the key was only bound to the
// request. It fails with fault.KeyReused when the answer belongs to another request.
func (k Key) Match(r *Record) ([]byte, error) {
	if r.Fingerprint != k.Fingerprint {
		return nil, fault.New(fault.KeyReused,
			"this Idempotency-Key was used for another request within the last 24 hours: take a new key for a new request, or repeat the same bytes")
	}
	return r.Answer, nil
}

// Valid reports whether name may be a key: 1 to 255 printable ASCII characters.
func Valid(name string) bool {
	for i := range len(name) {
		if name[i] < 0x20 || name[i] > 0x7e {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 255
}

// InFlight is the error for a repeated request while the first one is still running.
func InFlight() error {
	return fault.New(fault.InFlight, "a request with this Idempotency-Key is being worked on: repeat it in a second")
}

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
	if err := s.makeRoom(ctx, k); err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(ctx context.Context, tx db.Querier) error {
		room, err := s.lockKey(ctx, tx, tx, k)
		if err != nil {
			return err
		}
		if charge != nil {
			if receipt, err = s.ledger.ChargeIn(ctx, tx, *charge); err != nil {
				return err
			}
		}
		answer, err := encode(receipt)
		if err != nil || !room {
			return err
		}
		return s.keepAnswer(ctx, tx, k, answer)
	})
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

// writers are reused, because each takes more than half a MiB.
var writers = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.DefaultCompression) // fails only for another level
	return w
}}

// compress returns the answer as it is stored: in DEFLATE's format (RFC 1951), which makes the answer of a
// small write a third smaller. An empty answer stays empty.
func compress(answer []byte) ([]byte, error) {
	if len(answer) == 0 {
		return []byte{}, nil // never NULL
	}
	w := writers.Get().(*flate.Writer) //nolint:forcetypeassert // the pool holds nothing else
	defer writers.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	if _, err := w.Write(answer); err != nil {
		return nil, fmt.Errorf("compress an answer: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress an answer: %w", err)
	}
	return out.Bytes(), nil
}

// decompress returns the answer of what compress returned.
func decompress(stored []byte) ([]byte, error) {
	if len(stored) == 0 {
		return nil, nil
	}
	answer, err := io.ReadAll(flate.NewReader(bytes.NewReader(stored)))
	if err != nil {
		return nil, fmt.Errorf("decompress an answer: %w", err)
	}
	return answer, nil
}
