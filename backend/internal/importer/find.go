package importer

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/uptrace/bun"
)

// Wanted says which people to find.
type Wanted struct {
	Keys []MatchKey
	// Notes requests the texts of people's notes, Names also people who have only a name in
	// common. Bare requests only ids.
	Notes, Names, Bare bool
	// ImportID is the import that makes the query.
	ImportID string
}

// wanted returns the query to match entries; names includes people who have only a name in
// common with one.
func wanted(entries []*entry, importID string, names bool) Wanted {
	w := Wanted{ImportID: importID, Names: names}
	for _, e := range entries {
		if e.err != nil {
			continue
		}
		w.Keys = append(w.Keys, MatchKey{By: byKey, Value: e.key})
		if e.id != "" {
			w.Keys = append(w.Keys, MatchKey{By: byID, Value: e.id})
		}
		if e.leader != "" {
			w.Keys = append(w.Keys, MatchKey{By: byKey, Value: e.leader})
		}
		if e.choice.Person != "" {
			w.Keys = append(w.Keys, MatchKey{By: byID, Value: e.choice.Person})
		}
		if names {
			w.Keys = append(w.Keys, MatchKey{By: byName, Value: text.Fold(e.person.Name)})
		}
		w.Keys = append(w.Keys, e.matchKeys()...)
		w.Notes = w.Notes || len(e.notes) > 0
	}
	return w
}

// Found are the people found, without archived ones.
type Found struct {
	// IDs are the ids of the people with a key, in order.
	IDs map[MatchKey][]string
	// Named are the people with a folded name, if that was asked for.
	Named map[string][]string
	// Archived are the ids of archived people by their source keys and ids.
	Archived map[MatchKey]string
	// People are their records with all lists.
	People map[string]*people.Connection
	// Keys are the hashed keys by which sources identify them.
	Keys map[string][]string
	// Added are the people whom the import that makes the query added.
	Added map[string]bool
	// Notes are the texts of their notes.
	Notes map[string][]string
}

// FindPeople returns the people with one of the match keys. The number of statements is
// fixed. Each reads one table only: while an import grows a table, the planner has no
// statistics of it and chooses bad joins.
func FindPeople(ctx context.Context, q db.Reader, w Wanted) (Found, error) {
	found := Found{
		IDs: map[MatchKey][]string{}, People: map[string]*people.Connection{}, Keys: map[string][]string{},
		Added: map[string]bool{}, Notes: map[string][]string{}, Archived: map[MatchKey]string{}, Named: map[string][]string{},
	}
	if len(w.Keys) == 0 {
		return found, nil
	}
	hits, err := findHits(ctx, q, w)
	if err != nil || len(hits) == 0 {
		return found, err
	}
	who, err := followMerges(ctx, q, w, hits, &found)
	if err != nil || len(who) == 0 {
		return found, err
	}
	if !w.Bare {
		if err := fillFound(ctx, q, w, who, &found); err != nil {
			return found, err
		}
	}
	for _, h := range hits {
		h.addTo(&found, w.ImportID)
		if w.Names && h.Kind == byName && h.ID != "" {
			found.Named[h.Value] = append(found.Named[h.Value], h.ID)
		}
	}
	return found, nil
}

// hit is a person with a match key. Kind is MatchKey.By; ImportID is the import that
// added the person, with a source key.
type hit struct{ Kind, Value, ImportID, ID string }

// findHits returns the people with match keys, without looking at organisations, with
// one statement. The keys are a table of values, and CROSS JOIN makes SQLite start
// with it: given a long list, it would scan all rows of the tenant instead.
func findHits(ctx context.Context, q db.Reader, w Wanted) ([]hit, error) {
	values := map[string][]any{}
	seen := map[MatchKey]bool{}
	for _, k := range w.Keys {
		if k.Organization = ""; !seen[k] {
			seen[k] = true
			values[k.By] = append(values[k.By], k.Value)
		}
	}
	const handles = `SELECT ? AS kind, h.normal_value AS value, '' AS import_id, h.connection_id AS id FROM (VALUES ?) AS v CROSS JOIN handles h
WHERE h.tenant_id = ? AND h.normal_value = v.column1 AND h.kind `
	var parts []string
	var args []any
	for _, part := range []struct{ by, statement string }{
		{byEmail, handles + "= 'email'"},
		{byPhone, handles + "= 'phone'"},
		{byAddress, handles + "IN ('url', 'social')"},
		{byKey, `SELECT ? AS kind, s.key AS value, s.import_id AS import_id, s.connection_id AS id FROM (VALUES ?) AS v CROSS JOIN source_keys s
WHERE s.tenant_id = ? AND s.key = v.column1`},
		{byID, `SELECT ? AS kind, c.id AS value, '' AS import_id, c.id AS id FROM (VALUES ?) AS v CROSS JOIN connections c
WHERE c.tenant_id = ? AND c.id = v.column1`},
		{byName, `SELECT ? AS kind, c.folded_name AS value, '' AS import_id, c.id AS id FROM (VALUES ?) AS v CROSS JOIN connections c
WHERE c.tenant_id = ? AND c.folded_name = v.column1`},
	} {
		if n := len(values[part.by]); n > 0 {
			parts = append(parts, part.statement)
			args = append(args, part.by, bun.SafeQuery(strings.TrimSuffix(strings.Repeat("(?),", n), ","), values[part.by]...), q.TenantID())
		}
	}
	var hits []hit
	err := q.NewRaw(strings.Join(parts, " UNION ALL ")+" ORDER BY 4", args...).Scan(ctx, &hits)
	return hits, err
}

// followMerges replaces merged people by the people they were merged into, moves archived
// people to found.Archived and clears their hits. It returns the ids that are left.
func followMerges(ctx context.Context, q db.Reader, w Wanted, hits []hit, found *Found) ([]string, error) {
	wanted := people.DistinctIDs(people.IDs(hits, func(h hit) string { return h.ID }))
	into, archived := map[string]string{}, map[string]bool{}
	for range 2 { // the person that another one was merged into may be archived
		var rows []struct {
			ID, MergedInto string
			Archived       bool
		}
		err := q.NewRaw("SELECT id, coalesce(merged_into, '') AS merged_into, archived_at IS NOT NULL AS archived FROM connections WHERE tenant_id = ? AND id IN (?)",
			q.TenantID(), bun.List(wanted)).Scan(ctx, &rows)
		if err != nil {
			return nil, err
		}
		wanted = nil
		for _, p := range rows {
			switch {
			case p.MergedInto != "":
				into[p.ID] = p.MergedInto
				wanted = append(wanted, p.MergedInto)
			case p.Archived:
				archived[p.ID] = true
			default:
				into[p.ID] = p.ID
			}
		}
		if len(wanted) == 0 {
			break
		}
	}
	var who []string
	for i, h := range hits {
		live := into[h.ID]
		if into[live] != live {
			live = ""
		}
		if archived[h.ID] && (h.Kind == byKey || h.Kind == byID) {
			found.Archived[MatchKey{By: h.Kind, Value: h.Value}] = h.ID
			if h.ImportID != "" && h.ImportID == w.ImportID {
				found.Added[h.ID] = true
			}
		}
		if hits[i].ID = live; live != "" {
			who = append(who, live)
		}
	}
	return people.DistinctIDs(who), nil
}

// fillFound adds the records of people, their source keys, and their notes if wanted.
func fillFound(ctx context.Context, q db.Reader, w Wanted, who []string, found *Found) error {
	var records []people.Connection
	err := q.From(&records).Where("id IN (?)", bun.List(who)).Where("archived_at IS NULL").Order("id").Scan(ctx)
	if err != nil || len(records) == 0 {
		return err
	}
	if err := people.FillConnections(ctx, q, records); err != nil {
		return err
	}
	for i := range records {
		found.People[records[i].ID] = &records[i]
	}
	var keys []struct{ ConnectionID, Key string }
	err = q.NewRaw("SELECT connection_id, key FROM source_keys WHERE tenant_id = ? AND connection_id IN (?)", q.TenantID(), bun.List(who)).Scan(ctx, &keys)
	for _, k := range keys {
		found.Keys[k.ConnectionID] = append(found.Keys[k.ConnectionID], k.Key)
	}
	if err != nil || !w.Notes {
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

// addTo adds the match keys of a person. A name is a match key only together with the
// organisation of a current position.
func (h hit) addTo(found *Found, importID string) {
	if h.ID == "" {
		return
	}
	if h.ImportID != "" && h.ImportID == importID {
		found.Added[h.ID] = true
	}
	keys := []MatchKey{{By: h.Kind, Value: h.Value}}
	if c := found.People[h.ID]; h.Kind == byName && c != nil {
		keys = nil
		for _, p := range c.Positions {
			if p.Current && p.Organization != "" {
				keys = append(keys, MatchKey{By: byName, Value: h.Value, Organization: people.NormalOrganization(p.Organization)})
			}
		}
	}
	for _, key := range keys {
		if !slices.Contains(found.IDs[key], h.ID) {
			found.IDs[key] = append(found.IDs[key], h.ID)
		}
	}
}

// FindNotes returns the notes that were created at one of the times.
func FindNotes(ctx context.Context, tx *db.Tx, at []time.Time) ([]timeline.Note, error) {
	var rows []timeline.Note
	if err := tx.From(&rows).Where("created_at IN (?)", bun.List(at)).Order("id").Scan(ctx); err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows, timeline.FillNotes(ctx, tx, rows)
}

// FindReminders returns the reminders that were created at one of the times.
func FindReminders(ctx context.Context, tx *db.Tx, at []time.Time) ([]reminders.Reminder, error) {
	var rows []reminders.Reminder
	err := tx.From(&rows).Where("created_at IN (?)", bun.List(at)).Order("id").Scan(ctx)
	return rows, err
}

// FindInteractions returns the interactions with one of the external keys, and those that
// took place at one of the times.
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

// FindRelationships returns the relationships of the people.
func FindRelationships(ctx context.Context, tx *db.Tx, ids []string) ([]people.Relationship, error) {
	var rows []people.Relationship
	err := tx.From(&rows).Where("from_id IN (?) OR to_id IN (?)", bun.List(ids), bun.List(ids)).Scan(ctx)
	return rows, err
}
