package store

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/text"
)

// ListMemberships implements organize.Writer.
func (u *Unit) ListMemberships(ctx context.Context, ids []string) ([]organize.Membership, error) {
	if _, err := u.Participants(ctx, ids); err != nil {
		return nil, err
	}
	out := make([]organize.Membership, len(ids))
	byID := make(map[string]*organize.Membership, len(ids))
	for i, connectionID := range ids {
		out[i] = organize.Membership{ConnectionID: connectionID, GroupIDs: []string{}, Tags: []string{}}
		byID[connectionID] = &out[i]
	}
	var groups []groupConnection
	if err := u.from(&groups).Where("connection_id IN (?)", bun.List(ids)).Order("group_id").Scan(ctx); err != nil {
		return nil, err
	}
	for _, l := range groups {
		m := byID[l.ConnectionID]
		m.GroupIDs = append(m.GroupIDs, l.GroupID)
	}
	var tags []struct{ ConnectionID, Name string }
	err := u.db.NewRaw(`SELECT l.connection_id, t.name FROM connection_tags l JOIN tags t ON t.tenant_id = l.tenant_id AND t.id = l.tag_id
WHERE l.tenant_id = ? AND l.connection_id IN (?) ORDER BY t.folded_name`, u.id, bun.List(ids)).Scan(ctx, &tags)
	for _, l := range tags {
		m := byID[l.ConnectionID]
		m.Tags = append(m.Tags, l.Name)
	}
	return out, err
}

// ReplaceMemberships implements organize.Writer.
func (u *Unit) ReplaceMemberships(ctx context.Context, people []organize.Membership, retagged []string) error {
	ids := make([]string, len(people))
	var groups []groupConnection
	var names []string
	for i, m := range people {
		ids[i] = m.ConnectionID
		names = append(names, m.Tags...)
		for _, g := range m.GroupIDs {
			groups = append(groups, groupConnection{TenantID: u.id, GroupID: g, ConnectionID: m.ConnectionID})
		}
	}
	for _, model := range []any{(*groupConnection)(nil), (*connectionTag)(nil)} {
		if err := u.delete(ctx, model, "connection_id IN (?)", bun.List(ids)); err != nil {
			return err
		}
	}
	if err := u.insertAll(ctx, &groups, len(groups)); err != nil {
		return err
	}
	if err := u.insertMemberTags(ctx, people, names); err != nil {
		return err
	}
	u.touch(ids...)
	if len(retagged) == 0 {
		return nil
	}
	_, err := u.db.NewRaw("UPDATE connections SET version = version + 1, updated_at = ? WHERE tenant_id = ? AND id IN (?)",
		u.now, u.id, bun.List(retagged)).Exec(ctx)
	return err
}

// insertMemberTags keeps the tags of people who have none, and spells them as they
// are on file.
func (u *Unit) insertMemberTags(ctx context.Context, people []organize.Membership, names []string) error {
	if len(names) == 0 {
		return nil
	}
	rows, err := u.tags(ctx, distinct(names))
	if err != nil {
		return err
	}
	byName := make(map[string]tag, len(rows))
	for _, row := range rows {
		byName[row.FoldedName] = row
	}
	var links []connectionTag
	for _, m := range people {
		for i, name := range m.Tags {
			row := byName[text.Fold(name)]
			m.Tags[i] = row.Name
			links = append(links, connectionTag{TenantID: u.id, ConnectionID: m.ConnectionID, TagID: row.ID})
		}
	}
	return u.insertAll(ctx, &links, len(links))
}

// distinct returns the names without those that fold to one before them.
func distinct(names []string) []string {
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
