package people

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/uptrace/bun"
)

// FillConnections adds the handles, positions, tags, dates and names of groups, each
// with one statement.
func FillConnections(ctx context.Context, q db.Reader, people []Connection) error {
	byID := make(map[string]*Connection, len(people))
	for i := range people {
		byID[people[i].ID] = &people[i]
	}
	in := bun.List(IDs(people, func(c Connection) string { return c.ID }))
	var handles []Handle
	if err := q.From(&handles).Where("connection_id IN (?)", in).Order("connection_id", "ordinal").Scan(ctx); err != nil {
		return err
	}
	for _, h := range handles {
		byID[h.ConnectionID].Handles = append(byID[h.ConnectionID].Handles, h)
	}
	var positionsFound []Position
	if err := Positions(q, &positionsFound).Where("?TableAlias.connection_id IN (?)", in).Scan(ctx); err != nil {
		return err
	}
	for _, p := range positionsFound {
		byID[p.ConnectionID].Positions = append(byID[p.ConnectionID].Positions, p)
	}
	var tags []struct{ ConnectionID, Name string }
	err := q.NewRaw(`SELECT ct.connection_id, t.name FROM connection_tags ct JOIN tags t ON t.tenant_id = ct.tenant_id AND t.id = ct.tag_id
WHERE ct.tenant_id = ? AND ct.connection_id IN (?) ORDER BY ct.connection_id, t.folded_name`, q.TenantID(), in).Scan(ctx, &tags)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		byID[tag.ConnectionID].Tags = append(byID[tag.ConnectionID].Tags, tag.Name)
	}
	var dates []ImportantDate
	if err := q.From(&dates).Where("connection_id IN (?)", in).Order("connection_id", "ordinal").Scan(ctx); err != nil {
		return err
	}
	for _, d := range dates {
		byID[d.ConnectionID].Dates = append(byID[d.ConnectionID].Dates, d)
	}
	var groups []struct{ ConnectionID, Name string }
	err = q.NewRaw(`SELECT l.connection_id, g.name FROM group_connections l JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id
WHERE l.tenant_id = ? AND l.connection_id IN (?) ORDER BY l.connection_id, g.folded_name`, q.TenantID(), in).Scan(ctx, &groups)
	for _, g := range groups {
		byID[g.ConnectionID].Groups = append(byID[g.ConnectionID].Groups, g.Name)
	}
	return err
}
