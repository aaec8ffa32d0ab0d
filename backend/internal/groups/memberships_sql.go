package groups

import (
	"context"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// ListMemberships returns people without their lists, and their groups and tags, both in
// the order of ids. It fails with fault.NotFound for a person who does not exist.
func ListMemberships(ctx context.Context, tx *db.Tx, ids []string) ([]people.Connection, []Membership, error) {
	persons, err := people.Participants(ctx, tx, ids)
	if err != nil {
		return nil, nil, err
	}
	place := make(map[string]int, len(ids))
	for i, connectionID := range ids {
		place[connectionID] = i
	}
	slices.SortFunc(persons, func(a, b people.Connection) int { return place[a.ID] - place[b.ID] })
	members, err := memberships(ctx, tx, ids)
	return persons, members, err
}

// memberships returns where connections belong, in the order of ids.
func memberships(ctx context.Context, tx *db.Tx, ids []string) ([]Membership, error) {
	out := make([]Membership, len(ids))
	byID := make(map[string]*Membership, len(ids))
	for i, connectionID := range ids {
		out[i] = Membership{ConnectionID: connectionID, GroupIDs: []string{}, Tags: []string{}}
		byID[connectionID] = &out[i]
	}
	var groups []people.GroupConnection
	if err := tx.From(&groups).Where("connection_id IN (?)", bun.List(ids)).Order("group_id").Scan(ctx); err != nil {
		return nil, err
	}
	for _, l := range groups {
		m := byID[l.ConnectionID]
		m.GroupIDs = append(m.GroupIDs, l.GroupID)
	}
	var tags []struct{ ConnectionID, Name string }
	err := tx.NewRaw(`SELECT l.connection_id, t.name FROM connection_tags l JOIN tags t ON t.tenant_id = l.tenant_id AND t.id = l.tag_id
WHERE l.tenant_id = ? AND l.connection_id IN (?) ORDER BY t.folded_name`, tx.TenantID(), bun.List(ids)).Scan(ctx, &tags)
	for _, l := range tags {
		m := byID[l.ConnectionID]
		m.Tags = append(m.Tags, l.Name)
	}
	return out, err
}

// ReplaceMemberships replaces the groups and tags of people. It creates tags that do not
// exist, and sets Tags to the stored spelling. The versions of people whose tags change
// grow, since tags are part of a person's record.
func ReplaceMemberships(ctx context.Context, tx *db.Tx, persons []Membership, retagged []string) error {
	ids := make([]string, len(persons))
	var groups []people.GroupConnection
	var names []string
	for i, m := range persons {
		ids[i] = m.ConnectionID
		names = append(names, m.Tags...)
		for _, g := range m.GroupIDs {
			groups = append(groups, people.GroupConnection{TenantID: tx.TenantID(), GroupID: g, ConnectionID: m.ConnectionID})
		}
	}
	for _, model := range []any{(*people.GroupConnection)(nil), (*people.ConnectionTag)(nil)} {
		if err := tx.Delete(ctx, model, "connection_id IN (?)", bun.List(ids)); err != nil {
			return err
		}
	}
	if err := tx.InsertAll(ctx, &groups, len(groups)); err != nil {
		return err
	}
	if err := insertMemberTags(ctx, tx, persons, names); err != nil {
		return err
	}
	tx.MarkDirty(ids...)
	if len(retagged) == 0 {
		return nil
	}
	_, err := tx.NewRaw("UPDATE connections SET version = version + 1, updated_at = ? WHERE tenant_id = ? AND id IN (?)",
		tx.Now(), tx.TenantID(), bun.List(retagged)).Exec(ctx)
	return err
}

// insertMemberTags inserts the tags of people who have none, and sets them to the stored
// spelling.
func insertMemberTags(ctx context.Context, tx *db.Tx, persons []Membership, names []string) error {
	if len(names) == 0 {
		return nil
	}
	rows, err := people.Tags(ctx, tx, people.Distinct(names))
	if err != nil {
		return err
	}
	byName := make(map[string]people.Tag, len(rows))
	for _, row := range rows {
		byName[row.FoldedName] = row
	}
	var links []people.ConnectionTag
	for _, m := range persons {
		for i, name := range m.Tags {
			row := byName[text.Fold(name)]
			m.Tags[i] = row.Name
			links = append(links, people.ConnectionTag{TenantID: tx.TenantID(), ConnectionID: m.ConnectionID, TagID: row.ID})
		}
	}
	return tx.InsertAll(ctx, &links, len(links))
}
