package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
)

// connectionRestorer puts connections back, with the lists that are theirs.
type connectionRestorer struct{ u *Unit }

// Current implements change.Restorer.
func (r connectionRestorer) Current(ctx context.Context, id string) (any, error) {
	people, err := r.CurrentAll(ctx, []string{id})
	return people[id], err
}

// Restore implements change.Restorer. The version grows, so that a caller who
// holds the one before is told.
func (r connectionRestorer) Restore(ctx context.Context, id string, to json.RawMessage) error {
	var c *connection.Connection
	if err := json.Unmarshal(to, &c); err != nil {
		return fmt.Errorf("read recorded connection: %w", err)
	}
	if c == nil {
		return r.remove(ctx, id)
	}
	present, err := r.u.GetConnection(ctx, id)
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
			c.ArchivedAt = r.u.now // the days until the purge begin anew
		}
		err = r.u.ReplaceConnection(ctx, c)
	}
	if err != nil {
		return err
	}
	return r.u.countContacts(ctx, id)
}

// bringBack inserts connections that are not on file.
func (r connectionRestorer) bringBack(ctx context.Context, people ...*connection.Connection) error {
	var keys []sourceKey
	for _, c := range people {
		c.Version++
		if !c.ArchivedAt.IsZero() {
			c.ArchivedAt = r.u.now // the days until the purge begin anew
		}
		for _, k := range c.SourceKeys {
			keys = append(keys, sourceKey{TenantID: r.u.id, Key: k.Key, ConnectionID: c.ID, ImportID: k.ImportID})
		}
	}
	if err := r.u.insertPeople(ctx, people); err != nil || len(keys) == 0 {
		return err
	}
	// A key that another person got meanwhile stays with that one.
	_, err := r.u.db.NewInsert().Model(&keys).On("CONFLICT (tenant_id, key) DO NOTHING").Exec(ctx)
	return err
}

// dropTakenRows takes the ids away from those entries of a connection's lists whose
// rows are another connection's by now: a merge moves rows, and what it moved stays
// where it is when an undo puts back the person that it came from. (The undo may
// still fail to find the other one as it was.) They get new ids.
func (r connectionRestorer) dropTakenRows(ctx context.Context, c *connection.Connection) error {
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
		err := r.u.db.NewRaw("SELECT id FROM ? WHERE tenant_id = ? AND id IN (?) AND connection_id <> ?",
			bun.Ident(table), r.u.id, bun.List(wanted), c.ID).Scan(ctx, &taken)
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
		found, err := r.u.firstID(ctx, of.query, r.u.id, id)
		if err != nil {
			return err
		}
		if found != "" {
			return fault.New(fault.Conflict, "something came to hang on it: %s %s", found, of.what)
		}
	}
	return r.u.removeConnections(ctx, id)
}

// removeConnections deletes connections with the rows that are theirs alone.
func (u *Unit) removeConnections(ctx context.Context, ids ...string) error {
	u.removed = true
	return u.delete(ctx, (*connection.Connection)(nil), "id IN (?)", bun.List(ids))
}

// countContacts sets the last contact of connections from the interactions that
// are on file. CROSS JOIN keeps SQLite from reading all interactions for each of them.
func (u *Unit) countContacts(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	u.touch(ids...)
	_, err := u.db.NewRaw(`UPDATE connections SET last_interaction_at = (
SELECT max(i.occurred_at) FROM interaction_connections l CROSS JOIN interactions i
WHERE i.tenant_id = l.tenant_id AND i.id = l.interaction_id AND l.tenant_id = connections.tenant_id AND l.connection_id = connections.id)
WHERE tenant_id = ? AND id IN (?)`, u.id, bun.List(ids)).Exec(ctx)
	return err
}

// missingConnection returns the first of ids that is not on file, not even
// archived; empty when all are.
func (u *Unit) missingConnection(ctx context.Context, ids []string) (string, error) {
	if len(ids) == 0 {
		return "", nil
	}
	var found []string
	err := u.db.NewRaw("SELECT id FROM connections WHERE tenant_id = ? AND id IN (?)", u.id, bun.List(ids)).Scan(ctx, &found)
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

// needConnections fails with fault.Conflict when somebody whom an object is about
// is not on file any more.
func (u *Unit) needConnections(ctx context.Context, ids ...string) error {
	missing, err := u.missingConnection(ctx, ids)
	if err != nil || missing == "" {
		return err
	}
	return fault.New(fault.Conflict, "%s, whom it is about, is not on file any more", missing)
}
