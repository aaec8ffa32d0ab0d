package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/organize"
)

// membershipRestorer puts people back into the groups that they were in; its ids
// are the people's.
type membershipRestorer struct{ u *Unit }

// Current implements change.Restorer. Whoever is on file is in some groups, or none.
func (r membershipRestorer) Current(ctx context.Context, id string) (any, error) {
	missing, err := r.u.missingConnection(ctx, []string{id})
	if err != nil || missing != "" {
		return nil, err
	}
	groups, err := r.u.groupsOf(ctx, id)
	return organize.Groups{Groups: groups}, err
}

// Restore implements change.Restorer.
func (r membershipRestorer) Restore(ctx context.Context, id string, to json.RawMessage) error {
	var state organize.Groups
	if err := json.Unmarshal(to, &state); err != nil {
		return fmt.Errorf("read recorded membership: %w", err)
	}
	if err := r.u.needConnections(ctx, id); err != nil {
		return err
	}
	for _, group := range state.Groups {
		found, err := r.u.firstID(ctx, "SELECT id FROM groups WHERE tenant_id = ? AND id = ?", r.u.id, group)
		if err != nil {
			return err
		}
		if found == "" {
			return fault.New(fault.Conflict, "the group %s is not on file any more", group)
		}
	}
	return r.u.setGroups(ctx, id, state.Groups)
}

// groupsOf returns the ids of the groups that a connection is in.
func (u *Unit) groupsOf(ctx context.Context, connectionID string) ([]string, error) {
	groups := []string{}
	err := u.db.NewRaw("SELECT group_id FROM group_connections WHERE tenant_id = ? AND connection_id = ? ORDER BY group_id",
		u.id, connectionID).Scan(ctx, &groups)
	return groups, err
}

// setGroups puts a connection into these groups and no others.
func (u *Unit) setGroups(ctx context.Context, connectionID string, groups []string) error {
	u.touch(connectionID)
	if err := u.delete(ctx, (*groupConnection)(nil), "connection_id = ?", connectionID); err != nil {
		return err
	}
	links := make([]groupConnection, len(groups))
	for i, group := range groups {
		links[i] = groupConnection{TenantID: u.id, GroupID: group, ConnectionID: connectionID}
	}
	return u.insertAll(ctx, &links, len(links))
}
