package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// CurrentAll implements change.Bulk.
func (r connectionRestorer) CurrentAll(ctx context.Context, ids []string) (map[string]any, error) {
	people, err := r.u.anybody(ctx, ids)
	out := make(map[string]any, len(people))
	for i := range people {
		out[people[i].ID] = &people[i]
	}
	return out, err
}

// fillSourceKeys fills in the keys by which imported files know people.
func (q scope) fillSourceKeys(ctx context.Context, people []connection.Connection) error {
	at := make(map[string]*connection.Connection, len(people))
	ids := make([]string, len(people))
	for i := range people {
		ids[i] = people[i].ID
		at[ids[i]] = &people[i]
	}
	var keys []sourceKey
	if err := q.from(&keys).Where("connection_id IN (?)", bun.List(ids)).Order("key").Scan(ctx); err != nil {
		return err
	}
	for _, k := range keys {
		c := at[k.ConnectionID]
		c.SourceKeys = append(c.SourceKeys, connection.SourceKey{Key: k.Key, ImportID: k.ImportID})
	}
	return nil
}

// anybody returns those of the people who are on file, archived or not.
func (u *Unit) anybody(ctx context.Context, ids []string) ([]connection.Connection, error) {
	var people []connection.Connection
	if err := u.from(&people).Where("id IN (?)", bun.List(ids)).Order("id").Scan(ctx); err != nil || len(people) == 0 {
		return nil, err
	}
	if err := u.fillConnections(ctx, people); err != nil {
		return nil, err
	}
	return people, u.fillSourceKeys(ctx, people)
}

// RestoreAll implements change.Bulk.
func (r connectionRestorer) RestoreAll(ctx context.Context, to map[string]json.RawMessage) (map[string]string, error) {
	var gone, kept []string
	back := map[string]*connection.Connection{}
	for id, data := range to {
		var c *connection.Connection
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
	present, err := r.u.anybody(ctx, kept)
	if err != nil {
		return nil, err
	}
	var made, changed []*connection.Connection
	for i := range present {
		was := &present[i]
		c := back[was.ID]
		delete(back, was.ID)
		c.Version, c.LastInteractionAt = was.Version+1, was.LastInteractionAt
		if was.ArchivedAt.IsZero() && !c.ArchivedAt.IsZero() {
			c.ArchivedAt = r.u.now // the days until the purge begin anew
		}
		changed = append(changed, c)
	}
	for _, c := range back {
		made = append(made, c)
	}
	if err := r.bringBack(ctx, made...); err != nil {
		return nil, err
	}
	if err := r.u.replacePeople(ctx, changed); err != nil {
		return nil, err
	}
	return inTheWay, r.u.countContacts(ctx, kept...)
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
		if err := r.u.db.NewRaw(of.query, r.u.id, bun.List(ids)).Scan(ctx, &rows); err != nil {
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
	return inTheWay, r.u.removeConnections(ctx, free...)
}

// CurrentAll implements change.Bulk.
func (r noteRestorer) CurrentAll(ctx context.Context, ids []string) (map[string]any, error) {
	var rows []timeline.Note
	if err := r.u.from(&rows).Where("id IN (?)", bun.List(ids)).Scan(ctx); err != nil || len(rows) == 0 {
		return nil, err
	}
	out := make(map[string]any, len(rows))
	err := r.u.fillNotes(ctx, rows)
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	return out, err
}

// RestoreAll implements change.Bulk.
func (r noteRestorer) RestoreAll(ctx context.Context, to map[string]json.RawMessage) (map[string]string, error) {
	gone, inTheWay, err := restoreEach(ctx, r, to)
	if err != nil || len(gone) == 0 {
		return inTheWay, err
	}
	people, err := r.u.people(ctx, "note_connections", "note_id", gone)
	if err != nil {
		return nil, err
	}
	for _, about := range people {
		r.u.touch(about...)
	}
	return inTheWay, r.u.delete(ctx, (*timeline.Note)(nil), "id IN (?)", bun.List(gone))
}

// CurrentAll implements change.Bulk.
func (r interactionRestorer) CurrentAll(ctx context.Context, ids []string) (map[string]any, error) {
	var rows []timeline.Interaction
	if err := r.u.from(&rows).Where("id IN (?)", bun.List(ids)).Scan(ctx); err != nil || len(rows) == 0 {
		return nil, err
	}
	out := make(map[string]any, len(rows))
	err := r.u.fillInteractions(ctx, rows)
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	return out, err
}

// RestoreAll implements change.Bulk.
func (r interactionRestorer) RestoreAll(ctx context.Context, to map[string]json.RawMessage) (map[string]string, error) {
	gone, inTheWay, err := restoreEach(ctx, r, to)
	if err != nil || len(gone) == 0 {
		return inTheWay, err
	}
	people, err := r.u.people(ctx, "interaction_connections", "interaction_id", gone)
	if err != nil {
		return nil, err
	}
	if err := r.u.delete(ctx, (*timeline.Interaction)(nil), "id IN (?)", bun.List(gone)); err != nil {
		return nil, err
	}
	var met []string
	for _, about := range people {
		met = append(met, about...)
	}
	return inTheWay, r.u.countContacts(ctx, distinctIDs(met)...)
}

// CurrentAll implements change.Bulk.
func (r membershipRestorer) CurrentAll(ctx context.Context, ids []string) (map[string]any, error) {
	var known []string
	err := r.u.db.NewRaw("SELECT id FROM connections WHERE tenant_id = ? AND id IN (?)", r.u.id, bun.List(ids)).Scan(ctx, &known)
	if err != nil {
		return nil, err
	}
	var links []groupConnection
	if err := r.u.from(&links).Where("connection_id IN (?)", bun.List(ids)).Order("group_id").Scan(ctx); err != nil {
		return nil, err
	}
	groups := make(map[string][]string, len(known))
	for _, l := range links {
		groups[l.ConnectionID] = append(groups[l.ConnectionID], l.GroupID)
	}
	out := make(map[string]any, len(known))
	for _, id := range known {
		out[id] = organize.Groups{Groups: groups[id]}
	}
	return out, nil
}

// RestoreAll implements change.Bulk. Only taking people out of all groups is done
// at once.
func (r membershipRestorer) RestoreAll(ctx context.Context, to map[string]json.RawMessage) (map[string]string, error) {
	var free []string
	for id, data := range to {
		var state organize.Groups
		if err := json.Unmarshal(data, &state); err != nil {
			return nil, fmt.Errorf("read recorded membership: %w", err)
		}
		if len(state.Groups) == 0 {
			free = append(free, id)
			delete(to, id)
		}
	}
	if len(free) > 0 {
		r.u.touch(free...)
		if err := r.u.delete(ctx, (*groupConnection)(nil), "connection_id IN (?)", bun.List(free)); err != nil {
			return nil, err
		}
	}
	_, inTheWay, err := restoreEach(ctx, r, to)
	return inTheWay, err
}

// restoreEach puts objects back one by one, and returns those that are to be removed
// instead.
func restoreEach(ctx context.Context, r change.Restorer, to map[string]json.RawMessage) (gone []string, inTheWay map[string]string, err error) {
	inTheWay = map[string]string{}
	for id, data := range to {
		if string(data) == "null" {
			gone = append(gone, id)
			continue
		}
		if err := r.Restore(ctx, id, data); fault.Is(err, fault.Conflict) {
			inTheWay[id] = err.Error()
		} else if err != nil {
			return nil, nil, err
		}
	}
	return gone, inTheWay, nil
}

func distinctIDs(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}
