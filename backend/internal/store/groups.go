package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/organize"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// groupConnection is the row behind a person's place in a group.
type groupConnection struct {
	TenantID     tenant.ID `bun:",pk"`
	GroupID      string    `bun:",pk"`
	ConnectionID string    `bun:",pk"`
}

// addGroups fills in the groups of a connection and what follows from them.
func (q scope) addGroups(ctx context.Context, c *connection.Connection) error {
	var rows []struct {
		Name        string
		CadenceDays int
	}
	err := q.db.NewRaw(`SELECT g.name, g.cadence_days FROM group_connections l JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id
WHERE l.tenant_id = ? AND l.connection_id = ? ORDER BY g.folded_name`, q.id, c.ID).Scan(ctx, &rows)
	for _, row := range rows {
		c.Groups = append(c.Groups, row.Name)
		if row.CadenceDays > 0 && (c.GroupCadence == 0 || row.CadenceDays < c.GroupCadence) {
			c.GroupCadence = row.CadenceDays
		}
	}
	return err
}

// GroupCadences implements timeline.Writer.
func (q scope) GroupCadences(ctx context.Context, ids []string) (map[string]int, error) {
	var rows []struct {
		ConnectionID string
		CadenceDays  int
	}
	err := q.db.NewRaw(`SELECT l.connection_id, min(g.cadence_days) AS cadence_days FROM group_connections l
JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id AND g.cadence_days > 0
WHERE l.tenant_id = ? AND l.connection_id IN (?) GROUP BY l.connection_id`, q.id, bun.List(ids)).Scan(ctx, &rows)
	out := make(map[string]int, len(rows))
	for _, row := range rows {
		out[row.ConnectionID] = row.CadenceDays
	}
	return out, err
}

// ListGroups implements organize.Reader.
func (t *Tenant) ListGroups(ctx context.Context) ([]organize.Group, error) {
	ctx, q := t.read(ctx)
	groups, err := q.ListGroups(ctx)
	return groups, translate(err)
}

// ListGroups implements organize.Reader within the transaction.
func (q scope) ListGroups(ctx context.Context) ([]organize.Group, error) {
	var groups []organize.Group
	err := q.from(&groups).ColumnExpr("?TableAlias.*").ColumnExpr("coalesce(n.people, 0) AS people").
		Join(`LEFT JOIN (SELECT l.group_id, count(*) AS people FROM group_connections l
JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id AND c.archived_at IS NULL
WHERE l.tenant_id = ? GROUP BY l.group_id) AS n ON n.group_id = ?TableAlias.id`, q.id).
		OrderExpr("?TableAlias.folded_name").Scan(ctx)
	return groups, err
}

// ListTags implements organize.Reader.
func (t *Tenant) ListTags(ctx context.Context, limit int) ([]organize.Tag, error) {
	ctx, q := t.read(ctx)
	var tags []organize.Tag
	err := q.db.NewRaw(`SELECT t.name, n.people FROM (SELECT l.tag_id, count(*) AS people FROM connection_tags l
JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id AND c.archived_at IS NULL
WHERE l.tenant_id = ? GROUP BY l.tag_id) AS n
JOIN tags t ON t.tenant_id = ? AND t.id = n.tag_id ORDER BY n.people DESC, t.folded_name LIMIT ?`, q.id, q.id, limit).Scan(ctx, &tags)
	return tags, translate(err)
}

// GetGroup implements organize.Writer.
func (u *Unit) GetGroup(ctx context.Context, groupID string) (*organize.Group, error) {
	g := &organize.Group{}
	err := u.from(g).ColumnExpr("?TableAlias.*").ColumnExpr(`(SELECT count(*) FROM group_connections l
JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id AND c.archived_at IS NULL
WHERE l.tenant_id = ? AND l.group_id = ?TableAlias.id) AS people`, u.id).Where("id = ?", groupID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, organize.NoGroup(groupID)
	}
	return g, err
}

// InsertGroup implements organize.Writer.
func (u *Unit) InsertGroup(ctx context.Context, g *organize.Group) error {
	g.TenantID = u.id
	if err := u.nameRow(&g.ID, id.Group); err != nil {
		return err
	}
	if _, err := u.db.NewInsert().Model(g).Exec(ctx); err != nil {
		return fmt.Errorf("insert group: %w", err)
	}
	return nil
}

// ReplaceGroup implements organize.Writer.
func (u *Unit) ReplaceGroup(ctx context.Context, g *organize.Group) error {
	g.TenantID = u.id
	result, err := u.db.NewUpdate().Model(g).ExcludeColumn("tenant_id", "id", "created_at").
		Where("tenant_id = ?", u.id).
		WhereGroup(" AND ", func(q *bun.UpdateQuery) *bun.UpdateQuery {
			return q.Where("id = ?", g.ID).Where("version = ?", g.Version-1)
		}).Exec(ctx)
	if err != nil {
		return fmt.Errorf("update group: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return fault.Wrap(err, fault.Conflict, "%s was changed by somebody else: read it again and decide anew", g.ID)
	}
	var people []string
	err = u.db.NewRaw("SELECT connection_id FROM group_connections WHERE tenant_id = ? AND group_id = ?", u.id, g.ID).Scan(ctx, &people)
	u.touch(people...) // they are found by the name of their group
	return err
}

// DeleteGroup removes a group; whoever was in it is in it no more.
func (u *Unit) DeleteGroup(ctx context.Context, groupID string) error {
	var people []string
	err := u.db.NewRaw("SELECT connection_id FROM group_connections WHERE tenant_id = ? AND group_id = ?", u.id, groupID).Scan(ctx, &people)
	if err != nil {
		return err
	}
	u.touch(people...)
	return u.delete(ctx, (*organize.Group)(nil), "id = ?", groupID)
}

// FindGroup returns the group with an id or a name, or fault.NotFound, which names
// the ones that come nearest.
func (t *Tenant) FindGroup(ctx context.Context, idOrName string) (*organize.Group, error) {
	groups, err := t.ListGroups(ctx)
	if err != nil {
		return nil, err
	}
	return organize.Find(groups, idOrName)
}
