package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Tenant reads the rows of one tenant, and begins its writes.
type Tenant struct {
	store    *Store
	id       tenant.ID
	readOnly bool
}

// Tenant returns the handle of one tenant. The handle of a read-only tenant
// refuses to write.
func (s *Store) Tenant(t tenant.ID, readOnly bool) *Tenant {
	return &Tenant{store: s, id: t, readOnly: readOnly}
}

// Actor says on whose behalf and with which tool a write is made.
type Actor struct{ CredentialID, CredentialName, Tool string }

// Unit is one write transaction of one tenant. All writes of a tenant happen one
// after the other: each begins by counting up the tenant's data version.
type Unit struct {
	scope
	ids     *id.Generator
	now     time.Time
	actor   Actor
	version int64
	touched map[string]struct{}
	// removed tells that connections were deleted, so that no row is left whose
	// version could say so.
	removed bool
	tally   tally
}

// Write runs fn in one transaction, which is committed when fn returns nil. The
// time within is fixed. It fails with fault.ReadOnly for a read-only tenant.
func (t *Tenant) Write(ctx context.Context, actor Actor, fn func(context.Context, *Unit) error) error {
	return t.write(ctx, actor, nil, fn)
}

// write is Write with something to do in the transaction before it waits for the
// tenant's other writes.
func (t *Tenant) write(ctx context.Context, actor Actor, before, fn func(context.Context, *Unit) error) error {
	if t.readOnly {
		return fault.New(fault.ReadOnly, "this account is read-only")
	}
	ctx = withTenant(ctx, t.id)
	var u *Unit
	err := t.store.engine.tenantWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		u = &Unit{
			scope: scope{db: tx, id: t.id}, ids: t.store.ids, now: t.store.time(), actor: actor,
			touched: map[string]struct{}{},
		}
		if before != nil {
			if err := before(ctx, u); err != nil {
				return err
			}
		}
		if err := u.begin(ctx); err != nil {
			return err
		}
		if err := fn(ctx, u); err != nil {
			return err
		}
		return u.markTouched(ctx)
	})
	if u != nil {
		u.tally.tell(t.store.creditWatch, actor.Tool, err)
	}
	return translate(err)
}

func (u *Unit) begin(ctx context.Context) error {
	err := u.db.NewRaw("UPDATE tenant_states SET data_version = data_version + 1 WHERE tenant_id = ? RETURNING data_version",
		u.id).Scan(ctx, &u.version)
	if errors.Is(err, sql.ErrNoRows) {
		return fault.New(fault.NotFound, "the member does not exist any more")
	}
	return err
}

// touch marks connections whose searchable words changed.
func (u *Unit) touch(ids ...string) {
	for _, id := range ids {
		u.touched[id] = struct{}{}
	}
}

func (u *Unit) markTouched(ctx context.Context) error {
	if u.removed {
		_, err := u.db.NewRaw("UPDATE tenant_states SET removed_version = ? WHERE tenant_id = ?", u.version, u.id).Exec(ctx)
		if err != nil {
			return err
		}
	}
	if len(u.touched) == 0 {
		return nil
	}
	ids := make([]string, 0, len(u.touched))
	for id := range u.touched {
		ids = append(ids, id)
	}
	_, err := u.db.NewRaw("UPDATE connections SET data_version = ? WHERE tenant_id = ? AND id IN (?)",
		u.version, u.id, bun.List(ids)).Exec(ctx)
	return err
}

// maxSummary bounds a change's summary, in characters.
const maxSummary = 300

// Now is the time of the transaction.
func (u *Unit) Now() time.Time { return u.now }

// Record keeps what was changed, by whom, and returns the change's id.
func (u *Unit) Record(ctx context.Context, draft change.Draft) (string, error) {
	effects, err := draft.Encode()
	if err != nil {
		return "", err
	}
	changeID, err := u.ids.New(id.Change)
	if err != nil {
		return "", err
	}
	finalAt, err := u.finalAt(ctx, draft, effects)
	if err != nil {
		return "", err
	}
	row := change.Change{
		ID: changeID, TenantID: u.id, CredentialID: u.actor.CredentialID, CredentialName: u.actor.CredentialName,
		Tool: u.actor.Tool, Summary: text.Truncate(draft.Summary, maxSummary), Effects: effects, FinalAt: finalAt,
		Undoes: draft.Undoes, ImportID: draft.ImportID, CreatedAt: u.now,
	}
	_, err = u.db.NewInsert().Model(&row).Exec(ctx)
	return changeID, err
}

// scope makes statements that reach one tenant's rows only.
type scope struct {
	db bun.IDB
	id tenant.ID
}

// read returns the scope of a tenant's reads outside a transaction, and the
// context to run them with.
func (t *Tenant) read(ctx context.Context) (context.Context, scope) {
	return withTenant(ctx, t.id), scope{db: t.store.engine.tenantRead, id: t.id}
}

// from selects from the tenant's rows of a model. They are a derived table, so
// that no condition added later, not even an OR, can reach beyond them.
func (q scope) from(model any) *bun.SelectQuery {
	return q.db.NewSelect().Model(model).
		ModelTableExpr("(SELECT * FROM ?TableName WHERE tenant_id = ?) AS ?TableAlias", q.id)
}

// delete removes the tenant's rows of a model that meet a condition.
func (q scope) delete(ctx context.Context, model any, condition string, args ...any) error {
	_, err := q.db.NewDelete().Model(model).Where("tenant_id = ?", q.id).
		WhereGroup(" AND ", func(d *bun.DeleteQuery) *bun.DeleteQuery { return d.Where(condition, args...) }).Exec(ctx)
	return err
}
