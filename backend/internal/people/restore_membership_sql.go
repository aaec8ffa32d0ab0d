package people

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
)

// membershipRestorer puts people back into the groups that they were in; its ids
// are the people's.
type membershipRestorer struct{ tx *db.Tx }

// Current implements history.Restorer. Whoever is on file is in some groups, or none.
func (r membershipRestorer) Current(ctx context.Context, id string) (any, error) {
	missing, err := missingConnection(ctx, r.tx, []string{id})
	if err != nil || missing != "" {
		return nil, err
	}
	groups, err := groupsOf(ctx, r.tx, id)
	return Groups{Groups: groups}, err
}

// Restore implements history.Restorer.
func (r membershipRestorer) Restore(ctx context.Context, id string, to json.RawMessage) error {
	var state Groups
	if err := json.Unmarshal(to, &state); err != nil {
		return fmt.Errorf("read recorded membership: %w", err)
	}
	if err := NeedConnections(ctx, r.tx, id); err != nil {
		return err
	}
	for _, group := range state.Groups {
		found, err := r.tx.FirstID(ctx, "SELECT id FROM groups WHERE tenant_id = ? AND id = ?", r.tx.TenantID(), group)
		if err != nil {
			return err
		}
		if found == "" {
			return fault.New(fault.Conflict, "the group %s is not on file any more", group)
		}
	}
	return setGroups(ctx, r.tx, id, state.Groups)
}

// groupsOf returns the ids of the groups that a connection is in.
func groupsOf(ctx context.Context, tx *db.Tx, connectionID string) ([]string, error) {
	groups := []string{}
	err := tx.NewRaw("SELECT group_id FROM group_connections WHERE tenant_id = ? AND connection_id = ? ORDER BY group_id",
		tx.TenantID(), connectionID).Scan(ctx, &groups)
	return groups, err
}

// setGroups puts a connection into these groups and no others.
func setGroups(ctx context.Context, tx *db.Tx, connectionID string, groups []string) error {
	tx.MarkDirty(connectionID)
	if err := tx.Delete(ctx, (*GroupConnection)(nil), "connection_id = ?", connectionID); err != nil {
		return err
	}
	links := make([]GroupConnection, len(groups))
	for i, group := range groups {
		links[i] = GroupConnection{TenantID: tx.TenantID(), GroupID: group, ConnectionID: connectionID}
	}
	return tx.InsertAll(ctx, &links, len(links))
}

// RestoreMembership makes the restorer of memberships.
func RestoreMembership(tx *db.Tx) history.Restorer { return membershipRestorer{tx} }
