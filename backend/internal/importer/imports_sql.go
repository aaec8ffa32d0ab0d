package importer

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/insights"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/uptrace/bun"
)

// FindPeople returns who bears one of the signs. The number of statements is fixed, and
// each looks into one table: a planner that knows nothing yet of a table that grows
// by an import joins in the worst order.
func FindPeople(ctx context.Context, q db.Reader, w Wanted) (Found, error) {
	found := Found{
		IDs: map[MatchKey][]string{}, People: map[string]*people.Connection{}, Keys: map[string][]string{},
		Added: map[string]bool{}, Notes: map[string][]string{}, Archived: map[MatchKey]string{},
	}
	if len(w.Keys) == 0 {
		return found, nil
	}
	rows, err := bearers(ctx, q, w)
	if err != nil || len(rows) == 0 {
		return found, err
	}
	who, err := stillThere(ctx, q, w, rows, &found)
	if err != nil || len(who) == 0 {
		return found, err
	}
	if !w.Bare {
		if err := fillFound(ctx, q, w, who, &found); err != nil {
			return found, err
		}
	}
	for _, row := range rows {
		row.note(w, &found)
	}
	return found, nil
}

// bearer is somebody who bears a sign.
type bearer struct{ Sign, Value, ImportID, ID string }

// bearers returns who bears the signs, organisations aside, with one statement. The
// signs are a table of their own, and CROSS JOIN has SQLite go from there: of a list
// that is long, it takes it for cheaper to look through all that the tenant has.
func bearers(ctx context.Context, q db.Reader, w Wanted) ([]bearer, error) {
	values := map[string][]string{}
	seen := map[MatchKey]bool{}
	for _, p := range w.Keys {
		if at := (MatchKey{By: p.By, Value: p.Value}); !seen[at] {
			seen[at] = true
			values[p.By] = append(values[p.By], p.Value)
		}
	}
	var query string
	var args []any
	const handles = `SELECT ? AS sign, h.normal_value AS value, '' AS import_id, h.connection_id AS id FROM (VALUES ?) AS v CROSS JOIN handles h
WHERE h.tenant_id = ? AND h.normal_value = v.column1 AND h.kind `
	for _, arm := range []struct{ by, statement string }{
		{"email", handles + "= 'email'"},
		{"phone", handles + "= 'phone'"},
		{"address", handles + "IN ('url', 'social')"},
		{"key", `SELECT ? AS sign, s.key AS value, s.import_id AS import_id, s.connection_id AS id FROM (VALUES ?) AS v CROSS JOIN source_keys s
WHERE s.tenant_id = ? AND s.key = v.column1`},
		{"id", `SELECT ? AS sign, c.id AS value, '' AS import_id, c.id AS id FROM (VALUES ?) AS v CROSS JOIN connections c
WHERE c.tenant_id = ? AND c.id = v.column1`},
		{"name", `SELECT ? AS sign, c.folded_name AS value, '' AS import_id, c.id AS id FROM (VALUES ?) AS v CROSS JOIN connections c
WHERE c.tenant_id = ? AND c.folded_name = v.column1`},
	} {
		if len(values[arm.by]) == 0 {
			continue
		}
		if query != "" {
			query += " UNION ALL "
		}
		query += arm.statement
		args = append(args, arm.by, bun.SafeQuery(strings.TrimSuffix(strings.Repeat("(?),", len(values[arm.by])), ","), anys(values[arm.by])...), q.TenantID())
	}
	var rows []bearer
	err := q.NewRaw(query+" ORDER BY 4", args...).Scan(ctx, &rows)
	return rows, err
}

func anys(words []string) []any {
	out := make([]any, len(words))
	for i, word := range words {
		out[i] = word
	}
	return out
}

// stillThere replaces those who were merged into somebody by that one, blanks those
// who are archived, whom it notes, and returns the ids of the others.
func stillThere(ctx context.Context, q db.Reader, w Wanted, rows []bearer, found *Found) ([]string, error) {
	wanted := people.DistinctIDs(people.IDs(rows, func(b bearer) string { return b.ID }))
	into, away := map[string]string{}, map[string]bool{}
	for range 2 { // what somebody was merged into may be archived
		var people []struct {
			ID, MergedInto string
			Archived       bool
		}
		err := q.NewRaw("SELECT id, coalesce(merged_into, '') AS merged_into, archived_at IS NOT NULL AS archived FROM connections WHERE tenant_id = ? AND id IN (?)",
			q.TenantID(), bun.List(wanted)).Scan(ctx, &people)
		if err != nil {
			return nil, err
		}
		wanted = nil
		for _, p := range people {
			switch {
			case p.MergedInto != "":
				into[p.ID] = p.MergedInto
				wanted = append(wanted, p.MergedInto)
			case !p.Archived:
				into[p.ID] = p.ID
			default:
				away[p.ID] = true
			}
		}
		if len(wanted) == 0 {
			break
		}
	}
	var who []string
	for i, row := range rows {
		live := into[row.ID]
		if live != row.ID && into[live] != live {
			live = ""
		}
		if away[row.ID] && (row.Sign == "key" || row.Sign == "id") {
			found.Archived[MatchKey{By: row.Sign, Value: row.Value}] = row.ID
			if row.ImportID != "" && row.ImportID == w.ImportID {
				found.Added[row.ID] = true
			}
		}
		if rows[i].ID = live; live != "" {
			who = append(who, live)
		}
	}
	return people.DistinctIDs(who), nil
}

// fillFound adds the records of people, their keys, and their notes if they are
// wanted.
func fillFound(ctx context.Context, q db.Reader, w Wanted, who []string, found *Found) error {
	people, err := insights.Portrayed(ctx, q, who)
	if err != nil {
		return err
	}
	for i := range people {
		found.People[people[i].ID] = &people[i]
	}
	if err := keysOf(ctx, q, who, found); err != nil || !w.Notes {
		return err
	}
	var notes []struct{ ConnectionID, Body string }
	err = q.NewRaw(`SELECT l.connection_id, n.body FROM note_connections l JOIN notes n ON n.tenant_id = l.tenant_id AND n.id = l.note_id
WHERE l.tenant_id = ? AND l.connection_id IN (?)`, q.TenantID(), bun.List(who)).Scan(ctx, &notes)
	for _, n := range notes {
		found.Notes[n.ConnectionID] = append(found.Notes[n.ConnectionID], n.Body)
	}
	return err
}

// note notes under which signs somebody was found. A name is one only together with
// an organisation where they work.
func (b bearer) note(w Wanted, found *Found) {
	if b.ID == "" {
		return
	}
	if b.ImportID != "" && b.ImportID == w.ImportID {
		found.Added[b.ID] = true
	}
	keys := []MatchKey{{By: b.Sign, Value: b.Value}}
	if c := found.People[b.ID]; b.Sign == "name" && c != nil {
		keys = nil
		for _, p := range c.Positions {
			if p.Current && p.Organization != "" {
				keys = append(keys, MatchKey{By: b.Sign, Value: b.Value, Organization: people.NormalOrganization(p.Organization)})
			}
		}
	}
	for _, p := range keys {
		if !slices.Contains(found.IDs[p], b.ID) {
			found.IDs[p] = append(found.IDs[p], b.ID)
		}
	}
}

// keysOf notes by which keys sources know people.
func keysOf(ctx context.Context, q db.Reader, who []string, found *Found) error {
	var keys []struct{ ConnectionID, Key string }
	err := q.NewRaw("SELECT connection_id, key FROM source_keys WHERE tenant_id = ? AND connection_id IN (?)", q.TenantID(), bun.List(who)).Scan(ctx, &keys)
	for _, k := range keys {
		found.Keys[k.ConnectionID] = append(found.Keys[k.ConnectionID], k.Key)
	}
	return err
}

// FindNotes returns the notes that were made at one of the times.
func FindNotes(ctx context.Context, tx *db.Tx, at []time.Time) ([]timeline.Note, error) {
	var rows []timeline.Note
	if err := tx.From(&rows).Where("created_at IN (?)", bun.List(at)).Order("id").Scan(ctx); err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows, timeline.FillNotes(ctx, tx, rows)
}

// FindReminders returns the reminders that were made at one of the times.
func FindReminders(ctx context.Context, tx *db.Tx, at []time.Time) ([]reminders.Reminder, error) {
	var rows []reminders.Reminder
	err := tx.From(&rows).Where("created_at IN (?)", bun.List(at)).Order("id").Scan(ctx)
	return rows, err
}

// FindInteractions returns those with one of the external keys, and those that took
// place at one of the times.
func FindInteractions(ctx context.Context, tx *db.Tx, keys []string, at []time.Time) ([]timeline.Interaction, error) {
	var rows []timeline.Interaction
	query := tx.From(&rows).Where("occurred_at IN (?)", bun.List(at)).Order("id")
	if len(keys) > 0 {
		query = query.WhereOr("external_key IN (?)", bun.List(keys))
	}
	if err := query.Scan(ctx); err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows, timeline.FillInteractions(ctx, tx, rows)
}

// FindRelationships returns those that the people have.
func FindRelationships(ctx context.Context, tx *db.Tx, ids []string) ([]people.Relationship, error) {
	var rows []people.Relationship
	err := tx.From(&rows).Where("from_id IN (?) OR to_id IN (?)", bun.List(ids), bun.List(ids)).Scan(ctx)
	return rows, err
}
