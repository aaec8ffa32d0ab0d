package groups

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// ListGroups returns all groups by their folded names, without the number of their people.
func ListGroups(ctx context.Context, q db.Reader) ([]Group, error) {
	var groups []Group
	err := q.From(&groups).Order("folded_name").Scan(ctx)
	return groups, err
}

// ListTags returns the tags that people have, the most used first, limit at most.
func ListTags(ctx context.Context, q db.Reader, limit int) ([]Tag, error) {
	var tags []Tag
	err := q.NewRaw(`SELECT t.name, n.people FROM (SELECT l.tag_id, count(*) AS people FROM connection_tags l
JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id AND c.archived_at IS NULL
WHERE l.tenant_id = ? GROUP BY l.tag_id) AS n
JOIN tags t ON t.tenant_id = ? AND t.id = n.tag_id ORDER BY n.people DESC, t.folded_name LIMIT ?`, q.TenantID(), q.TenantID(), limit).Scan(ctx, &tags)
	return tags, err
}

// FindTag returns the stored spelling of a tag that people have, archived ones included, or
// fault.NotFound.
func FindTag(ctx context.Context, q db.Reader, name string) (string, error) {
	var found string
	err := q.NewRaw(`SELECT t.name FROM tags t WHERE t.tenant_id = ? AND t.folded_name = ?
AND EXISTS (SELECT 1 FROM connection_tags l WHERE l.tenant_id = t.tenant_id AND l.tag_id = t.id)`, q.TenantID(), text.Fold(text.Clean(name))).Scan(ctx, &found)
	if errors.Is(err, sql.ErrNoRows) {
		err = fault.New(fault.NotFound, "there is no tag %q", name)
	}
	return found, err
}

// GetGroup returns a group, or fault.NotFound.
func GetGroup(ctx context.Context, tx *db.Tx, groupID string) (*Group, error) {
	g := &Group{}
	err := tx.From(g).ColumnExpr("?TableColumns").ColumnExpr(`(SELECT count(*) FROM group_connections l
JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id AND c.archived_at IS NULL
WHERE l.tenant_id = ? AND l.group_id = ?TableAlias.id) AS people`, tx.TenantID()).Where("id = ?", groupID).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noGroup(groupID)
	}
	return g, err
}

// InsertGroup inserts a new group and sets its id.
func InsertGroup(ctx context.Context, tx *db.Tx, g *Group) error {
	g.TenantID = tx.TenantID()
	if err := people.NameRow(tx, &g.ID, id.Group); err != nil {
		return err
	}
	if _, err := tx.NewInsert().Model(g).Exec(ctx); err != nil {
		return fmt.Errorf("insert group: %w", err)
	}
	return nil
}

// ReplaceGroup stores g in place of the version before it. It fails with fault.Conflict
// when that version is no longer the stored one.
func ReplaceGroup(ctx context.Context, tx *db.Tx, g *Group) error {
	g.TenantID = tx.TenantID()
	if err := tx.Replace(ctx, g, g.ID, g.Version); err != nil {
		return err
	}
	var people []string
	err := tx.NewRaw("SELECT connection_id FROM group_connections WHERE tenant_id = ? AND group_id = ?", tx.TenantID(), g.ID).Scan(ctx, &people)
	tx.MarkDirty(people...) // a search finds people by the name of their group
	return err
}

// DeleteGroup deletes a group and its memberships.
func DeleteGroup(ctx context.Context, tx *db.Tx, groupID string) error {
	var people []string
	err := tx.NewRaw("SELECT connection_id FROM group_connections WHERE tenant_id = ? AND group_id = ?", tx.TenantID(), groupID).Scan(ctx, &people)
	if err != nil {
		return err
	}
	tx.MarkDirty(people...)
	return tx.Delete(ctx, (*Group)(nil), "id = ?", groupID)
}

// FindGroup returns the group with an id or a name. It fails with fault.NotFound, which
// lists the nearest names.
func FindGroup(ctx context.Context, t *db.Tenant, idOrName string) (*Group, error) {
	groups, err := ListGroups(ctx, t)
	if err != nil {
		return nil, err
	}
	return Find(groups, idOrName)
}
