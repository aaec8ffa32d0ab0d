package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
)

// relationshipRestorer puts relationships back.
type relationshipRestorer struct{ u *Unit }

// Current implements change.Restorer.
func (r relationshipRestorer) Current(ctx context.Context, id string) (any, error) {
	row := &connection.Relationship{}
	err := r.u.from(row).Where("id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return row, err
}

// Restore implements change.Restorer.
func (r relationshipRestorer) Restore(ctx context.Context, id string, to json.RawMessage) error {
	var row *connection.Relationship
	if err := json.Unmarshal(to, &row); err != nil {
		return fmt.Errorf("read recorded relationship: %w", err)
	}
	if row == nil {
		return r.u.DeleteRelationship(ctx, id)
	}
	if err := r.u.needConnections(ctx, row.FromID, row.ToID); err != nil {
		return err
	}
	same, err := r.u.firstID(ctx, "SELECT id FROM relationships WHERE tenant_id = ? AND from_id = ? AND to_id = ? AND type = ? AND id <> ?",
		r.u.id, row.FromID, row.ToID, row.Type, id)
	if err != nil {
		return err
	}
	if same != "" {
		return fault.New(fault.Conflict, "%s says the same now", same)
	}
	if err := r.u.DeleteRelationship(ctx, id); err != nil {
		return err
	}
	row.ID = id
	return r.u.InsertRelationship(ctx, row)
}
