package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
)

// GetConnection implements connection.Reader.
func (t *Tenant) GetConnection(ctx context.Context, id string) (*connection.Connection, error) {
	ctx, q := t.read(ctx)
	c, err := q.GetConnection(ctx, id)
	return c, translate(err)
}

// GetConnection implements connection.Reader within the transaction.
func (q scope) GetConnection(ctx context.Context, id string) (*connection.Connection, error) {
	c := &connection.Connection{}
	err := q.from(c).Where("id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noConnection(id)
	}
	if err != nil {
		return nil, err
	}
	if err := q.from(&c.Handles).Where("connection_id = ?", id).Order("ordinal").Scan(ctx); err != nil {
		return nil, err
	}
	if err := q.positions(&c.Positions).Where("?TableAlias.connection_id = ?", id).Scan(ctx); err != nil {
		return nil, err
	}
	err = q.db.NewRaw(`SELECT t.name FROM connection_tags ct JOIN tags t ON t.tenant_id = ct.tenant_id AND t.id = ct.tag_id
WHERE ct.tenant_id = ? AND ct.connection_id = ? ORDER BY t.folded_name`, q.id, id).Scan(ctx, &c.Tags)
	if err != nil {
		return nil, err
	}
	if err := q.from(&c.Dates).Where("connection_id = ?", id).Order("ordinal").Scan(ctx); err != nil {
		return nil, err
	}
	return c, q.addGroups(ctx, c)
}

func noConnection(id string) error {
	return fault.New(fault.NotFound, "there is no connection %s", id)
}

// positions selects positions with the names of their organisations, current
// ones first.
func (q scope) positions(rows *[]connection.Position) *bun.SelectQuery {
	return q.from(rows).ColumnExpr("?TableAlias.*").ColumnExpr("coalesce(o.name, '') AS organization").
		Join("LEFT JOIN organizations AS o ON o.tenant_id = ?TableAlias.tenant_id AND o.id = ?TableAlias.organization_id").
		OrderExpr("?TableAlias.current DESC, ?TableAlias.ordinal")
}

// ListSharing implements connection.Writer.
func (u *Unit) ListSharing(ctx context.Context, c *connection.Connection) (out []connection.Sharing, err error) {
	for _, kinds := range [][]string{{connection.KindEmail}, {connection.KindPhone}, {connection.KindURL, connection.KindSocial}} {
		var values []string
		for _, h := range c.Handles {
			if slices.Contains(kinds, h.Kind) {
				values = append(values, h.NormalValue)
			}
		}
		if len(values) == 0 {
			continue
		}
		var some []connection.Sharing
		err := u.db.NewRaw(`SELECT DISTINCT c.id, c.name, c.nickname, ? AS kind FROM handles h
JOIN connections c ON c.tenant_id = h.tenant_id AND c.id = h.connection_id AND c.archived_at IS NULL
WHERE h.tenant_id = ? AND h.kind IN (?) AND h.normal_value IN (?) AND c.id <> ? ORDER BY c.id LIMIT ?`,
			kinds[0], u.id, bun.List(kinds), bun.List(values), c.ID, maxListed).Scan(ctx, &some)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

// maxListed bounds how many people of one address are compared by their names.
const maxListed = 100

// FindNamesake implements connection.Writer.
func (u *Unit) FindNamesake(ctx context.Context, c *connection.Connection) (string, error) {
	organization := connection.NormalOrganization(c.CurrentPosition().Organization)
	if organization == "" {
		return "", nil
	}
	return u.firstID(ctx, `SELECT c.id FROM connections c
JOIN positions p ON p.tenant_id = c.tenant_id AND p.connection_id = c.id AND p.current
JOIN organizations o ON o.tenant_id = p.tenant_id AND o.id = p.organization_id
WHERE c.tenant_id = ? AND c.folded_name = ? AND o.normal_name = ? AND c.archived_at IS NULL AND c.id <> ? ORDER BY c.id LIMIT 1`,
		u.id, foldedName(c), organization, c.ID)
}

func (u *Unit) firstID(ctx context.Context, query string, args ...any) (string, error) {
	var found string
	err := u.db.NewRaw(query, args...).Scan(ctx, &found)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return found, err
}
