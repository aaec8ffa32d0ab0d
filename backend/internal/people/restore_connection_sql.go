package people

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/uptrace/bun"
)

// connectionRestorer puts connections back, with the lists that are theirs.
type connectionRestorer struct{ tx *db.Tx }

// Current implements history.Restorer.
func (r connectionRestorer) Current(ctx context.Context, id string) (any, error) {
	people, err := r.CurrentAll(ctx, []string{id})
	return people[id], err
}

// Restore implements history.Restorer. The version grows, so that a caller who
// holds the one before is told.
func (r connectionRestorer) Restore(ctx context.Context, id string, to json.RawMessage) error {
	var c *Connection
	if err := json.Unmarshal(to, &c); err != nil {
		return fmt.Errorf("read recorded connection: %w", err)
	}
	if c == nil {
		return r.remove(ctx, id)
	}
	present, err := GetConnection(ctx, r.tx, id)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	c.ID = id
	if taken := r.dropTakenRows(ctx, c); taken != nil {
		return taken
	}
	if err != nil {
		err = r.bringBack(ctx, c)
	} else {
		c.Version, c.LastInteractionAt = present.Version+1, present.LastInteractionAt
		if present.ArchivedAt.IsZero() && !c.ArchivedAt.IsZero() {
			c.ArchivedAt = r.tx.Now() // the days until the purge begin anew
		}
		err = ReplaceConnection(ctx, r.tx, c)
	}
	if err != nil {
		return err
	}
	return CountContacts(ctx, r.tx, id)
}

// bringBack inserts connections that are not on file.
func (r connectionRestorer) bringBack(ctx context.Context, people ...*Connection) error {
	var keys []SourceKeyRow
	for _, c := range people {
		c.Version++
		if !c.ArchivedAt.IsZero() {
			c.ArchivedAt = r.tx.Now() // the days until the purge begin anew
		}
		for _, k := range c.SourceKeys {
			keys = append(keys, SourceKeyRow{TenantID: r.tx.TenantID(), Key: k.Key, ConnectionID: c.ID, ImportID: k.ImportID})
		}
	}
	if err := InsertPeople(ctx, r.tx, people); err != nil || len(keys) == 0 {
		return err
	}
	// A key that another person got meanwhile stays with that one.
	_, err := r.tx.NewInsert().Model(&keys).On("CONFLICT (tenant_id, key) DO NOTHING").Exec(ctx)
	return err
}

// dropTakenRows takes the ids away from those entries of a connection's lists whose
// rows are another connection's by now: a merge moves rows, and what it moved stays
// where it is when an undo puts back the person that it came from. (The undo may
// still fail to find the other one as it was.) They get new ids.
func (r connectionRestorer) dropTakenRows(ctx context.Context, c *Connection) error {
	lists := map[string][]*string{}
	for i := range c.Handles {
		lists["handles"] = append(lists["handles"], &c.Handles[i].ID)
	}
	for i := range c.Positions {
		lists["positions"] = append(lists["positions"], &c.Positions[i].ID)
	}
	for i := range c.Dates {
		lists["important_dates"] = append(lists["important_dates"], &c.Dates[i].ID)
	}
	for table, ids := range lists {
		wanted := make([]string, len(ids))
		for i, rowID := range ids {
			wanted[i] = *rowID
		}
		var taken []string
		err := r.tx.NewRaw("SELECT id FROM ? WHERE tenant_id = ? AND id IN (?) AND connection_id <> ?",
			bun.Ident(table), r.tx.TenantID(), bun.List(wanted), c.ID).Scan(ctx, &taken)
		if err != nil {
			return fmt.Errorf("look for rows in use: %w", err)
		}
		for _, rowID := range ids {
			if slices.Contains(taken, *rowID) {
				*rowID = ""
			}
		}
	}
	return nil
}

// remove deletes a connection that nothing came to hang on.
func (r connectionRestorer) remove(ctx context.Context, id string) error {
	for _, of := range []struct{ query, what string }{
		{"SELECT note_id FROM note_connections WHERE tenant_id = ? AND connection_id = ? LIMIT 1", "is a note about them"},
		{"SELECT interaction_id FROM interaction_connections WHERE tenant_id = ? AND connection_id = ? LIMIT 1", "is an interaction with them"},
		{"SELECT id FROM reminders WHERE tenant_id = ? AND connection_id = ? LIMIT 1", "is a reminder about them"},
		{"SELECT id FROM relationships WHERE tenant_id = ? AND ? IN (from_id, to_id) LIMIT 1", "relates them to somebody"},
		{"SELECT group_id FROM group_connections WHERE tenant_id = ? AND connection_id = ? LIMIT 1", "has them in it"},
		{"SELECT id FROM connections WHERE tenant_id = ? AND merged_into = ? LIMIT 1", "was merged into them"},
	} {
		found, err := r.tx.FirstID(ctx, of.query, r.tx.TenantID(), id)
		if err != nil {
			return err
		}
		if found != "" {
			return fault.New(fault.Conflict, "something came to hang on it: %s %s", found, of.what)
		}
	}
	return removeConnections(ctx, r.tx, id)
}

// removeConnections deletes connections with the rows that are theirs alone.
func removeConnections(ctx context.Context, tx *db.Tx, ids ...string) error {
	tx.MarkRemoved()
	return tx.Delete(ctx, (*Connection)(nil), "id IN (?)", bun.List(ids))
}

// CountContacts sets the last contact of connections from the interactions that
// are on file. CROSS JOIN keeps SQLite from reading all interactions for each of them.
func CountContacts(ctx context.Context, tx *db.Tx, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	tx.MarkDirty(ids...)
	_, err := tx.NewRaw(`UPDATE connections SET last_interaction_at = (
SELECT max(i.occurred_at) FROM interaction_connections l CROSS JOIN interactions i
WHERE i.tenant_id = l.tenant_id AND i.id = l.interaction_id AND l.tenant_id = connections.tenant_id AND l.connection_id = connections.id)
WHERE tenant_id = ? AND id IN (?)`, tx.TenantID(), bun.List(ids)).Exec(ctx)
	return err
}

// missingConnection returns the first of ids that is not on file, not even
// archived; empty when all are.
func missingConnection(ctx context.Context, tx *db.Tx, ids []string) (string, error) {
	if len(ids) == 0 {
		return "", nil
	}
	var found []string
	err := tx.NewRaw("SELECT id FROM connections WHERE tenant_id = ? AND id IN (?)", tx.TenantID(), bun.List(ids)).Scan(ctx, &found)
	if err != nil {
		return "", err
	}
	held := make(map[string]bool, len(found))
	for _, id := range found {
		held[id] = true
	}
	for _, id := range ids {
		if !held[id] {
			return id, nil
		}
	}
	return "", nil
}

// NeedConnections fails with fault.Conflict when somebody whom an object is about
// is not on file any more.
func NeedConnections(ctx context.Context, tx *db.Tx, ids ...string) error {
	missing, err := missingConnection(ctx, tx, ids)
	if err != nil || missing == "" {
		return err
	}
	return fault.New(fault.Conflict, "%s, whom it is about, is not on file any more", missing)
}

// RestoreConnection makes the restorer of connections.
func RestoreConnection(tx *db.Tx) history.Restorer { return connectionRestorer{tx} }

// CurrentAll implements history.Bulk.
func (r connectionRestorer) CurrentAll(ctx context.Context, ids []string) (map[string]any, error) {
	people, err := connectionsByID(ctx, r.tx, ids)
	out := make(map[string]any, len(people))
	for i := range people {
		out[people[i].ID] = &people[i]
	}
	return out, err
}

// fillSourceKeys fills in the keys by which imported files know people.
func fillSourceKeys(ctx context.Context, q db.Reader, people []Connection) error {
	at := make(map[string]*Connection, len(people))
	ids := make([]string, len(people))
	for i := range people {
		ids[i] = people[i].ID
		at[ids[i]] = &people[i]
	}
	var keys []SourceKeyRow
	if err := q.From(&keys).Where("connection_id IN (?)", bun.List(ids)).Order("key").Scan(ctx); err != nil {
		return err
	}
	for _, k := range keys {
		c := at[k.ConnectionID]
		c.SourceKeys = append(c.SourceKeys, SourceKey{Key: k.Key, ImportID: k.ImportID})
	}
	return nil
}

// connectionsByID returns those of the people who are on file, archived or not.
func connectionsByID(ctx context.Context, tx *db.Tx, ids []string) ([]Connection, error) {
	var people []Connection
	if err := tx.From(&people).Where("id IN (?)", bun.List(ids)).Order("id").Scan(ctx); err != nil || len(people) == 0 {
		return nil, err
	}
	if err := FillConnections(ctx, tx, people); err != nil {
		return nil, err
	}
	return people, fillSourceKeys(ctx, tx, people)
}

// RestoreAll implements history.Bulk.
func (r connectionRestorer) RestoreAll(ctx context.Context, to map[string]json.RawMessage) (map[string]string, error) {
	var gone, kept []string
	back := map[string]*Connection{}
	for id, data := range to {
		var c *Connection
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, fmt.Errorf("read recorded connection: %w", err)
		}
		if c == nil {
			gone = append(gone, id)
			continue
		}
		c.ID = id
		back[id], kept = c, append(kept, id)
	}
	inTheWay, err := r.removeAll(ctx, gone)
	if err != nil || len(kept) == 0 {
		return inTheWay, err
	}
	present, err := connectionsByID(ctx, r.tx, kept)
	if err != nil {
		return nil, err
	}
	var made, changed []*Connection
	for i := range present {
		was := &present[i]
		c := back[was.ID]
		delete(back, was.ID)
		c.Version, c.LastInteractionAt = was.Version+1, was.LastInteractionAt
		if was.ArchivedAt.IsZero() && !c.ArchivedAt.IsZero() {
			c.ArchivedAt = r.tx.Now() // the days until the purge begin anew
		}
		changed = append(changed, c)
	}
	for _, c := range back {
		made = append(made, c)
	}
	if err := r.bringBack(ctx, made...); err != nil {
		return nil, err
	}
	if err := ReplacePeople(ctx, r.tx, changed); err != nil {
		return nil, err
	}
	return inTheWay, CountContacts(ctx, r.tx, kept...)
}

// removeAll is remove for many connections.
func (r connectionRestorer) removeAll(ctx context.Context, ids []string) (map[string]string, error) {
	inTheWay := map[string]string{}
	if len(ids) == 0 {
		return inTheWay, nil
	}
	for _, of := range []struct{ query, what string }{
		{"SELECT connection_id, note_id AS object_id FROM note_connections WHERE tenant_id = ? AND connection_id IN (?)", "is a note about them"},
		{"SELECT connection_id, interaction_id AS object_id FROM interaction_connections WHERE tenant_id = ? AND connection_id IN (?)", "is an interaction with them"},
		{"SELECT connection_id, id AS object_id FROM reminders WHERE tenant_id = ? AND connection_id IN (?)", "is a reminder about them"},
		{"SELECT from_id AS connection_id, id AS object_id FROM relationships WHERE tenant_id = ? AND from_id IN (?)", "relates them to somebody"},
		{"SELECT to_id AS connection_id, id AS object_id FROM relationships WHERE tenant_id = ? AND to_id IN (?)", "relates them to somebody"},
		{"SELECT connection_id, group_id AS object_id FROM group_connections WHERE tenant_id = ? AND connection_id IN (?)", "has them in it"},
		{"SELECT merged_into AS connection_id, id AS object_id FROM connections WHERE tenant_id = ? AND merged_into IN (?)", "was merged into them"},
	} {
		var rows []struct{ ConnectionID, ObjectID string }
		if err := r.tx.NewRaw(of.query, r.tx.TenantID(), bun.List(ids)).Scan(ctx, &rows); err != nil {
			return nil, err
		}
		for _, row := range rows {
			inTheWay[row.ConnectionID] = "something came to hang on it: " + row.ObjectID + " " + of.what
		}
	}
	free := make([]string, 0, len(ids))
	for _, id := range ids {
		if inTheWay[id] == "" {
			free = append(free, id)
		}
	}
	if len(free) == 0 {
		return inTheWay, nil
	}
	return inTheWay, removeConnections(ctx, r.tx, free...)
}

// CurrentAll implements history.Bulk.
func (r membershipRestorer) CurrentAll(ctx context.Context, ids []string) (map[string]any, error) {
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

// RestoreAll implements history.Bulk. Only taking people out of all groups is done
// at once.
func (r membershipRestorer) RestoreAll(ctx context.Context, to map[string]json.RawMessage) (map[string]string, error) {
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
	_, inTheWay, err := history.RestoreEach(ctx, r, to)
	return inTheWay, err
}

// DistinctIDs sorts ids and drops those that repeat.
func DistinctIDs(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}
