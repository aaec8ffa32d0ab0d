package people

import (
	"context"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/id"
)

// ListRelations returns up to limit relationships of a connection, each as seen from it.
func ListRelations(ctx context.Context, q db.Reader, connectionID string, limit int) ([]Relation, error) {
	var rows []struct {
		Relationship

		Name string
	}
	// An OR in place of the union makes SQLite read all relationships when it has no
	// statistics.
	err := q.NewRaw(`SELECT r.from_id, r.to_id, r.type, c.name FROM (
SELECT from_id, to_id, type, to_id AS other FROM relationships WHERE tenant_id = ? AND from_id = ?
UNION ALL SELECT from_id, to_id, type, from_id FROM relationships WHERE tenant_id = ? AND to_id = ?) AS r
CROSS JOIN connections c WHERE c.tenant_id = ? AND c.id = r.other AND c.archived_at IS NULL ORDER BY c.folded_name, c.id, r.type LIMIT ?`,
		q.TenantID(), connectionID, q.TenantID(), connectionID, q.TenantID(), limit).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	out := make([]Relation, len(rows))
	for i, row := range rows {
		out[i] = row.SeenFrom(connectionID)
		out[i].Name = row.Name
	}
	return out, nil
}

// ListRelationshipsBetween returns what two people are to each other.
func ListRelationshipsBetween(ctx context.Context, tx *db.Tx, one, other string) ([]Relationship, error) {
	var rows []Relationship
	err := tx.From(&rows).Where("(from_id = ? AND to_id = ?) OR (from_id = ? AND to_id = ?)", one, other, other, one).
		Order("id").Scan(ctx)
	return rows, err
}

// InsertRelationship inserts a relationship in its normal form and sets its id unless it
// has one.
func InsertRelationship(ctx context.Context, tx *db.Tx, r *Relationship) error {
	*r = r.Normal()
	r.TenantID = tx.TenantID()
	if err := NameRow(tx, &r.ID, id.Relationship); err != nil {
		return err
	}
	if _, err := tx.NewInsert().Model(r).Exec(ctx); err != nil {
		return fmt.Errorf("insert relationship: %w", err)
	}
	return nil
}

// DeleteRelationship removes a relationship.
func DeleteRelationship(ctx context.Context, tx *db.Tx, relationshipID string) error {
	return tx.Delete(ctx, (*Relationship)(nil), "id = ?", relationshipID)
}
