package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

func foldedName(c *connection.Connection) string { return text.Fold(c.Name) }

// InsertConnection implements connection.Writer.
func (u *Unit) InsertConnection(ctx context.Context, c *connection.Connection) error {
	connectionID, err := u.ids.New(id.Connection)
	if err != nil {
		return err
	}
	c.ID = connectionID
	return u.insertConnection(ctx, c)
}

// insertConnection keeps a connection that has an id, with its lists.
func (u *Unit) insertConnection(ctx context.Context, c *connection.Connection) error {
	c.TenantID, c.DataVersion, c.FoldedName = u.id, u.version, foldedName(c)
	if _, err := u.db.NewInsert().Model(c).Exec(ctx); err != nil {
		return fmt.Errorf("insert connection: %w", err)
	}
	return u.insertLists(ctx, c)
}

// ReplaceConnection implements connection.Writer.
func (u *Unit) ReplaceConnection(ctx context.Context, c *connection.Connection) error {
	c.TenantID, c.DataVersion, c.FoldedName = u.id, u.version, foldedName(c)
	result, err := u.db.NewUpdate().Model(c).ExcludeColumn("tenant_id", "id", "created_at").
		Where("tenant_id = ?", u.id).
		WhereGroup(" AND ", func(q *bun.UpdateQuery) *bun.UpdateQuery {
			return q.Where("id = ?", c.ID).Where("version = ?", c.Version-1)
		}).Exec(ctx)
	if err != nil {
		return fmt.Errorf("update connection: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return fault.Wrap(err, fault.Conflict, "%s was changed by somebody else: read it again and decide anew", c.ID)
	}
	for _, model := range []any{
		(*connection.Handle)(nil), (*connection.Position)(nil), (*connectionTag)(nil), (*connection.ImportantDate)(nil),
	} {
		if err := u.delete(ctx, model, "connection_id = ?", c.ID); err != nil {
			return fmt.Errorf("replace lists: %w", err)
		}
	}
	return u.insertLists(ctx, c)
}

// insertLists keeps the handles, positions, tags and dates of a connection that has none.
func (u *Unit) insertLists(ctx context.Context, c *connection.Connection) error {
	for i := range c.Handles {
		h := &c.Handles[i]
		h.TenantID, h.ConnectionID, h.Ordinal = u.id, c.ID, i
		if err := u.nameRow(&h.ID, id.Handle); err != nil {
			return err
		}
	}
	if err := u.insertAll(ctx, &c.Handles, len(c.Handles)); err != nil {
		return fmt.Errorf("insert handles: %w", err)
	}
	if err := u.insertPositions(ctx, c); err != nil {
		return fmt.Errorf("insert positions: %w", err)
	}
	if err := u.insertTags(ctx, c); err != nil {
		return fmt.Errorf("insert tags: %w", err)
	}
	for i := range c.Dates {
		d := &c.Dates[i]
		d.TenantID, d.ConnectionID, d.Ordinal = u.id, c.ID, i
		if err := u.nameRow(&d.ID, id.Date); err != nil {
			return err
		}
	}
	if err := u.insertAll(ctx, &c.Dates, len(c.Dates)); err != nil {
		return fmt.Errorf("insert dates: %w", err)
	}
	return nil
}

// nameRow gives a row an id unless it has one.
func (u *Unit) nameRow(rowID *string, prefix string) (err error) {
	if *rowID == "" {
		*rowID, err = u.ids.New(prefix)
	}
	return err
}

func (u *Unit) insertAll(ctx context.Context, rows any, n int) error {
	if n == 0 {
		return nil
	}
	_, err := u.db.NewInsert().Model(rows).Exec(ctx)
	return err
}

func (u *Unit) insertPositions(ctx context.Context, c *connection.Connection) error {
	organizations, err := u.organizations(ctx, c.Positions)
	if err != nil {
		return err
	}
	// As they are read: current ones first.
	slices.SortStableFunc(c.Positions, func(a, b connection.Position) int {
		switch {
		case a.Current == b.Current:
			return 0
		case a.Current:
			return -1
		default:
			return 1
		}
	})
	for i := range c.Positions {
		p := &c.Positions[i]
		p.TenantID, p.ConnectionID, p.Ordinal = u.id, c.ID, i
		p.OrganizationID = ""
		if o, ok := organizations[connection.NormalOrganization(p.Organization)]; ok {
			p.OrganizationID, p.Organization = o.ID, o.Name
		}
		if err := u.nameRow(&p.ID, id.Position); err != nil {
			return err
		}
	}
	return u.insertAll(ctx, &c.Positions, len(c.Positions))
}

// organizations returns the organisations that positions name, by normal name;
// those that are not on file are made.
func (u *Unit) organizations(ctx context.Context, positions []connection.Position) (map[string]connection.Organization, error) {
	wanted := map[string]connection.Organization{}
	for _, p := range positions {
		normal := connection.NormalOrganization(p.Organization)
		if _, seen := wanted[normal]; normal == "" || seen {
			continue
		}
		o := connection.Organization{TenantID: u.id, Name: p.Organization, NormalName: normal, CreatedAt: u.now, UpdatedAt: u.now}
		if err := u.nameRow(&o.ID, id.Organization); err != nil {
			return nil, err
		}
		wanted[normal] = o
	}
	if len(wanted) == 0 {
		return wanted, nil
	}
	rows := make([]connection.Organization, 0, len(wanted))
	names := make([]string, 0, len(wanted))
	for normal, o := range wanted {
		rows, names = append(rows, o), append(names, normal)
	}
	if _, err := u.db.NewInsert().Model(&rows).On("CONFLICT (tenant_id, normal_name) DO NOTHING").Exec(ctx); err != nil {
		return nil, err
	}
	rows = rows[:0]
	if err := u.from(&rows).Where("normal_name IN (?)", bun.List(names)).Scan(ctx); err != nil {
		return nil, err
	}
	for _, o := range rows {
		wanted[o.NormalName] = o
	}
	return wanted, nil
}

// tag and connectionTag are the rows behind a connection's tags.
type (
	tag struct {
		TenantID   tenant.ID `bun:",pk"`
		ID         string    `bun:",pk"`
		Name       string
		FoldedName string
	}
	connectionTag struct {
		TenantID     tenant.ID `bun:",pk"`
		ConnectionID string    `bun:",pk"`
		TagID        string    `bun:",pk"`
	}
)

func (u *Unit) insertTags(ctx context.Context, c *connection.Connection) error {
	if len(c.Tags) == 0 {
		return nil
	}
	rows, err := u.tags(ctx, c.Tags)
	if err != nil {
		return err
	}
	links := make([]connectionTag, 0, len(rows))
	c.Tags = c.Tags[:0]
	for _, row := range rows {
		links = append(links, connectionTag{TenantID: u.id, ConnectionID: c.ID, TagID: row.ID})
		c.Tags = append(c.Tags, row.Name)
	}
	return u.insertAll(ctx, &links, len(links))
}

// tags returns the tags with the names, of which there is one at least, by name;
// those that are not on file are made.
func (u *Unit) tags(ctx context.Context, wanted []string) ([]tag, error) {
	rows := make([]tag, 0, len(wanted))
	names := make([]string, 0, len(wanted))
	for _, name := range wanted {
		row := tag{TenantID: u.id, Name: name, FoldedName: text.Fold(name)}
		if err := u.nameRow(&row.ID, id.Tag); err != nil {
			return nil, err
		}
		rows, names = append(rows, row), append(names, row.FoldedName)
	}
	if _, err := u.db.NewInsert().Model(&rows).On("CONFLICT (tenant_id, folded_name) DO NOTHING").Exec(ctx); err != nil {
		return nil, err
	}
	rows = rows[:0]
	err := u.from(&rows).Where("folded_name IN (?)", bun.List(names)).Order("folded_name").Scan(ctx)
	return rows, err
}
