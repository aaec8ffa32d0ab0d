package importer

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// Wanted says which people to find.
type Wanted struct {
	Keys []MatchKey
	// Notes requests the texts of people's notes. Bare requests only ids.
	Notes, Bare bool
	// ImportID is the import that makes the query.
	ImportID string
}

// wanted returns the query to match entries; namesAlone includes people who have only
// a name in common with one.
func wanted(entries []*entry, importID string, namesAlone bool) Wanted {
	w := Wanted{ImportID: importID}
	for _, e := range entries {
		if e.Err != nil {
			continue
		}
		w.Keys = append(w.Keys, e.keys(e.id)...)
		if e.leader.key != "" {
			w.Keys = append(w.Keys, e.leader.keys("")...)
		}
		if e.choice.Person != "" {
			w.Keys = append(w.Keys, MatchKey{By: byID, Value: e.choice.Person})
		}
		if namesAlone || e.ByName {
			w.Keys = append(w.Keys, MatchKey{By: byName, Value: text.Fold(e.connection.Name)})
		}
		w.Keys = append(w.Keys, e.matchKeys()...)
		w.Notes = w.Notes || len(e.Notes) > 0
	}
	return w
}

// keys returns the match keys of a record: its hashes, and its id if that is one of ours.
func (own identity) keys(id string) []MatchKey {
	out := []MatchKey{{By: byKey, Value: own.key}}
	if own.content != own.key && own.content != "" {
		out = append(out, MatchKey{By: byKey, Value: own.content})
	}
	if id != "" {
		out = append(out, MatchKey{By: byID, Value: id})
	}
	return out
}

// Found are the people found, without archived ones.
type Found struct {
	// IDs are the ids of the people with a key, in order.
	IDs map[MatchKey][]string
	// Named are the people with a folded name, if that was asked for.
	Named map[string][]string
	// Archived are the ids of archived people by their source keys and ids.
	Archived map[MatchKey]string
	// Names are the names of the people with a source key or an id: the present ones, those before a
	// merge, and those that the key came with.
	Names map[MatchKey][]names.Names
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
		Names: map[MatchKey][]names.Names{},
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
		if h.Kind == byName && h.Organization == "" && h.ID != "" {
			found.Named[h.Value] = append(found.Named[h.Value], h.ID)
		}
	}
	return found, nil
}

// hit is a person with a match key. Kind is MatchKey.By; ImportID is the import that
// added the person, and Name the name in its file, with a source key.
type hit struct{ Kind, Value, ImportID, Name, Organization, ID string }

// maxCandidates limits the people with one address, or with one name at an organisation, who are
// compared with a record. Without a limit, importing many people with a common name would take
// time that grows with the square of their number.
const maxCandidates = 50

// findHits returns the people with match keys with one statement: at most maxCandidates for an
// address or a name at an organisation, and maxOthers+1 for a name alone. The keys are tables of
// values, each with the first person beyond the limit, and CROSS JOIN makes SQLite start with
// them: given a long list, it would scan all rows of the tenant instead.
func findHits(ctx context.Context, q db.Reader, w Wanted) ([]hit, error) {
	values := map[string][]any{}
	atOrganization := map[string]MatchKey{}
	seen := map[MatchKey]bool{}
	for _, k := range w.Keys {
		if seen[k] {
			continue
		}
		seen[k] = true
		by, value := k.By, k.Value
		if by == byName && k.Organization != "" {
			by, value = byNamesake, strconv.FormatInt(people.NamesakeKey(k.Value, k.Organization), 10)
			atOrganization[value] = k
		}
		values[by] = append(values[by], value)
	}
	var tables, parts []string
	var tableArgs, args []any
	for i, p := range hitParts() {
		n := len(values[p.by])
		if n == 0 {
			continue
		}
		table := fmt.Sprint("v", i)
		list := bun.SafeQuery(strings.TrimSuffix(strings.Repeat("(?),", n), ","), values[p.by]...)
		if p.stop == "" {
			tables = append(tables, table+" AS MATERIALIZED (SELECT w.column1 FROM (VALUES ?) AS w)")
			tableArgs = append(tableArgs, list)
		} else {
			tables = append(tables, table+" AS MATERIALIZED (SELECT w.column1, coalesce(("+p.stop+" LIMIT 1 OFFSET ?), '~') AS stop FROM (VALUES ?) AS w)")
			tableArgs = append(tableArgs, q.TenantID(), p.most, list)
		}
		parts = append(parts, strings.ReplaceAll(p.statement, "$v", table))
		args = append(args, p.kind, q.TenantID())
	}
	var hits []hit
	err := q.NewRaw("WITH "+strings.Join(tables, ", ")+" "+strings.Join(parts, " UNION ALL ")+" ORDER BY 5", append(tableArgs, args...)...).Scan(ctx, &hits)
	for i := range hits {
		if k, ok := atOrganization[hits[i].Value]; ok && hits[i].Kind == byNamesake {
			hits[i].Kind, hits[i].Value, hits[i].Organization = byName, k.Value, k.Organization
		}
	}
	return hits, err
}

// byNamesake is a name at an organisation, as people.NamesakeKey.
const byNamesake = "namesake"

// hitPart finds the people with values of one kind; stop is the first person beyond the limit.
type hitPart struct {
	by, kind, stop, statement string
	most                      int
}

func hitParts() []hitPart {
	const row = "SELECT ? AS kind, v.column1 AS value, '' AS import_id, '' AS name, "
	bounded := func(by, table, column, person string, most int, and string) hitPart {
		return hitPart{
			by, by,
			"SELECT n." + person + " FROM " + table + " n WHERE n.tenant_id = ? AND n." + column + and + " ORDER BY n." + person,
			strings.ReplaceAll(row, "v.", "$v.") + "n." + person + " AS id FROM $v CROSS JOIN " + table + " n WHERE n.tenant_id = ? AND n." + column +
				strings.ReplaceAll(and, "w.", "$v.") + " AND n." + person + " < $v.stop",
			most,
		}
	}
	address := func(by, kind string) hitPart {
		return bounded(by, "handles", "kind", "connection_id", maxCandidates, " = '"+kind+"' AND n.normal_value = w.column1")
	}
	social := address(byAddress, people.KindSocial)
	exact := func(by, table, columns, key, id string) hitPart {
		return hitPart{by: by, kind: by, statement: "SELECT ? AS kind, $v.column1 AS value, " + columns + ", n." + id + " AS id FROM $v CROSS JOIN " + table +
			" n WHERE n.tenant_id = ? AND n." + key + " = $v.column1"}
	}
	return []hitPart{
		address(byEmail, people.KindEmail), address(byPhone, people.KindPhone), address(byAddress, people.KindURL), social,
		exact(byKey, "source_keys", "n.import_id, n.name", "key", "connection_id"),
		exact(byID, "connections", "'' AS import_id, '' AS name", "id", "id"),
		bounded(byNamesake, "duplicate_keys", "key", "connection_id", maxCandidates, " = CAST(w.column1 AS BIGINT)"),
		bounded(byName, "connections", "folded_name", "id", maxOthers+1, " = w.column1"),
	}
}

// followMerges replaces merged people by the people they were merged into, moves archived
// people to found.Archived and clears their hits. It returns the ids that are left.
func followMerges(ctx context.Context, q db.Reader, w Wanted, hits []hit, found *Found) ([]string, error) {
	wanted := people.DistinctIDs(people.IDs(hits, func(h hit) string { return h.ID }))
	into, archived, named := map[string]string{}, map[string]bool{}, map[string]names.Names{}
	for range 2 { // the person that another one was merged into may be archived
		var rows []struct {
			ID, MergedInto, Name, Nickname string
			Archived                       bool
		}
		err := q.NewRaw("SELECT id, name, nickname, coalesce(merged_into, '') AS merged_into, archived_at IS NOT NULL AS archived FROM connections WHERE tenant_id = ? AND id IN (?)",
			q.TenantID(), bun.List(wanted)).Scan(ctx, &rows)
		if err != nil {
			return nil, err
		}
		wanted = nil
		for _, p := range rows {
			named[p.ID] = names.Names{Full: p.Name, Nickname: p.Nickname}
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
		if h.Kind == byKey || h.Kind == byID {
			key := MatchKey{By: h.Kind, Value: h.Value}
			found.Names[key] = append(found.Names[key], named[h.ID])
			if h.Name != "" {
				found.Names[key] = append(found.Names[key], names.Names{Full: h.Name})
			}
			if live != "" && live != h.ID {
				found.Names[key] = append(found.Names[key], named[live])
			}
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
	err = q.NewRaw("SELECT connection_id, key FROM source_keys WHERE tenant_id = ? AND connection_id IN (?) ORDER BY key", q.TenantID(), bun.List(who)).Scan(ctx, &keys)
	for _, k := range keys {
		found.Keys[k.ConnectionID] = append(found.Keys[k.ConnectionID], k.Key)
	}
	if err != nil || !w.Notes {
		return err
	}
	found.Notes, err = noteBodies(ctx, q, who)
	return err
}

// noteBodies returns the texts of people's notes.
func noteBodies(ctx context.Context, q db.Reader, who []string) (map[string][]string, error) {
	var notes []struct{ ConnectionID, Body string }
	err := q.NewRaw(`SELECT l.connection_id, n.body FROM note_connections l JOIN notes n ON n.tenant_id = l.tenant_id AND n.id = l.note_id
WHERE l.tenant_id = ? AND l.connection_id IN (?)`, q.TenantID(), bun.List(who)).Scan(ctx, &notes)
	out := map[string][]string{}
	for _, n := range notes {
		out[n.ConnectionID] = append(out[n.ConnectionID], n.Body)
	}
	return out, err
}

// addTo adds the match key of a person. A name is a match key only together with the organisation
// of a current position.
func (h hit) addTo(found *Found, importID string) {
	if h.ID == "" {
		return
	}
	if h.ImportID != "" && h.ImportID == importID {
		found.Added[h.ID] = true
	}
	key := MatchKey{By: h.Kind, Value: h.Value, Organization: h.Organization}
	if c := found.People[h.ID]; h.Kind == byName && (h.Organization == "" || c != nil && c.FoldedName != h.Value) {
		return
	}
	if !slices.Contains(found.IDs[key], h.ID) {
		found.IDs[key] = append(found.IDs[key], h.ID)
	}
}

// archived returns the id of the archived person with one of a record's keys, or with its id if
// that is one of ours; empty if there is none, or if the names contradict the key.
func (f Found) archived(own identity, id string) string {
	for _, key := range []MatchKey{{By: byKey, Value: own.content}, {By: byID, Value: id}, {By: byKey, Value: own.key}} {
		if held := f.Archived[key]; key.Value != "" && held != "" && (key.Value == own.content || f.confirms(own, key)) {
			return held
		}
	}
	return ""
}
