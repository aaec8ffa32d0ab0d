package people

import (
	"context"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/id"
)

// ListRelations is that of a Tenant, within the transaction.
func ListRelations(ctx context.Context, q db.Reader, connectionID string, limit int) ([]Relation, error) {
	var rows []struct {
		Relationship

		Name string
	}
	err := q.NewRaw(`SELECT r.from_id, r.to_id, r.type, c.name FROM relationships r
JOIN connections c ON c.tenant_id = r.tenant_id AND c.archived_at IS NULL
AND c.id = CASE WHEN r.from_id = ? THEN r.to_id ELSE r.from_id END
WHERE r.tenant_id = ? AND (r.from_id = ? OR r.to_id = ?) ORDER BY c.folded_name, c.id, r.type LIMIT ?`,
		connectionID, q.TenantID(), connectionID, connectionID, limit).Scan(ctx, &rows)
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

// InsertRelationship keeps a relationship in its normal form and sets its id unless
// it has one.
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
