package groups

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/text"
)

// groupRestorer restores groups. Their people are restored by the restorer of memberships.
type groupRestorer struct{ tx *db.Tx }

func (r groupRestorer) get(ctx context.Context, id string) (any, error) {
	g, err := GetGroup(ctx, r.tx, id)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return g, err
}

func (r groupRestorer) put(ctx context.Context, id string, to json.RawMessage) error {
	var g *Group
	if err := json.Unmarshal(to, &g); err != nil {
		return fmt.Errorf("read recorded group: %w", err)
	}
	if g == nil {
		return r.remove(ctx, id)
	}
	g.ID, g.FoldedName = id, text.Fold(g.Name)
	namesake, err := r.tx.FirstID(ctx, "SELECT id FROM groups WHERE tenant_id = ? AND folded_name = ? AND id <> ?", r.tx.TenantID(), g.FoldedName, id)
	if err != nil {
		return err
	}
	if namesake != "" {
		return fault.New(fault.Conflict, "%s has its name now", namesake)
	}
	present, err := GetGroup(ctx, r.tx, id)
	switch {
	case fault.Is(err, fault.NotFound):
		g.Version++
		return InsertGroup(ctx, r.tx, g)
	case err != nil:
		return err
	}
	g.Version = present.Version + 1
	return ReplaceGroup(ctx, r.tx, g)
}

// remove deletes a group that has no people.
func (r groupRestorer) remove(ctx context.Context, id string) error {
	found, err := r.tx.FirstID(ctx, "SELECT connection_id FROM group_connections WHERE tenant_id = ? AND group_id = ? LIMIT 1", r.tx.TenantID(), id)
	if err != nil {
		return err
	}
	if found != "" {
		return fault.New(fault.Conflict, "other data refers to it now: %s is in it", found)
	}
	return DeleteGroup(ctx, r.tx, id)
}

// RestoreGroup returns the restorer of groups.
func RestoreGroup(tx *db.Tx) history.Restorer {
	r := groupRestorer{tx}
	return history.Single{Get: r.get, Put: r.put}
}
