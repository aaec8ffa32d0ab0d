package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/text"
)

// groupRestorer puts groups back. Who is in them is told by memberships.
type groupRestorer struct{ u *Unit }

// Current implements change.Restorer.
func (r groupRestorer) Current(ctx context.Context, id string) (any, error) {
	g, err := r.u.GetGroup(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return g, err
}

// Restore implements change.Restorer.
func (r groupRestorer) Restore(ctx context.Context, id string, to json.RawMessage) error {
	var g *organize.Group
	if err := json.Unmarshal(to, &g); err != nil {
		return fmt.Errorf("read recorded group: %w", err)
	}
	if g == nil {
		return r.remove(ctx, id)
	}
	g.ID, g.FoldedName = id, text.Fold(g.Name)
	namesake, err := r.u.firstID(ctx, "SELECT id FROM groups WHERE tenant_id = ? AND folded_name = ? AND id <> ?", r.u.id, g.FoldedName, id)
	if err != nil {
		return err
	}
	if namesake != "" {
		return fault.New(fault.Conflict, "%s has its name now", namesake)
	}
	present, err := r.u.GetGroup(ctx, id)
	switch {
	case fault.Is(err, fault.NotFound):
		g.Version++
		return r.u.InsertGroup(ctx, g)
	case err != nil:
		return err
	}
	g.Version = present.Version + 1
	return r.u.ReplaceGroup(ctx, g)
}

// remove deletes a group that nobody was put into.
func (r groupRestorer) remove(ctx context.Context, id string) error {
	found, err := r.u.firstID(ctx, "SELECT connection_id FROM group_connections WHERE tenant_id = ? AND group_id = ? LIMIT 1", r.u.id, id)
	if err != nil {
		return err
	}
	if found != "" {
		return fault.New(fault.Conflict, "something came to hang on it: %s is in it", found)
	}
	return r.u.DeleteGroup(ctx, id)
}
