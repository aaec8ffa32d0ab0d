package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// Tenant reads the rows of one tenant, and begins its writes.
type Tenant struct {
	reader

	service  *DB
	readOnly bool
}

// Tenant returns the handle of one tenant. The handle of a read-only tenant
// refuses to write.
func (s *DB) Tenant(t tenant.ID, readOnly bool) *Tenant {
	return &Tenant{reader: reader{db: s.pool(s.engine.tenantRead, t), id: t, now: s.Now}, service: s, readOnly: readOnly}
}

// TenantIn returns the transaction of one tenant within a transaction across tenants. The
// caller sets its time and data version, and calls Derive at its end. Its dirty marks are discarded.
func (s *DB) TenantIn(tx Querier, t tenant.ID, now time.Time, version int64) *Tx {
	return &Tx{
		reader: reader{db: tx, id: t, now: func() time.Time { return now }}, ids: s.ids, version: version, dirty: map[string]struct{}{},
	}
}

// Service is the database that the tenant is in.
func (t *Tenant) Service() *DB { return t.service }

// Actor is the credential and the tool with which a write is made.
type Actor struct {
	CredentialID, CredentialName, Tool string
	// ImportID is the import that the changes are part of; empty for none.
	ImportID string
}

// Tx is one write transaction of one tenant. All writes of a tenant happen one after the
// other: each begins by incrementing the tenant's data version.
type Tx struct {
	reader

	ids     *id.Generator
	actor   Actor
	version int64
	space   space
	dirty   map[string]struct{}
	removed []string
	derived map[any]Derived
}

// Derived is data that is derived from rows of a tenant, and that the transaction which writes the rows writes too.
type Derived interface {
	// Derive writes the data. It runs once, at the end of the transaction.
	Derive(ctx context.Context, tx *Tx) error
}

// Derived returns the derived data with a key, which the first call makes.
func (x *Tx) Derived(key any, first func() Derived) Derived {
	if x.derived == nil {
		x.derived = map[any]Derived{}
	}
	if x.derived[key] == nil {
		x.derived[key] = first()
	}
	return x.derived[key]
}

// Derive writes the derived data. Write does it; the caller of DB.TenantIn must.
func (x *Tx) Derive(ctx context.Context) error {
	for _, d := range x.derived {
		if err := d.Derive(ctx, x); err != nil {
			return err
		}
	}
	x.derived = nil
	return nil
}

// Write runs fn in one transaction, which is committed when fn returns nil. The
// transaction's time is fixed. As in DB.Write, fn may run again. It fails with fault.ReadOnly for a
// read-only tenant, and with fault.Full for one whose quota is used up: see Tx.Reserve.
func (t *Tenant) Write(ctx context.Context, actor Actor, fn func(context.Context, *Tx) error) error {
	return t.WriteAfter(ctx, actor, nil, fn)
}

// WriteAfter is Write with a function that runs in the transaction before it waits for
// the tenant's other writes.
func (t *Tenant) WriteAfter(ctx context.Context, actor Actor, before, fn func(context.Context, *Tx) error) error {
	if t.readOnly {
		return fault.New(fault.ReadOnly, "this account is read-only")
	}
	ctx = withTenant(ctx, t.id)
	return t.service.inTx(ctx, t.service.engine.tenantWrite, nil, func(ctx context.Context, tx bun.Tx) error {
		now := t.service.Now()
		x := &Tx{
			reader: reader{db: tx, id: t.id, now: func() time.Time { return now }}, ids: t.service.ids, actor: actor,
			dirty: map[string]struct{}{}, space: space{limit: t.service.memberBytes},
		}
		if before != nil {
			if err := before(ctx, x); err != nil {
				return err
			}
		}
		if err := x.begin(ctx); err != nil {
			return err
		}
		if err := fn(ctx, x); err != nil {
			return err
		}
		if err := x.Derive(ctx); err != nil {
			return err
		}
		return x.keepDirty(ctx)
	})
}

// Snapshot runs fn in one reading transaction, so that all its statements see the
// same state.
func (t *Tenant) Snapshot(ctx context.Context, fn func(context.Context, Reader) error) error {
	return t.service.inTx(withTenant(ctx, t.id), t.service.engine.tenantRead, t.service.engine.snapshot(), func(ctx context.Context, tx bun.Tx) error {
		return fn(ctx, reader{db: tx, id: t.id, now: t.now})
	})
}

// Preview runs fn in one reading transaction that has the form of a write, so that fn can use what
// reads for writes. A statement that writes fails in it.
func (t *Tenant) Preview(ctx context.Context, fn func(context.Context, *Tx) error) error {
	return t.service.inTx(withTenant(ctx, t.id), t.service.engine.tenantRead, t.service.engine.snapshot(), func(ctx context.Context, tx bun.Tx) error {
		now := t.service.Now()
		return fn(ctx, &Tx{reader: reader{db: tx, id: t.id, now: func() time.Time { return now }}, ids: t.service.ids, dirty: map[string]struct{}{}})
	})
}

func (x *Tx) begin(ctx context.Context) error {
	err := x.NewRaw("UPDATE tenant_states SET data_version = data_version + 1 WHERE tenant_id = ? RETURNING data_version, kept_bytes, coalesce(quota_bytes, ?)",
		x.id, x.space.limit).Scan(ctx, &x.version, &x.space.kept, &x.space.limit)
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, "the member does not exist any more")
	}
	if err != nil {
		return err
	}
	x.space.limit = limitOf(ctx, x.space.limit)
	return x.Reserve(0)
}

// Actor returns the credential and the tool that the transaction writes for.
func (x *Tx) Actor() Actor { return x.actor }

// Version returns the tenant's data version after the transaction.
func (x *Tx) Version() int64 { return x.version }

// NewULID returns a new id that is unique within the service; id.New makes those of a member's objects.
func (x *Tx) NewULID(prefix string) (string, error) { return x.ids.New(prefix) }

// MarkDirty marks connections whose searchable words changed, for the search indexes.
func (x *Tx) MarkDirty(ids ...string) {
	for _, id := range ids {
		x.dirty[id] = struct{}{}
	}
}

// MarkRemoved records that connections were deleted, for the search indexes: their rows,
// whose version would show a change, no longer exist.
func (x *Tx) MarkRemoved(ids ...string) { x.removed = append(x.removed, ids...) }

func (x *Tx) keepDirty(ctx context.Context) error {
	if err := x.keepRemoved(ctx); err != nil {
		return err
	}
	if len(x.dirty) == 0 {
		return nil
	}
	_, err := x.NewRaw("UPDATE connections SET data_version = ? WHERE tenant_id = ? AND id IN (?)",
		x.version, x.id, bun.List(slices.Collect(maps.Keys(x.dirty)))).Exec(ctx)
	return err
}

// Deletions are kept for the last keepRemovals versions, and for each version at most manyRemovals
// people. An index that is older, or that would drop more people, is rebuilt.
const (
	keepRemovals = 1000
	manyRemovals = 100
)

// keepRemoved records the deletions, and deletes old records.
func (x *Tx) keepRemoved(ctx context.Context) error {
	if len(x.removed) == 0 {
		return nil
	}
	oldest := x.version - keepRemovals
	if len(x.removed) > manyRemovals {
		oldest = x.version
	} else {
		rows := make([]removedConnection, len(x.removed))
		for i, id := range x.removed {
			rows[i] = removedConnection{TenantID: x.id, DataVersion: x.version, ConnectionID: id}
		}
		if _, err := x.NewInsert().Model(&rows).On("CONFLICT DO NOTHING").Exec(ctx); err != nil {
			return fmt.Errorf("record deletions: %w", err)
		}
	}
	if oldest <= 0 {
		return nil
	}
	_, err := x.NewRaw("UPDATE tenant_states SET removed_version = ?0 WHERE tenant_id = ?1 AND removed_version < ?0", oldest, x.id).Exec(ctx)
	if err != nil {
		return err
	}
	_, err = x.NewRaw("DELETE FROM removed_connections WHERE tenant_id = ? AND data_version <= ?", x.id, oldest).Exec(ctx)
	return err
}

// removedConnection is a person who was deleted.
type removedConnection struct {
	bun.BaseModel `bun:"table:removed_connections"`

	TenantID     tenant.ID
	DataVersion  int64
	ConnectionID string
}

// RemovedSince returns the people who were deleted after a data version of at least
// removed_version, unless they were restored.
func RemovedSince(ctx context.Context, q Reader, since int64) (ids []string, err error) {
	err = q.NewRaw(`SELECT DISTINCT r.connection_id FROM removed_connections r WHERE r.tenant_id = ? AND r.data_version > ?
AND NOT EXISTS (SELECT 1 FROM connections c WHERE c.tenant_id = r.tenant_id AND c.id = r.connection_id)`, q.TenantID(), since).Scan(ctx, &ids)
	return ids, err
}

// NewInsert implements Querier. The rows must have the tenant's id.
func (x *Tx) NewInsert() *bun.InsertQuery { return x.db.NewInsert() }

// NewUpdate implements Querier. The statement must name the tenant.
func (x *Tx) NewUpdate() *bun.UpdateQuery { return x.db.NewUpdate() }

// NewDelete implements Querier. The statement must name the tenant.
func (x *Tx) NewDelete() *bun.DeleteQuery { return x.db.NewDelete() }

// InsertAll inserts a slice of n rows; it does nothing when n is 0.
func (x *Tx) InsertAll(ctx context.Context, rows any, n int) error {
	if n == 0 {
		return nil
	}
	_, err := x.db.NewInsert().Model(rows).Exec(ctx)
	return err
}

// Replace overwrites the previous version of a row: all columns except id and created_at, or the
// named ones. It fails with fault.Conflict if that version is no longer the stored one. The row
// must have the tenant's id.
func (x *Tx) Replace(ctx context.Context, row any, id string, version int32, columns ...string) error {
	q := x.db.NewUpdate().Model(row).Column(columns...)
	if len(columns) == 0 {
		q.ExcludeColumn("tenant_id", "id", "created_at")
	}
	result, err := q.Where("tenant_id = ?", x.id).WhereGroup(" AND ", func(q *bun.UpdateQuery) *bun.UpdateQuery {
		return q.Where("id = ?", id).Where("version = ?", version-1)
	}).Exec(ctx)
	if err != nil {
		return fmt.Errorf("replace %s: %w", id, err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return fault.Wrap(err, fault.Conflict, "%s has changed since it was read: read it again before you change it", id)
	}
	return nil
}

// Delete removes the tenant's rows of a model that meet a condition.
func (x *Tx) Delete(ctx context.Context, model any, condition string, args ...any) error {
	_, err := x.db.NewDelete().Model(model).Where("tenant_id = ?", x.id).
		WhereGroup(" AND ", func(d *bun.DeleteQuery) *bun.DeleteQuery { return d.Where(condition, args...) }).Exec(ctx)
	return err
}

// Attempt runs fn within a savepoint, and rolls back what it wrote unless keep.
func (x *Tx) Attempt(ctx context.Context, fn func(context.Context) (keep bool, err error)) error {
	outer, ok := x.db.(bun.Tx)
	if !ok {
		return fmt.Errorf("attempt: %T is no transaction", x.db)
	}
	inner, err := outer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	dirty, removed := maps.Clone(x.dirty), x.removed
	x.db = inner
	keep, err := fn(ctx)
	x.db = outer
	if keep && err == nil {
		return inner.Commit()
	}
	x.dirty, x.removed = dirty, removed
	return errors.Join(err, inner.Rollback())
}

func (x *Tx) FirstID(ctx context.Context, query string, args ...any) (string, error) {
	var found string
	err := x.NewRaw(query, args...).Scan(ctx, &found)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return found, err
}

// space is what a member stores in photos, uploaded files and recorded changes, in bytes, and how
// much they may; a limit of 0 is none. Triggers keep the sum, tenant_states.kept_bytes.
type space struct{ kept, limit int64 }

// limitKey is the context key of the share of the quota by which writes may exceed it.
type limitKey struct{}

// WithExtraQuota returns a context whose writes may exceed a member's quota by a quarter: they delete,
// cancel or undo something, so that a member whose quota is used up can make room.
func WithExtraQuota(ctx context.Context) context.Context {
	return context.WithValue(ctx, limitKey{}, quarter)
}

// WithoutQuota returns a context whose writes no quota refuses: they store none of what it counts,
// or they only delete.
func WithoutQuota(ctx context.Context) context.Context {
	return context.WithValue(ctx, limitKey{}, unbounded)
}

type excess int

const (
	quarter excess = iota + 1
	unbounded
)

// limitOf returns the limit of a write.
func limitOf(ctx context.Context, quota int64) int64 {
	switch more, _ := ctx.Value(limitKey{}).(excess); more {
	case unbounded:
		return 0
	case quarter:
		return quota + quota/4
	default:
		return quota
	}
}

// Reserve fails with fault.Full if the member's quota is used up, or would be exceeded by so
// many more bytes. Every write checks that before it begins, and what stores photos and files before
// it stores them; a change is recorded if there was room when its transaction began.
func (x *Tx) Reserve(bytes int) error {
	if !x.HasRoom(bytes) {
		return x.space.full()
	}
	x.space.kept += int64(bytes)
	return nil
}

// HasRoom reports whether Reserve would not fail.
func (x *Tx) HasRoom(bytes int) bool {
	s := &x.space
	return s.limit == 0 || s.kept < s.limit && s.kept+int64(bytes) <= s.limit
}

func (s *space) full() error {
	return fault.New(fault.Full, "the account is full: its photos, uploaded files and recorded changes use %s of %s. "+
		"To make room, the member deletes people they no longer need and empties the bin (/people/bin), or asks the people who run this service for more",
		Megabytes(s.kept), Megabytes(s.limit))
}

// Megabytes returns a number of bytes in words, such as 1.5 MB.
func Megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20)) }

// Space returns how many bytes of the quota the member uses, and the quota; 0 if there is none.
func (t *Tenant) Space(ctx context.Context) (kept, quota int64, err error) {
	err = t.NewRaw("SELECT kept_bytes, coalesce(quota_bytes, ?) FROM tenant_states WHERE tenant_id = ?", t.service.memberBytes, t.id).Scan(ctx, &kept, &quota)
	return kept, quota, err
}

// SetQuota gives a member so many bytes instead of Config.MemberBytes, 0 for no limit; nil gives those of the
// configuration again.
func (s *DB) SetQuota(ctx context.Context, owner tenant.ID, bytes *int64) error {
	_, err := s.NewWrite("UPDATE tenant_states SET quota_bytes = ? WHERE tenant_id = ?", bytes, owner).Exec(ctx)
	return err
}

// CheckSpace fails as Tx.Reserve does, before the work for a write that stores a photo or a file.
func (t *Tenant) CheckSpace(ctx context.Context) error {
	kept, quota, err := t.Space(ctx)
	if s := (space{kept: kept, limit: quota}); err == nil && quota > 0 && kept >= quota {
		return s.full()
	}
	return err
}
