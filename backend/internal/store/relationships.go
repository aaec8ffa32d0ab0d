package store

import (
	"context"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/id"
)

// ListRelations returns what other people are to a connection, in the order of
// their names, limit at most; archived ones are left out.
func (t *Tenant) ListRelations(ctx context.Context, connectionID string, limit int) ([]connection.Relation, error) {
	ctx, q := t.read(ctx)
	relations, err := q.ListRelations(ctx, connectionID, limit)
	return relations, translate(err)
}

// ListRelations is that of a Tenant, within the transaction.
func (q scope) ListRelations(ctx context.Context, connectionID string, limit int) ([]connection.Relation, error) {
	var rows []struct {
		connection.Relationship

		Name string
	}
	err := q.db.NewRaw(`SELECT r.from_id, r.to_id, r.type, c.name FROM relationships r
JOIN connections c ON c.tenant_id = r.tenant_id AND c.archived_at IS NULL
AND c.id = CASE WHEN r.from_id = ? THEN r.to_id ELSE r.from_id END
WHERE r.tenant_id = ? AND (r.from_id = ? OR r.to_id = ?) ORDER BY c.folded_name, c.id, r.type LIMIT ?`,
		connectionID, q.id, connectionID, connectionID, limit).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	out := make([]connection.Relation, len(rows))
	for i, row := range rows {
		out[i] = row.SeenFrom(connectionID)
		out[i].Name = row.Name
	}
	return out, nil
}

// ListRelationshipsBetween implements connection.Relater.
func (u *Unit) ListRelationshipsBetween(ctx context.Context, one, other string) ([]connection.Relationship, error) {
	var rows []connection.Relationship
	err := u.from(&rows).Where("(from_id = ? AND to_id = ?) OR (from_id = ? AND to_id = ?)", one, other, other, one).
		Order("id").Scan(ctx)
	return rows, err
}

// InsertRelationship implements connection.Relater.
func (u *Unit) InsertRelationship(ctx context.Context, r *connection.Relationship) error {
	*r = r.Normal()
	r.TenantID = u.id
	if err := u.nameRow(&r.ID, id.Relationship); err != nil {
		return err
	}
	if _, err := u.db.NewInsert().Model(r).Exec(ctx); err != nil {
		return fmt.Errorf("insert relationship: %w", err)
	}
	return nil
}

// DeleteRelationship implements connection.Relater.
func (u *Unit) DeleteRelationship(ctx context.Context, relationshipID string) error {
	return u.delete(ctx, (*connection.Relationship)(nil), "id = ?", relationshipID)
}
