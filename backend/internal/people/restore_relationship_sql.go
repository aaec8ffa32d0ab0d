package people

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
)

// relationshipRestorer restores relationships.
type relationshipRestorer struct{ tx *db.Tx }

func (r relationshipRestorer) get(ctx context.Context, id string) (any, error) {
	row := &Relationship{}
	err := r.tx.From(row).Where("id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return row, err
}

func (r relationshipRestorer) put(ctx context.Context, id string, to json.RawMessage) error {
	var row *Relationship
	if err := json.Unmarshal(to, &row); err != nil {
		return fmt.Errorf("read recorded relationship: %w", err)
	}
	if row == nil {
		return DeleteRelationship(ctx, r.tx, id)
	}
	if err := NeedConnections(ctx, r.tx, row.FromID, row.ToID); err != nil {
		return err
	}
	same, err := r.tx.FirstID(ctx, "SELECT id FROM relationships WHERE tenant_id = ? AND from_id = ? AND to_id = ? AND type = ? AND id <> ?",
		r.tx.TenantID(), row.FromID, row.ToID, row.Type, id)
	if err != nil {
		return err
	}
	if same != "" {
		return fault.New(fault.Conflict, "%s says the same now", same)
	}
	if err := DeleteRelationship(ctx, r.tx, id); err != nil {
		return err
	}
	row.ID = id
	return InsertRelationship(ctx, r.tx, row)
}

// RestoreRelationship returns the restorer of relationships.
func RestoreRelationship(tx *db.Tx) history.Restorer {
	r := relationshipRestorer{tx}
	return history.Single{Get: r.get, Put: r.put}
}
