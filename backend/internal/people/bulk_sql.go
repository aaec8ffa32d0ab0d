package people

import (
	"cmp"
	"context"
	"slices"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// SourceKeyRow is the row of a key by which an import source identifies a connection.
type SourceKeyRow struct {
	bun.BaseModel `bun:"table:source_keys,alias:source_key"`

	TenantID     tenant.ID `bun:",pk"`
	Key          string    `bun:",pk"`
	ConnectionID string
	ImportID     string
	// Name is the person's name in the file.
	Name string
}

// InsertPeople inserts new people, who already have ids, with their lists.
func InsertPeople(ctx context.Context, tx *db.Tx, people []*Connection) error {
	if len(people) == 0 {
		return nil
	}
	for _, c := range people {
		c.TenantID, c.DataVersion, c.FoldedName = tx.TenantID(), tx.Version(), FoldedName(c)
	}
	if _, err := tx.NewInsert().Model(&people).Exec(ctx); err != nil {
		return err
	}
	if err := insertListsOf(ctx, tx, people); err != nil {
		return err
	}
	return insertDuplicateKeys(ctx, tx, people)
}

// ReplacePeople replaces the stored versions of people. It fails with fault.Conflict when
// one of them no longer exists, so a deleted person is not recreated.
func ReplacePeople(ctx context.Context, tx *db.Tx, people []*Connection) error {
	if len(people) == 0 {
		return nil
	}
	who := make([]string, len(people))
	for i, c := range people {
		c.TenantID, c.DataVersion, c.FoldedName = tx.TenantID(), tx.Version(), FoldedName(c)
		who[i] = c.ID
	}
	if missing, err := missingConnection(ctx, tx, who); err != nil {
		return err
	} else if missing != "" {
		return fault.New(fault.Conflict, "%s no longer exists", missing)
	}
	if _, err := tx.NewInsert().Model(&people).On("CONFLICT (tenant_id, id) DO UPDATE").Exec(ctx); err != nil {
		return err
	}
	for _, model := range []any{
		(*Handle)(nil), (*Position)(nil), (*ConnectionTag)(nil), (*ImportantDate)(nil),
	} {
		if err := tx.Delete(ctx, model, "connection_id IN (?)", bun.List(who)); err != nil {
			return err
		}
	}
	if err := insertListsOf(ctx, tx, people); err != nil {
		return err
	}
	return replaceDuplicateKeys(ctx, tx, people)
}

// insertListsOf is insertLists for many people, with one statement for each list.
func insertListsOf(ctx context.Context, tx *db.Tx, people []*Connection) error {
	var handles []*Handle
	var dates []*ImportantDate
	for _, c := range people {
		for i := range c.Handles {
			h := &c.Handles[i]
			h.TenantID, h.ConnectionID, h.Ordinal = tx.TenantID(), c.ID, i
			if err := NameRow(tx, &h.ID, id.Handle); err != nil {
				return err
			}
			handles = append(handles, h)
		}
		for i := range c.Dates {
			d := &c.Dates[i]
			d.TenantID, d.ConnectionID, d.Ordinal = tx.TenantID(), c.ID, i
			if err := NameRow(tx, &d.ID, id.Date); err != nil {
				return err
			}
			dates = append(dates, d)
		}
	}
	if err := tx.InsertAll(ctx, &handles, len(handles)); err != nil {
		return err
	}
	if err := tx.InsertAll(ctx, &dates, len(dates)); err != nil {
		return err
	}
	if err := insertPositionsOf(ctx, tx, people); err != nil {
		return err
	}
	return insertTagsOf(ctx, tx, people)
}

func insertPositionsOf(ctx context.Context, tx *db.Tx, people []*Connection) error {
	var all []Position
	for _, c := range people {
		all = append(all, c.Positions...)
	}
	if len(all) == 0 {
		return nil
	}
	organizations, err := organizations(ctx, tx, all)
	if err != nil {
		return err
	}
	var rows []*Position
	for _, c := range people {
		// In the order in which they are read: current positions first.
		slices.SortStableFunc(c.Positions, func(a, b Position) int { return cmp.Compare(past(a), past(b)) })
		for i := range c.Positions {
			p := &c.Positions[i]
			p.TenantID, p.ConnectionID, p.Ordinal, p.OrganizationID = tx.TenantID(), c.ID, i, ""
			if o, ok := organizations[NormalOrganization(p.Organization)]; ok {
				p.OrganizationID, p.Organization = o.ID, o.Name
			}
			if err := NameRow(tx, &p.ID, id.Position); err != nil {
				return err
			}
			rows = append(rows, p)
		}
	}
	return tx.InsertAll(ctx, &rows, len(rows))
}

func past(p Position) int {
	if p.Current {
		return 0
	}
	return 1
}

func insertTagsOf(ctx context.Context, tx *db.Tx, people []*Connection) error {
	var names []string
	for _, c := range people {
		names = append(names, c.Tags...)
	}
	if len(names) == 0 {
		return nil
	}
	rows, err := Tags(ctx, tx, Distinct(names))
	if err != nil {
		return err
	}
	byName := make(map[string]Tag, len(rows))
	for _, row := range rows {
		byName[row.FoldedName] = row
	}
	var links []ConnectionTag
	for _, c := range people {
		held := make([]Tag, len(c.Tags))
		for i, name := range c.Tags {
			held[i] = byName[text.Fold(name)]
			links = append(links, ConnectionTag{TenantID: tx.TenantID(), ConnectionID: c.ID, TagID: held[i].ID})
		}
		slices.SortFunc(held, func(a, b Tag) int { return cmp.Compare(a.FoldedName, b.FoldedName) })
		for i := range held {
			c.Tags[i] = held[i].Name
		}
	}
	return tx.InsertAll(ctx, &links, len(links))
}
