package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/job"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// Registry implements importer.Store.
func (s *Store) Registry(owner tenant.ID) importer.Registry { return s.Tenant(owner, true) }

// ImportStep implements importer.Store.
func (s *Store) ImportStep(ctx context.Context, j *job.Job, fn func(context.Context, importer.Writer) (job.Step, error)) error {
	err := s.writeStep(ctx, j, func(ctx context.Context, u *Unit) (job.Step, error) { return fn(ctx, u) })
	if err == nil {
		s.learnTables(ctx)
	}
	return err
}

// writeStep runs a step of a job on behalf of whoever started it.
func (s *Store) writeStep(ctx context.Context, j *job.Job, fn func(context.Context, *Unit) (job.Step, error)) error {
	l := job.Lease{ID: j.ID, Tenant: j.TenantID, Fence: j.Fence}
	actor := Actor{CredentialID: j.CredentialID, CredentialName: j.CredentialName, Tool: j.Tool}
	return s.Tenant(j.TenantID, false).WriteStep(ctx, l, actor, fn)
}

// NewID implements importer.Writer.
func (u *Unit) NewID(prefix string) (string, error) { return u.ids.New(prefix) }

// FindPeople implements importer.Registry.
func (t *Tenant) FindPeople(ctx context.Context, w importer.Wanted) (importer.Found, error) {
	ctx, q := t.read(ctx)
	found, err := q.FindPeople(ctx, w)
	return found, translate(err)
}

// FindPeople implements importer.Registry within the transaction. Its statements
// look into one table each: a planner that knows nothing yet of a table that grows
// by an import joins in the worst order.
func (q scope) FindPeople(ctx context.Context, w importer.Wanted) (importer.Found, error) {
	found := importer.Found{
		IDs: map[importer.Probe][]string{}, People: map[string]*connection.Connection{}, Keys: map[string][]string{},
		Added: map[string]bool{}, Notes: map[string][]string{}, Archived: map[importer.Probe]string{},
	}
	if len(w.Probes) == 0 {
		return found, nil
	}
	rows, err := q.bearers(ctx, w)
	if err != nil || len(rows) == 0 {
		return found, err
	}
	who, err := q.stillThere(ctx, w, rows, &found)
	if err != nil || len(who) == 0 {
		return found, err
	}
	if !w.Bare {
		if err := q.fillFound(ctx, w, who, &found); err != nil {
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
func (q scope) bearers(ctx context.Context, w importer.Wanted) ([]bearer, error) {
	values := map[string][]string{}
	seen := map[importer.Probe]bool{}
	for _, p := range w.Probes {
		if at := (importer.Probe{By: p.By, Value: p.Value}); !seen[at] {
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
		args = append(args, arm.by, bun.SafeQuery(strings.TrimSuffix(strings.Repeat("(?),", len(values[arm.by])), ","), anys(values[arm.by])...), q.id)
	}
	var rows []bearer
	err := q.db.NewRaw(query+" ORDER BY 4", args...).Scan(ctx, &rows)
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
func (q scope) stillThere(ctx context.Context, w importer.Wanted, rows []bearer, found *importer.Found) ([]string, error) {
	wanted := distinctIDs(ids(rows, func(b bearer) string { return b.ID }))
	into, away := map[string]string{}, map[string]bool{}
	for range 2 { // what somebody was merged into may be archived
		var people []struct {
			ID, MergedInto string
			Archived       bool
		}
		err := q.db.NewRaw("SELECT id, coalesce(merged_into, '') AS merged_into, archived_at IS NOT NULL AS archived FROM connections WHERE tenant_id = ? AND id IN (?)",
			q.id, bun.List(wanted)).Scan(ctx, &people)
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
			found.Archived[importer.Probe{By: row.Sign, Value: row.Value}] = row.ID
			if row.ImportID != "" && row.ImportID == w.ImportID {
				found.Added[row.ID] = true
			}
		}
		if rows[i].ID = live; live != "" {
			who = append(who, live)
		}
	}
	return distinctIDs(who), nil
}

// fillFound adds the records of people, their keys, and their notes if they are
// wanted.
func (q scope) fillFound(ctx context.Context, w importer.Wanted, who []string, found *importer.Found) error {
	people, err := q.portrayed(ctx, who)
	if err != nil {
		return err
	}
	for i := range people {
		found.People[people[i].ID] = &people[i]
	}
	if err := q.keysOf(ctx, who, found); err != nil || !w.Notes {
		return err
	}
	var notes []struct{ ConnectionID, Body string }
	err = q.db.NewRaw(`SELECT l.connection_id, n.body FROM note_connections l JOIN notes n ON n.tenant_id = l.tenant_id AND n.id = l.note_id
WHERE l.tenant_id = ? AND l.connection_id IN (?)`, q.id, bun.List(who)).Scan(ctx, &notes)
	for _, n := range notes {
		found.Notes[n.ConnectionID] = append(found.Notes[n.ConnectionID], n.Body)
	}
	return err
}

// note notes under which signs somebody was found. A name is one only together with
// an organisation where they work.
func (b bearer) note(w importer.Wanted, found *importer.Found) {
	if b.ID == "" {
		return
	}
	if b.ImportID != "" && b.ImportID == w.ImportID {
		found.Added[b.ID] = true
	}
	probes := []importer.Probe{{By: b.Sign, Value: b.Value}}
	if c := found.People[b.ID]; b.Sign == "name" && c != nil {
		probes = nil
		for _, p := range c.Positions {
			if p.Current && p.Organization != "" {
				probes = append(probes, importer.Probe{By: b.Sign, Value: b.Value, Organization: connection.NormalOrganization(p.Organization)})
			}
		}
	}
	for _, p := range probes {
		if !slices.Contains(found.IDs[p], b.ID) {
			found.IDs[p] = append(found.IDs[p], b.ID)
		}
	}
}

// keysOf notes by which keys sources know people.
func (q scope) keysOf(ctx context.Context, who []string, found *importer.Found) error {
	var keys []struct{ ConnectionID, Key string }
	err := q.db.NewRaw("SELECT connection_id, key FROM source_keys WHERE tenant_id = ? AND connection_id IN (?)", q.id, bun.List(who)).Scan(ctx, &keys)
	for _, k := range keys {
		found.Keys[k.ConnectionID] = append(found.Keys[k.ConnectionID], k.Key)
	}
	return err
}

// FindNotes implements importer.Annals.
func (u *Unit) FindNotes(ctx context.Context, at []time.Time) ([]timeline.Note, error) {
	var rows []timeline.Note
	if err := u.from(&rows).Where("created_at IN (?)", bun.List(at)).Order("id").Scan(ctx); err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows, u.fillNotes(ctx, rows)
}

// FindReminders implements importer.Annals.
func (u *Unit) FindReminders(ctx context.Context, at []time.Time) ([]reminder.Reminder, error) {
	var rows []reminder.Reminder
	err := u.from(&rows).Where("created_at IN (?)", bun.List(at)).Order("id").Scan(ctx)
	return rows, err
}

// FindInteractions implements importer.Annals.
func (u *Unit) FindInteractions(ctx context.Context, keys []string, at []time.Time) ([]timeline.Interaction, error) {
	var rows []timeline.Interaction
	query := u.from(&rows).Where("occurred_at IN (?)", bun.List(at)).Order("id")
	if len(keys) > 0 {
		query = query.WhereOr("external_key IN (?)", bun.List(keys))
	}
	if err := query.Scan(ctx); err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows, u.fillInteractions(ctx, rows)
}

// FindRelationships implements importer.Annals.
func (u *Unit) FindRelationships(ctx context.Context, ids []string) ([]connection.Relationship, error) {
	var rows []connection.Relationship
	err := u.from(&rows).Where("from_id IN (?) OR to_id IN (?)", bun.List(ids), bun.List(ids)).Scan(ctx)
	return rows, err
}
