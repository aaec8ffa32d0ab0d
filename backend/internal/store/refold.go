package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/migrate"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
)

// refold is the migration that rewrites the keys that names are compared by, which
// were folded by another rule before. It takes one transaction for each member; run
// again after a crash, it changes only what is left.
func (s *Store) refold() migrate.Migration {
	return migrate.Migration{
		Name: "20261123000101", Comment: "refold",
		Up: func(ctx context.Context, _ *migrate.Migrator, _ *migrate.Migration) error {
			var members []tenant.ID
			if err := s.engine.serviceRead.NewRaw("SELECT id FROM members ORDER BY id").Scan(ctx, &members); err != nil {
				return err
			}
			for _, m := range members {
				err := s.engine.serviceWrite.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
					return scope{db: tx, id: m}.refold(ctx)
				})
				if err != nil {
					return fmt.Errorf("fold the names of member %s: %w", m, err)
				}
			}
			return nil
		},
	}
}

// foldedTable is a table with a key that is made of the name.
type foldedTable struct {
	name, key string
	fold      func(string) string
	// move gives what refers to one row of a unique key to another row: the
	// arguments are the new row, the tenant and the old row. Empty where keys are
	// not unique.
	move string
}

func foldedTables() []foldedTable {
	const relink = "UPDATE %[1]s AS l SET %[2]s = ?0 WHERE l.tenant_id = ?1 AND l.%[2]s = ?2 AND NOT EXISTS " +
		"(SELECT 1 FROM %[1]s k WHERE k.tenant_id = ?1 AND k.connection_id = l.connection_id AND k.%[2]s = ?0)"
	return []foldedTable{
		{"connections", "folded_name", text.Fold, ""},
		{"tags", "folded_name", text.Fold, fmt.Sprintf(relink, "connection_tags", "tag_id")},
		{"groups", "folded_name", text.Fold, fmt.Sprintf(relink, "group_connections", "group_id")},
		{
			"organizations", "normal_name", connection.NormalOrganization,
			"UPDATE positions SET organization_id = ?0 WHERE tenant_id = ?1 AND organization_id = ?2",
		},
	}
}

// refold rewrites the keys of one member, of a read-only one, too.
func (q scope) refold(ctx context.Context) error {
	var readOnly bool
	if err := q.db.NewRaw("SELECT read_only FROM tenant_states WHERE tenant_id = ?", q.id).Scan(ctx, &readOnly); err != nil {
		return err
	}
	if err := q.setReadOnly(ctx, false); err != nil {
		return err
	}
	for _, t := range foldedTables() {
		if err := q.refoldTable(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	if err := q.refoldProfile(ctx); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return q.setReadOnly(ctx, readOnly)
}

func (q scope) setReadOnly(ctx context.Context, readOnly bool) error {
	_, err := q.db.NewRaw("UPDATE tenant_states SET read_only = ? WHERE tenant_id = ? AND read_only <> ?", readOnly, q.id, readOnly).Exec(ctx)
	return err
}

// refoldTable rewrites the keys that changed. Of rows whose unique key is the same
// now, the oldest stays.
func (q scope) refoldTable(ctx context.Context, t foldedTable) error {
	var rows []struct{ ID, Name, Key string }
	err := q.db.NewRaw("SELECT id, name, ? AS key FROM ? WHERE tenant_id = ? ORDER BY id", bun.Ident(t.key), bun.Ident(t.name), q.id).Scan(ctx, &rows)
	if err != nil {
		return err
	}
	holders := map[string]string{}
	var changed [][2]string
	for _, row := range rows {
		key := t.fold(row.Name)
		if holder := holders[key]; holder != "" && t.move != "" {
			if err := q.absorb(ctx, t, holder, row.ID); err != nil {
				return err
			}
			continue
		}
		if holders[key] = row.ID; key != row.Key {
			changed = append(changed, [2]string{row.ID, key})
		}
	}
	if t.move != "" { // keys that rows exchange must not collide on the way
		apart := slices.Clone(changed)
		for i := range apart {
			apart[i][1] = "\x01" + apart[i][0]
		}
		if err := q.setKeys(ctx, t, apart); err != nil {
			return err
		}
	}
	return q.setKeys(ctx, t, changed)
}

// absorb moves all of a row to another one, and deletes it.
func (q scope) absorb(ctx context.Context, t foldedTable, into, id string) error {
	if _, err := q.db.NewRaw(t.move, into, q.id, id).Exec(ctx); err != nil {
		return err
	}
	_, err := q.db.NewRaw("DELETE FROM ? WHERE tenant_id = ? AND id = ?", bun.Ident(t.name), q.id, id).Exec(ctx)
	return err
}

// setKeys sets keys by id.
func (q scope) setKeys(ctx context.Context, t foldedTable, keys [][2]string) error {
	const batch = 500
	for some := range slices.Chunk(keys, batch) {
		var values []any
		for _, k := range some {
			values = append(values, k[0], k[1])
		}
		list := bun.SafeQuery(strings.TrimSuffix(strings.Repeat("(?, ?),", len(some)), ","), values...)
		_, err := q.db.NewRaw("UPDATE ? AS t SET ? = v.column2 FROM (VALUES ?) AS v WHERE t.tenant_id = ? AND t.id = v.column1",
			bun.Ident(t.name), bun.Ident(t.key), list, q.id).Exec(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

func (q scope) refoldProfile(ctx context.Context) error {
	p := &profile.Profile{}
	err := q.db.NewSelect().Model(p).Column("name", "headline", "location_text", "organization", "title", "skills", "field_visibility").
		Where("member_id = ?", q.id).Scan(ctx)
	if err != nil {
		return err
	}
	p.Index(text.Fold)
	_, err = q.db.NewUpdate().Model(p).Column("search_text", "member_text", "sort_name").Where("member_id = ?", q.id).Exec(ctx)
	return err
}
