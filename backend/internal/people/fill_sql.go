package people

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// GetConnections returns the connections that exist, archived or not, with their lists, by
// id. The number of statements is fixed.
func GetConnections(ctx context.Context, q db.Reader, ids []string) (map[string]*Connection, error) {
	var rows []Connection
	if err := q.From(&rows).Where("id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
		return nil, err
	}
	out := make(map[string]*Connection, len(rows))
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	if len(rows) == 0 {
		return out, nil
	}
	return out, FillConnections(ctx, q, rows)
}

// FillConnections adds the handles, positions, tags, dates and groups, with one statement.
func FillConnections(ctx context.Context, q db.Reader, people []Connection) error {
	byID := make(map[string]*Connection, len(people))
	for i := range people {
		byID[people[i].ID] = &people[i]
	}
	in := bun.List(IDs(people, func(c Connection) string { return c.ID }))
	var args []any
	for range strings.Count(listsOfPeople, "IN (?)") {
		args = append(args, q.TenantID(), in)
	}
	rows, err := q.QueryContext(ctx, listsOfPeople, args...)
	if err != nil {
		return fmt.Errorf("read the lists of people: %w", err)
	}
	defer func() { _ = rows.Close() }()
	var items []listItem
	for rows.Next() {
		var i listItem
		err := rows.Scan(&i.connectionID, &i.list, &i.place, &i.id, &i.texts[0], &i.texts[1], &i.texts[2], &i.texts[3], &i.texts[4],
			&i.numbers[0], &i.numbers[1], &i.numbers[2])
		if err != nil {
			return fmt.Errorf("read a list of a person: %w", err)
		}
		items = append(items, i)
	}
	slices.SortFunc(items, func(a, b listItem) int {
		return cmp.Or(cmp.Compare(a.place, b.place), strings.Compare(a.texts[0], b.texts[0]), strings.Compare(a.id, b.id))
	})
	for _, i := range items {
		byID[i.connectionID].add(q.TenantID(), i)
	}
	return db.Coded(rows.Err())
}

// listItem is an entry of a list of a person. Each list has its own texts and numbers; see
// listsOfPeople. Items are in the order of their place, and then of their first text.
type listItem struct {
	connectionID, list string
	place              int
	id                 string
	texts              [5]string
	numbers            [3]int
}

// listsOfPeople selects the lists of people: of handles, of positions, current ones first, of
// tags and groups by their folded names, and of dates.
const listsOfPeople = `SELECT connection_id, 'handle', ordinal, id, kind, value, normal_value, label, '', 0, 0, 0
FROM handles WHERE tenant_id = ? AND connection_id IN (?)
UNION ALL SELECT p.connection_id, 'position', p.ordinal + CASE WHEN p.current THEN 0 ELSE 1000 END, p.id, coalesce(o.name, ''), p.title, p.started_on, p.ended_on,
coalesce(p.organization_id, ''), CASE WHEN p.current THEN 1 ELSE 0 END, p.ordinal, 0
FROM positions p LEFT JOIN organizations o ON o.tenant_id = p.tenant_id AND o.id = p.organization_id WHERE p.tenant_id = ? AND p.connection_id IN (?)
UNION ALL SELECT l.connection_id, 'tag', 0, t.id, t.folded_name, t.name, '', '', '', 0, 0, 0
FROM connection_tags l JOIN tags t ON t.tenant_id = l.tenant_id AND t.id = l.tag_id WHERE l.tenant_id = ? AND l.connection_id IN (?)
UNION ALL SELECT connection_id, 'date', ordinal, id, kind, label, '', '', '', year, month, day
FROM important_dates WHERE tenant_id = ? AND connection_id IN (?)
UNION ALL SELECT l.connection_id, 'group', 0, g.id, g.folded_name, g.name, '', '', '', g.cadence_days, 0, 0
FROM group_connections l JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id WHERE l.tenant_id = ? AND l.connection_id IN (?)`

// add adds an item to its list.
func (c *Connection) add(owner tenant.ID, i listItem) {
	switch i.list {
	case "handle":
		c.Handles = append(c.Handles, Handle{
			TenantID: owner, ID: i.id, ConnectionID: c.ID, Kind: i.texts[0], Value: i.texts[1], NormalValue: i.texts[2], Label: i.texts[3], Ordinal: i.place,
		})
	case "position":
		c.Positions = append(c.Positions, Position{
			TenantID: owner, ID: i.id, ConnectionID: c.ID, Organization: i.texts[0], Title: i.texts[1], StartedOn: i.texts[2], EndedOn: i.texts[3],
			OrganizationID: i.texts[4], Current: i.numbers[0] == 1, Ordinal: i.numbers[1],
		})
	case "tag":
		c.Tags = append(c.Tags, i.texts[1])
	case "date":
		c.Dates = append(c.Dates, ImportantDate{
			TenantID: owner, ID: i.id, ConnectionID: c.ID, Kind: i.texts[0], Label: i.texts[1], Year: i.numbers[0], Month: i.numbers[1], Day: i.numbers[2], Ordinal: i.place,
		})
	case "group":
		c.Groups = append(c.Groups, i.texts[1])
		if days := i.numbers[0]; days > 0 && (c.GroupCadence == 0 || days < c.GroupCadence) {
			c.GroupCadence = days
		}
	}
}
