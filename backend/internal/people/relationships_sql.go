package people

import (
	"context"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/uptrace/bun"
)

// ListRelations returns the relationships of connections by their ids, each as seen from
// that connection, up to limit for each. It takes one statement.
func ListRelations(ctx context.Context, q db.Reader, ids []string, limit int) (map[string][]Relation, error) {
	out := make(map[string][]Relation, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var rows []struct {
		Relationship

		SeenBy, Name string
	}
	// An OR in place of the union makes SQLite read all relationships when it has no
	// statistics.
	err := q.NewRaw(`SELECT from_id, to_id, type, seen_by, name FROM (
SELECT r.from_id, r.to_id, r.type, r.seen_by, c.name,
row_number() OVER (PARTITION BY r.seen_by ORDER BY c.folded_name, c.id, r.type) AS place FROM (
SELECT from_id, to_id, type, from_id AS seen_by, to_id AS other FROM relationships WHERE tenant_id = ? AND from_id IN (?)
UNION ALL SELECT from_id, to_id, type, to_id, from_id FROM relationships WHERE tenant_id = ? AND to_id IN (?)) AS r
CROSS JOIN connections c WHERE c.tenant_id = ? AND c.id = r.other AND c.archived_at IS NULL) AS ranked
WHERE place <= ? ORDER BY seen_by, place`,
		q.TenantID(), bun.List(ids), q.TenantID(), bun.List(ids), q.TenantID(), limit).Scan(ctx, &rows)
	for _, row := range rows {
		relation := row.SeenFrom(row.SeenBy)
		relation.Name = row.Name
		out[row.SeenBy] = append(out[row.SeenBy], relation)
	}
	return out, err
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
