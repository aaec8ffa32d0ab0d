package people

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/uptrace/bun"
)

// GetConnection returns a connection with its lists, archived or not, or
// fault.NotFound.
func GetConnection(ctx context.Context, q db.Reader, id string) (*Connection, error) {
	one := make([]Connection, 1)
	err := q.From(&one[0]).Where("id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, NoConnection(ctx, q, id)
	}
	if err != nil {
		return nil, err
	}
	return &one[0], FillConnections(ctx, q, one)
}

// NoConnection says why a connection cannot be used, and what to do: fault.Conflict when
// it was merged into another one or archived, fault.NotFound when it was deleted or does
// not exist.
func NoConnection(ctx context.Context, q db.Reader, id string) error {
	c := &Connection{}
	err := q.From(c).Column("id", "merged_into", "archived_at").Where("id = ?", id).Scan(ctx)
	if err == nil {
		if err := c.checkLive(ctx, q); err != nil {
			return err
		}
	} else if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	deletions, err := history.FindDeletions(ctx, q, []string{id})
	if err != nil {
		return err
	}
	if changeID := deletions[id]; changeID != "" {
		return fault.New(fault.NotFound, "%s was deleted; undo_change with %s brings them back", id, changeID)
	}
	return fault.New(fault.NotFound, "there is no connection %s; search_connections finds people and returns their ids", id)
}

// survivor returns the connection that a merged one ended up in: it may have been merged
// several times in a row. It takes one statement.
func survivor(ctx context.Context, q db.Reader, id string) (string, error) {
	const most = 20 // merges in a row
	stayed := id
	err := q.NewRaw(`WITH RECURSIVE merged (id, depth) AS (
SELECT c.id, 0 FROM connections c WHERE c.tenant_id = ? AND c.id = ?
UNION ALL SELECT c.merged_into, m.depth + 1 FROM merged m CROSS JOIN connections c
WHERE c.tenant_id = ? AND c.id = m.id AND c.merged_into IS NOT NULL AND m.depth < ?)
SELECT id FROM merged ORDER BY depth DESC LIMIT 1`, q.TenantID(), id, q.TenantID(), most).Scan(ctx, &stayed)
	if errors.Is(err, sql.ErrNoRows) {
		return id, nil
	}
	return stayed, err
}

// Positions selects positions with the names of their organisations, current
// ones first.
func Positions(q db.Reader, rows *[]Position) *bun.SelectQuery {
	return q.From(rows).ColumnExpr("?TableColumns").ColumnExpr("coalesce(o.name, '') AS organization").
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

// FindNamesakes returns the ids of live connections with c's folded name and current
// organisation, at most maxSharing.
func FindNamesakes(ctx context.Context, tx *db.Tx, c *Connection) (ids []string, err error) {
	organization := NormalOrganization(c.CurrentPosition().Organization)
	if organization == "" {
		return nil, nil
	}
	err = tx.NewRaw(`SELECT c.id FROM duplicate_keys k CROSS JOIN connections c
WHERE k.tenant_id = ? AND k.key = ? AND c.tenant_id = k.tenant_id AND c.id = k.connection_id
AND c.folded_name = ? AND c.archived_at IS NULL AND c.id <> ? ORDER BY k.connection_id LIMIT ?`,
		tx.TenantID(), NamesakeKey(c.Name, organization), FoldedName(c), c.ID, maxSharing).Scan(ctx, &ids)
	return ids, err
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
