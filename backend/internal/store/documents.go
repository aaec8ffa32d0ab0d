package store

import (
	"context"
	"database/sql"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/finder"
	"github.com/kith-crm/kith/backend/internal/search"
)

// LoadDocuments reads what the search index must know: of all connections when
// since is below 0 or some were deleted since, else of those that changed after
// that data version. All of it is read from one snapshot.
func (t *Tenant) LoadDocuments(ctx context.Context, since int64) (finder.Documents, error) {
	var out finder.Documents
	ctx = withTenant(ctx, t.id)
	options := &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
	if t.store.engine.name == sqliteName {
		options = nil // a SQLite transaction is a snapshot, and its driver knows no levels
	}
	err := t.store.engine.tenantRead.RunInTx(ctx, options, func(ctx context.Context, tx bun.Tx) error {
		q := scope{db: tx, id: t.id}
		var removed int64
		err := q.db.NewRaw("SELECT data_version, removed_version FROM tenant_states WHERE tenant_id = ?", q.id).Scan(ctx, &out.Version, &removed)
		if err != nil {
			return err
		}
		if since < removed {
			since = -1
		}
		out.Whole = since < 0
		out.Changed, err = q.documents(ctx, since)
		return err
	})
	return out, translate(err)
}

func (q scope) documents(ctx context.Context, since int64) ([]search.Document, error) {
	var people []connection.Connection
	if err := q.from(&people).Where("data_version > ?", since).Scan(ctx); err != nil {
		return nil, err
	}
	docs := make([]search.Document, len(people))
	byID := make(map[string]*search.Document, len(people))
	for i, c := range people {
		docs[i] = search.Document{
			ID: c.ID, Name: c.Name, Nickname: c.Nickname, Location: c.Location, Starred: c.Starred,
			LastInteractionAt: c.LastInteractionAt, CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
			Archived: !c.ArchivedAt.IsZero(),
		}
		byID[c.ID] = &docs[i]
	}
	if len(docs) == 0 {
		return docs, nil
	}
	return docs, q.fillDocuments(ctx, since, byID)
}

// fillDocuments adds the lists, each with one statement over all people changed.
// The condition is a list of ids for the index on (tenant_id, connection_id): a
// join would leave the planner, which has no statistics, a choice of bad plans.
func (q scope) fillDocuments(ctx context.Context, since int64, byID map[string]*search.Document) error {
	changed := " WHERE l.tenant_id = ?"
	args := []any{q.id}
	if since >= 0 {
		changed += " AND l.connection_id IN (SELECT id FROM connections WHERE tenant_id = ? AND data_version > ?)"
		args = append(args, q.id, since)
	}
	lists := []struct {
		query string
		add   func(d *search.Document, kind, value string)
	}{
		{"SELECT l.connection_id, l.kind, l.value FROM handles l" + changed + " ORDER BY l.connection_id, l.ordinal", addHandle},
		{"SELECT l.connection_id, '' AS kind, t.name AS value FROM connection_tags l JOIN tags t ON t.tenant_id = l.tenant_id AND t.id = l.tag_id" + changed, func(d *search.Document, _, value string) { d.Tags = append(d.Tags, value) }},
		{"SELECT l.connection_id, '' AS kind, g.name AS value FROM group_connections l JOIN groups g ON g.tenant_id = l.tenant_id AND g.id = l.group_id" + changed, func(d *search.Document, _, value string) { d.Groups = append(d.Groups, value) }},
		{"SELECT l.connection_id, '' AS kind, n.body AS value FROM note_connections l JOIN notes n ON n.tenant_id = l.tenant_id AND n.id = l.note_id" + changed + " ORDER BY l.connection_id, n.id DESC", func(d *search.Document, _, value string) { d.Notes = append(d.Notes, value) }},
		{"SELECT l.connection_id, '' AS kind, i.summary AS value FROM interaction_connections l JOIN interactions i ON i.tenant_id = l.tenant_id AND i.id = l.interaction_id" + changed + " ORDER BY l.connection_id, i.id DESC", func(d *search.Document, _, value string) { d.Interactions = append(d.Interactions, value) }},
	}
	for _, list := range lists {
		var rows []struct{ ConnectionID, Kind, Value string }
		if err := q.db.NewRaw(list.query, args...).Scan(ctx, &rows); err != nil {
			return err
		}
		for _, row := range rows {
			list.add(byID[row.ConnectionID], row.Kind, row.Value)
		}
	}
	var positions []connection.Position
	of := q.positions(&positions)
	if since >= 0 {
		of = of.Where("?TableAlias.connection_id IN (SELECT id FROM connections WHERE tenant_id = ? AND data_version > ?)", q.id, since)
	}
	if err := of.Scan(ctx); err != nil {
		return err
	}
	for _, p := range positions {
		addPosition(byID[p.ConnectionID], p)
	}
	return nil
}

func addHandle(d *search.Document, kind, value string) {
	switch kind {
	case connection.KindEmail:
		d.Emails = append(d.Emails, value)
	case connection.KindPhone:
		d.Phones = append(d.Phones, value)
	default:
		d.URLs = append(d.URLs, value)
	}
}

// addPosition adds a position; current ones come first, and the first of all is
// the headline.
func addPosition(d *search.Document, p connection.Position) {
	if p.Current && d.Headline == "" {
		d.Headline, d.Organization, d.Title = p.Headline(), p.Organization, p.Title
	}
	if p.Organization != "" {
		d.Organizations = append(d.Organizations, p.Organization)
	}
}
