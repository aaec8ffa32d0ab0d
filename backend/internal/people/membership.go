package people

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// Distinct returns the names without those that fold to the same text as an earlier one.
func Distinct(names []string) []string {
	seen := make(map[string]bool, len(names))
	var out []string
	for _, name := range names {
		if folded := text.Fold(name); !seen[folded] {
			seen[folded] = true
			out = append(out, name)
		}
	}
	return out
}

// GroupConnection is the row of a person's membership in a group.
type GroupConnection struct {
	TenantID     tenant.ID `bun:",pk"`
	GroupID      string    `bun:",pk"`
	ConnectionID string    `bun:",pk"`
}

// Groups is the state of a change.Membership: the ids of a person's groups.
type Groups struct {
	Groups []string `json:"groups"`
}

// membershipRestorer puts people back into the groups that they were in. Its ids are the
// ids of the people.
type membershipRestorer struct{ tx *db.Tx }

// Current implements history.Restorer. Every person has a state, even one in no group.
func (r membershipRestorer) Current(ctx context.Context, ids []string) (map[string]any, error) {
	var known []string
	err := r.tx.NewRaw("SELECT id FROM connections WHERE tenant_id = ? AND id IN (?)", r.tx.TenantID(), bun.List(ids)).Scan(ctx, &known)
	if err != nil {
		return nil, err
	}
	var links []GroupConnection
	if err := r.tx.From(&links).Where("connection_id IN (?)", bun.List(ids)).Order("group_id").Scan(ctx); err != nil {
		return nil, err
	}
	groups := make(map[string][]string, len(known))
	for _, l := range links {
		groups[l.ConnectionID] = append(groups[l.ConnectionID], l.GroupID)
	}
	out := make(map[string]any, len(known))
	for _, id := range known {
		out[id] = Groups{Groups: groups[id]}
	}
	return out, nil
}

// Restore implements history.Restorer. It removes all people who leave every group with
// one statement, and changes the others one by one.
func (r membershipRestorer) Restore(ctx context.Context, to map[string]json.RawMessage) (map[string]string, error) {
	var free []string
	for id, data := range to {
		var state Groups
		if err := json.Unmarshal(data, &state); err != nil {
			return nil, fmt.Errorf("read recorded membership: %w", err)
		}
		if len(state.Groups) == 0 {
			free = append(free, id)
			delete(to, id)
		}
	}
	if len(free) > 0 {
		r.tx.MarkDirty(free...)
		if err := r.tx.Delete(ctx, (*GroupConnection)(nil), "connection_id IN (?)", bun.List(free)); err != nil {
			return nil, err
		}
	}
	return history.Single{Put: r.put}.Restore(ctx, to)
}

// put puts a person into groups.
func (r membershipRestorer) put(ctx context.Context, id string, to json.RawMessage) error {
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
			return fault.New(fault.Conflict, "the group %s no longer exists", group)
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

// RestoreMembership returns the restorer of memberships.
func RestoreMembership(tx *db.Tx) history.Restorer { return membershipRestorer{tx} }
