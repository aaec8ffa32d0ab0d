package store

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/insight"
	"github.com/kith-crm/kith/backend/internal/personname"
	"github.com/kith-crm/kith/backend/internal/resolve"
)

// maxSharing bounds how many people of one address or name are read.
const maxSharing = 6

// ListByHandle returns who has one of the normal values of a kind, by value: of
// each value a few people, in the order of their last contact, archived ones left
// out. It takes one statement.
func (t *Tenant) ListByHandle(ctx context.Context, kind string, values []string) (map[string][]resolve.Person, error) {
	if len(values) == 0 {
		return map[string][]resolve.Person{}, nil
	}
	ctx, q := t.read(ctx)
	return q.sharing(ctx, "SELECT h.normal_value AS value, h.connection_id FROM handles h WHERE h.tenant_id = ? AND h.kind = ? AND h.normal_value IN (?)",
		q.id, kind, bun.List(values))
}

// ListByName is ListByHandle for folded names.
func (t *Tenant) ListByName(ctx context.Context, folded []string) (map[string][]resolve.Person, error) {
	if len(folded) == 0 {
		return map[string][]resolve.Person{}, nil
	}
	ctx, q := t.read(ctx)
	return q.sharing(ctx, "SELECT n.folded_name AS value, n.id AS connection_id FROM connections n WHERE n.tenant_id = ? AND n.folded_name IN (?)",
		q.id, bun.List(folded))
}

// sharing reads the live people of each value that a selection of values and
// connection ids gives.
func (q scope) sharing(ctx context.Context, selection string, args ...any) (map[string][]resolve.Person, error) {
	var rows []struct{ Value, ConnectionID, Name, Nickname string }
	err := q.db.NewRaw(`SELECT value, connection_id, name, nickname FROM (
SELECT v.value, v.connection_id, c.name, c.nickname, row_number() OVER (PARTITION BY v.value ORDER BY c.last_interaction_at DESC NULLS LAST, c.id) AS place
FROM (?) AS v JOIN connections c ON c.tenant_id = ? AND c.id = v.connection_id AND c.archived_at IS NULL) AS r
WHERE place <= ? ORDER BY value, place`, bun.SafeQuery(selection, args...), q.id, maxSharing).Scan(ctx, &rows)
	out := map[string][]resolve.Person{}
	for _, row := range rows {
		out[row.Value] = append(out[row.Value], resolve.Person{
			ID: row.ConnectionID, Names: personname.Names{Full: row.Name, Nickname: row.Nickname},
		})
	}
	return out, translate(err)
}

// ListHeadlines returns those of the people who are not archived, by id, with two
// statements; how close they are is left out.
func (t *Tenant) ListHeadlines(ctx context.Context, who []string) (map[string]insight.Person, error) {
	ctx, q := t.read(ctx)
	people, err := q.headlines(ctx, who)
	return people, translate(err)
}
