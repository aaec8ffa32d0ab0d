package people

import (
	"context"
	"fmt"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// FoldedName returns the folded name of a connection, for comparison.
func FoldedName(c *Connection) string { return text.Fold(c.Name) }

// InsertConnection inserts a new connection with its lists and sets its id. It creates
// organisations and tags that do not exist yet.
func InsertConnection(ctx context.Context, tx *db.Tx, c *Connection) error {
	connectionID, err := tx.NewID(id.Connection)
	if err != nil {
		return err
	}
	c.ID = connectionID
	return insertConnection(ctx, tx, c)
}

// insertConnection inserts a connection that already has an id, with its lists.
func insertConnection(ctx context.Context, tx *db.Tx, c *Connection) error {
	c.TenantID, c.DataVersion, c.FoldedName = tx.TenantID(), tx.Version(), FoldedName(c)
	if _, err := tx.NewInsert().Model(c).Exec(ctx); err != nil {
		return fmt.Errorf("insert connection: %w", err)
	}
	if err := insertLists(ctx, tx, c); err != nil {
		return err
	}
	return insertDuplicateKeys(ctx, tx, []*Connection{c})
}

// ReplaceConnection stores c in place of the version before it. It fails with
// fault.Conflict when that version is no longer the stored one.
func ReplaceConnection(ctx context.Context, tx *db.Tx, c *Connection) error {
	c.TenantID, c.DataVersion, c.FoldedName = tx.TenantID(), tx.Version(), FoldedName(c)
	if err := tx.Replace(ctx, c, c.ID, c.Version); err != nil {
		return err
	}
	for _, model := range []any{
		(*Handle)(nil), (*Position)(nil), (*ConnectionTag)(nil), (*ImportantDate)(nil),
	} {
		if err := tx.Delete(ctx, model, "connection_id = ?", c.ID); err != nil {
			return fmt.Errorf("replace lists: %w", err)
		}
	}
	if err := insertLists(ctx, tx, c); err != nil {
		return err
	}
	return replaceDuplicateKeys(ctx, tx, []*Connection{c})
}

// insertLists inserts the handles, positions, tags and dates of a connection that has
// none.
func insertLists(ctx context.Context, tx *db.Tx, c *Connection) error {
	for i := range c.Handles {
		h := &c.Handles[i]
		h.TenantID, h.ConnectionID, h.Ordinal = tx.TenantID(), c.ID, i
		if err := NameRow(tx, &h.ID, id.Handle); err != nil {
			return err
		}
	}
	if err := tx.InsertAll(ctx, &c.Handles, len(c.Handles)); err != nil {
		return fmt.Errorf("insert handles: %w", err)
	}
	if err := insertPositions(ctx, tx, c); err != nil {
		return fmt.Errorf("insert positions: %w", err)
	}
	if err := insertTags(ctx, tx, c); err != nil {
		return fmt.Errorf("insert tags: %w", err)
	}
	for i := range c.Dates {
		d := &c.Dates[i]
		d.TenantID, d.ConnectionID, d.Ordinal = tx.TenantID(), c.ID, i
		if err := NameRow(tx, &d.ID, id.Date); err != nil {
			return err
		}
	}
	if err := tx.InsertAll(ctx, &c.Dates, len(c.Dates)); err != nil {
		return fmt.Errorf("insert dates: %w", err)
	}
	return nil
}

// NameRow sets the id of a row that has none.
func NameRow(tx *db.Tx, rowID *string, prefix string) (err error) {
	if *rowID == "" {
		*rowID, err = tx.NewID(prefix)
	}
	return err
}

func insertPositions(ctx context.Context, tx *db.Tx, c *Connection) error {
	organizations, err := organizations(ctx, tx, c.Positions)
	if err != nil {
		return err
	}
	// In the order in which they are read: current positions first.
	slices.SortStableFunc(c.Positions, func(a, b Position) int {
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
		p.TenantID, p.ConnectionID, p.Ordinal = tx.TenantID(), c.ID, i
		p.OrganizationID = ""
		if o, ok := organizations[NormalOrganization(p.Organization)]; ok {
			p.OrganizationID, p.Organization = o.ID, o.Name
		}
		if err := NameRow(tx, &p.ID, id.Position); err != nil {
			return err
		}
	}
	return tx.InsertAll(ctx, &c.Positions, len(c.Positions))
}

// organizations returns the organisations that positions name, by normal name. It creates
// those that do not exist.
func organizations(ctx context.Context, tx *db.Tx, positions []Position) (map[string]Organization, error) {
	wanted := map[string]Organization{}
	for _, p := range positions {
		normal := NormalOrganization(p.Organization)
		if _, seen := wanted[normal]; normal == "" || seen {
			continue
		}
		o := Organization{TenantID: tx.TenantID(), Name: p.Organization, NormalName: normal, CreatedAt: tx.Now(), UpdatedAt: tx.Now()}
		if err := NameRow(tx, &o.ID, id.Organization); err != nil {
			return nil, err
		}
		wanted[normal] = o
	}
	if len(wanted) == 0 {
		return wanted, nil
	}
	rows := make([]Organization, 0, len(wanted))
	names := make([]string, 0, len(wanted))
	for normal, o := range wanted {
		rows, names = append(rows, o), append(names, normal)
	}
	if _, err := tx.NewInsert().Model(&rows).On("CONFLICT (tenant_id, normal_name) DO NOTHING").Exec(ctx); err != nil {
		return nil, err
	}
	rows = rows[:0]
	if err := tx.From(&rows).Where("normal_name IN (?)", bun.List(names)).Scan(ctx); err != nil {
		return nil, err
	}
	for _, o := range rows {
		wanted[o.NormalName] = o
	}
	return wanted, nil
}

// tag and connectionTag are the rows behind a connection's tags.
type (
	Tag struct {
		TenantID   tenant.ID `bun:",pk"`
		ID         string    `bun:",pk"`
		Name       string
		FoldedName string
	}
	ConnectionTag struct {
		TenantID     tenant.ID `bun:",pk"`
		ConnectionID string    `bun:",pk"`
		TagID        string    `bun:",pk"`
	}
)

func insertTags(ctx context.Context, tx *db.Tx, c *Connection) error {
	if len(c.Tags) == 0 {
		return nil
	}
	rows, err := Tags(ctx, tx, c.Tags)
	if err != nil {
		return err
	}
	links := make([]ConnectionTag, 0, len(rows))
	c.Tags = c.Tags[:0]
	for _, row := range rows {
		links = append(links, ConnectionTag{TenantID: tx.TenantID(), ConnectionID: c.ID, TagID: row.ID})
		c.Tags = append(c.Tags, row.Name)
	}
	return tx.InsertAll(ctx, &links, len(links))
}

// Tags returns the tags with the names, by name, and creates those that do not exist.
// There must be at least one name.
func Tags(ctx context.Context, tx *db.Tx, wanted []string) ([]Tag, error) {
	rows := make([]Tag, 0, len(wanted))
	names := make([]string, 0, len(wanted))
	for _, name := range wanted {
		row := Tag{TenantID: tx.TenantID(), Name: name, FoldedName: text.Fold(name)}
		if err := NameRow(tx, &row.ID, id.Tag); err != nil {
			return nil, err
		}
		rows, names = append(rows, row), append(names, row.FoldedName)
	}
	if _, err := tx.NewInsert().Model(&rows).On("CONFLICT (tenant_id, folded_name) DO NOTHING").Exec(ctx); err != nil {
		return nil, err
	}
	rows = rows[:0]
	err := tx.From(&rows).Where("folded_name IN (?)", bun.List(names)).Order("folded_name").Scan(ctx)
	return rows, err
}
