package people

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/uptrace/bun"
)

// connectionRestorer restores connections with the lists that belong to them.
type connectionRestorer struct{ tx *db.Tx }

// bringBack inserts connections that do not exist.
func (r connectionRestorer) bringBack(ctx context.Context, people ...*Connection) error {
	var keys []SourceKeyRow
	for _, c := range people {
		c.Version++
		for _, k := range c.SourceKeys {
			keys = append(keys, SourceKeyRow{TenantID: r.tx.TenantID(), Key: k.Key, ConnectionID: c.ID, ImportID: k.ImportID, Name: k.Name})
		}
	}
	if err := InsertPeople(ctx, r.tx, people); err != nil || len(keys) == 0 {
		return err
	}
	// A key that another person got meanwhile stays with that person.
	_, err := r.tx.NewInsert().Model(&keys).On("CONFLICT (tenant_id, key) DO NOTHING").Exec(ctx)
	return err
}

// dropTakenRows clears the ids of those entries of connections' lists whose rows now
// belong to another connection: a merge moves rows, and what it moved stays there when an
// undo restores the person that it came from. (The undo may still find the other person
// changed, and fail.) These entries get new ids.
func (r connectionRestorer) dropTakenRows(ctx context.Context, people map[string]*Connection) error {
	type entry struct {
		id    *string
		owner string
	}
	lists := map[string][]entry{}
	for _, c := range people {
		for i := range c.Handles {
			lists["handles"] = append(lists["handles"], entry{&c.Handles[i].ID, c.ID})
		}
		for i := range c.Positions {
			lists["positions"] = append(lists["positions"], entry{&c.Positions[i].ID, c.ID})
		}
		for i := range c.Dates {
			lists["important_dates"] = append(lists["important_dates"], entry{&c.Dates[i].ID, c.ID})
		}
	}
	for table, entries := range lists {
		ids := make([]string, len(entries))
		for i, e := range entries {
			ids[i] = *e.id
		}
		var rows []struct{ ID, ConnectionID string }
		err := r.tx.NewRaw("SELECT id, connection_id FROM ? WHERE tenant_id = ? AND id IN (?)",
			bun.Ident(table), r.tx.TenantID(), bun.List(ids)).Scan(ctx, &rows)
		if err != nil {
			return fmt.Errorf("look for rows in use: %w", err)
		}
		owners := make(map[string]string, len(rows))
		for _, row := range rows {
			owners[row.ID] = row.ConnectionID
		}
		for _, e := range entries {
			if owner, used := owners[*e.id]; used && owner != e.owner {
				*e.id = ""
			}
		}
	}
	return nil
}

// removeConnections deletes connections with the rows that belong to them alone.
func removeConnections(ctx context.Context, tx *db.Tx, ids ...string) error {
	tx.MarkRemoved(ids...)
	return tx.Delete(ctx, (*Connection)(nil), "id IN (?)", bun.List(ids))
}

// CountContacts sets the last contact of connections from the stored interactions. CROSS
// JOIN keeps SQLite from reading all interactions for each of them.
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

// missingConnection returns the first of ids that does not exist, not even archived; empty
// when all exist.
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

// NeedConnections fails with fault.Conflict when a person that an object is about no
// longer exists.
func NeedConnections(ctx context.Context, tx *db.Tx, ids ...string) error {
	missing, err := missingConnection(ctx, tx, ids)
	if err != nil || missing == "" {
		return err
	}
	return fault.New(fault.Conflict, "%s, whom it is about, no longer exists", missing)
}

// RestoreConnection returns the restorer of connections.
func RestoreConnection(tx *db.Tx) history.Restorer { return connectionRestorer{tx} }

// Current implements history.Restorer.
func (r connectionRestorer) Current(ctx context.Context, ids []string) (map[string]any, error) {
	people, err := connectionsByID(ctx, r.tx, ids)
	out := make(map[string]any, len(people))
	for i := range people {
		out[people[i].ID] = &people[i]
	}
	return out, err
}

// fillSourceKeys fills in the keys by which imported files identify people.
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
		c.SourceKeys = append(c.SourceKeys, SourceKey{Key: k.Key, ImportID: k.ImportID, Name: k.Name})
	}
	return nil
}

// connectionsByID returns those of the people who exist, archived or not.
func connectionsByID(ctx context.Context, tx *db.Tx, ids []string) ([]Connection, error) {
	var people []Connection
	if err := tx.From(&people).Where("id IN (?)", bun.List(ids)).Order("folded_name", "id").Scan(ctx); err != nil || len(people) == 0 {
		return nil, err
	}
	if err := FillConnections(ctx, tx, people); err != nil {
		return nil, err
	}
	return people, fillSourceKeys(ctx, tx, people)
}

// Restore implements history.Restorer. It increments the version, so that a caller who
// holds the one before gets a conflict.
func (r connectionRestorer) Restore(ctx context.Context, to map[string]json.RawMessage) (map[string]string, error) {
	conflicts, err := r.remove(ctx, history.TakeRemovals(to))
	if err != nil || len(to) == 0 {
		return conflicts, err
	}
	wanted := make(map[string]*Connection, len(to))
	for id, data := range to {
		c := &Connection{}
		if err := json.Unmarshal(data, c); err != nil {
			return nil, fmt.Errorf("read recorded connection: %w", err)
		}
		c.ID = id
		wanted[id] = c
	}
	if err := r.dropTakenRows(ctx, wanted); err != nil {
		return nil, err
	}
	if err := keepPhotos(ctx, r.tx, wanted); err != nil {
		return nil, err
	}
	ids := slices.Collect(maps.Keys(wanted))
	var present []Connection
	if err := r.tx.From(&present).Where("id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
		return nil, err
	}
	var changed []*Connection
	for _, was := range present {
		c := wanted[was.ID]
		delete(wanted, was.ID)
		c.Version, c.LastInteractionAt = was.Version+1, was.LastInteractionAt
		changed = append(changed, c)
	}
	if err := r.bringBack(ctx, slices.Collect(maps.Values(wanted))...); err != nil {
		return nil, err
	}
	if err := ReplacePeople(ctx, r.tx, changed); err != nil {
		return nil, err
	}
	return conflicts, CountContacts(ctx, r.tx, ids...)
}

// remove deletes connections, except those that other objects now refer to, and returns
// those objects.
func (r connectionRestorer) remove(ctx context.Context, ids []string) (map[string]string, error) {
	conflicts := map[string]string{}
	if len(ids) == 0 {
		return conflicts, nil
	}
	for _, of := range []struct{ query, what string }{
		{"SELECT connection_id, min(note_id) AS object_id FROM note_connections WHERE tenant_id = ? AND connection_id IN (?) GROUP BY connection_id", "is a note about them"},
		{"SELECT connection_id, min(interaction_id) AS object_id FROM interaction_connections WHERE tenant_id = ? AND connection_id IN (?) GROUP BY connection_id", "is an interaction with them"},
		{"SELECT connection_id, min(reminder_id) AS object_id FROM reminder_connections WHERE tenant_id = ? AND connection_id IN (?) GROUP BY connection_id", "is a reminder about them"},
		{"SELECT from_id AS connection_id, min(id) AS object_id FROM relationships WHERE tenant_id = ? AND from_id IN (?) GROUP BY from_id", "relates them to another person"},
		{"SELECT to_id AS connection_id, min(id) AS object_id FROM relationships WHERE tenant_id = ? AND to_id IN (?) GROUP BY to_id", "relates them to another person"},
		{"SELECT first_id AS connection_id, min(id) AS object_id FROM distinct_pairs WHERE tenant_id = ? AND first_id IN (?) GROUP BY first_id", "says that they are not the same as another person"},
		{"SELECT second_id AS connection_id, min(id) AS object_id FROM distinct_pairs WHERE tenant_id = ? AND second_id IN (?) GROUP BY second_id", "says that they are not the same as another person"},
		{"SELECT connection_id, min(group_id) AS object_id FROM group_connections WHERE tenant_id = ? AND connection_id IN (?) GROUP BY connection_id", "has them in it"},
		{"SELECT merged_into AS connection_id, min(id) AS object_id FROM connections WHERE tenant_id = ? AND merged_into IN (?) GROUP BY merged_into", "was merged into them"},
	} {
		var rows []struct{ ConnectionID, ObjectID string }
		if err := r.tx.NewRaw(of.query, r.tx.TenantID(), bun.List(ids)).Scan(ctx, &rows); err != nil {
			return nil, err
		}
		for _, row := range rows {
			if conflicts[row.ConnectionID] == "" {
				conflicts[row.ConnectionID] = "other data refers to it now: " + row.ObjectID + " " + of.what
			}
		}
	}
	free := make([]string, 0, len(ids))
	for _, id := range ids {
		if conflicts[id] == "" {
			free = append(free, id)
		}
	}
	if len(free) == 0 {
		return conflicts, nil
	}
	return conflicts, removeConnections(ctx, r.tx, free...)
}

// DistinctIDs sorts ids and drops those that repeat.
func DistinctIDs(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}
