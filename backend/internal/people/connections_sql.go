package people

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/uptrace/bun"
)

// GetConnection returns a connection with its lists, archived or not, or
// fault.NotFound.
func GetConnection(ctx context.Context, q db.Reader, id string) (*Connection, error) {
	c := &Connection{}
	err := q.From(c).Where("id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, NoConnection(id)
	}
	if err != nil {
		return nil, err
	}
	if err := q.From(&c.Handles).Where("connection_id = ?", id).Order("ordinal").Scan(ctx); err != nil {
		return nil, err
	}
	if err := Positions(q, &c.Positions).Where("?TableAlias.connection_id = ?", id).Scan(ctx); err != nil {
		return nil, err
	}
	err = q.NewRaw(`SELECT t.name FROM connection_tags ct JOIN tags t ON t.tenant_id = ct.tenant_id AND t.id = ct.tag_id
WHERE ct.tenant_id = ? AND ct.connection_id = ? ORDER BY t.folded_name`, q.TenantID(), id).Scan(ctx, &c.Tags)
	if err != nil {
		return nil, err
	}
	if err := q.From(&c.Dates).Where("connection_id = ?", id).Order("ordinal").Scan(ctx); err != nil {
		return nil, err
	}
	return c, addGroups(ctx, q, c)
}

// NoConnection returns the fault.NotFound error for a connection's id.
func NoConnection(id string) error {
	return fault.New(fault.NotFound, "there is no connection %s", id)
}

// Positions selects positions with the names of their organisations, current
// ones first.
func Positions(q db.Reader, rows *[]Position) *bun.SelectQuery {
	return q.From(rows).ColumnExpr("?TableAlias.*").ColumnExpr("coalesce(o.name, '') AS organization").
		Join("LEFT JOIN organizations AS o ON o.tenant_id = ?TableAlias.tenant_id AND o.id = ?TableAlias.organization_id").
		OrderExpr("?TableAlias.current DESC, ?TableAlias.ordinal")
}

// ListSharing returns live connections other than c that share one of its addresses:
// e-mail before phone before web, and within each kind the oldest first.
func ListSharing(ctx context.Context, tx *db.Tx, c *Connection) (out []Sharing, err error) {
	for _, kinds := range [][]string{{KindEmail}, {KindPhone}, {KindURL, KindSocial}} {
		var values []string
		for _, h := range c.Handles {
			if slices.Contains(kinds, h.Kind) {
				values = append(values, h.NormalValue)
			}
		}
		if len(values) == 0 {
			continue
		}
		var some []Sharing
		// CROSS JOIN makes SQLite start with the address, which few people have.
		err := tx.NewRaw(`SELECT DISTINCT c.id, c.name, c.nickname, ? AS kind FROM handles h CROSS JOIN connections c
WHERE h.tenant_id = ? AND h.kind IN (?) AND h.normal_value IN (?) AND c.tenant_id = h.tenant_id AND c.id = h.connection_id
AND c.archived_at IS NULL AND c.id <> ? ORDER BY c.id LIMIT ?`,
			kinds[0], tx.TenantID(), bun.List(kinds), bun.List(values), c.ID, maxListed).Scan(ctx, &some)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, nil
}

// maxListed limits how many people with the same address are compared by name.
const maxListed = 100

// FindNamesake returns the id of a live connection with c's folded name and current
// organisation, or an empty id when there is none.
func FindNamesake(ctx context.Context, tx *db.Tx, c *Connection) (string, error) {
	organization := NormalOrganization(c.CurrentPosition().Organization)
	if organization == "" {
		return "", nil
	}
	return tx.FirstID(ctx, `SELECT c.id FROM connections c
JOIN positions p ON p.tenant_id = c.tenant_id AND p.connection_id = c.id AND p.current
JOIN organizations o ON o.tenant_id = p.tenant_id AND o.id = p.organization_id
WHERE c.tenant_id = ? AND c.folded_name = ? AND o.normal_name = ? AND c.archived_at IS NULL AND c.id <> ? ORDER BY c.id LIMIT 1`,
		tx.TenantID(), FoldedName(c), organization, c.ID)
}

// ListNames returns the names of the connections that exist, archived or not, by id.
func ListNames(ctx context.Context, q db.Reader, ids []string) (map[string]string, error) {
	names := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return names, nil
	}
	var rows []struct{ ID, Name string }
	err := q.NewRaw("SELECT id, name FROM connections WHERE tenant_id = ? AND id IN (?)", q.TenantID(), bun.List(ids)).Scan(ctx, &rows)
	for _, row := range rows {
		names[row.ID] = row.Name
	}
	return names, err
}
