package timeline

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/uptrace/bun"
)

// KindNote is the kind of a timeline entry that is a note; the other kinds are those of
// interactions.
const KindNote = "note"

// Note is a remembered fact about one or more connections, and its database row.
type Note struct {
	TenantID tenant.ID `bun:",pk" json:"-"`
	ID       string    `bun:",pk" json:"id"`
	Body     string    `json:"body"`
	Pinned   bool      `json:"pinned"`
	// NotedAt orders notes: the noon of Day, or CreatedAt without one.
	NotedAt time.Time `json:"noted_at"`
	// Day is the day (YYYY-MM-DD) that the note is about; empty if the caller gave none.
	Day       string    `json:"day"`
	Version   int32     `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	ConnectionIDs []string `bun:"-" json:"connection_ids"`
}

// Interaction is a contact that took place, and its database row.
type Interaction struct {
	TenantID   tenant.ID `bun:",pk" json:"-"`
	ID         string    `bun:",pk" json:"id"`
	Kind       string    `json:"kind"`
	OccurredAt time.Time `json:"occurred_at"`
	// OccurredLocal is OccurredAt as the caller gave it: a day (then OccurredAt is its noon), or a time with
	// its offset. It is empty for a time in UTC, which is shown in the member's zone. See civil.Local.
	OccurredLocal   string `json:"occurred_local"`
	DurationMinutes int32  `json:"duration_minutes"`
	Summary         string `json:"summary"`
	// ExternalKey is the caller's own key, unique within the tenant unless empty.
	ExternalKey string    `bun:",nullzero" json:"external_key"`
	CreatedAt   time.Time `json:"created_at"`

	ConnectionIDs []string `bun:"-" json:"connection_ids"`
}

// Entry is a note or an interaction on the timeline.
type Entry struct {
	ID string
	// Kind is KindNote or an interaction's kind.
	Kind            string
	OccurredAt      time.Time
	OccurredLocal   string // as of Interaction; for a note, its Day
	Text            string
	DurationMinutes int32
	Pinned          bool
	Participants    []Participant `bun:"-"`
}

// Participant is a connection that an entry is about.
type Participant struct{ ID, Name string }

// Cursor is the position of an entry in the order of the timeline.
type Cursor struct {
	OccurredAt time.Time
	ID         string
}

// Query says which part of the timeline to read.
type Query struct {
	// ConnectionID is empty for the whole network.
	ConnectionID string
	// Kinds is empty for all.
	Kinds []string
	// Since (inclusive) and Until (exclusive) are zero for no limit.
	Since, Until time.Time
	// After is the last entry of the page before; nil for the first page.
	After *Cursor
	// Limit is the largest number of entries to return, at least 1.
	Limit int
}

// noteConnection and interactionConnection are the rows that connect entries with people.
type (
	NoteConnection struct {
		TenantID     tenant.ID `bun:",pk"`
		ConnectionID string    `bun:",pk"`
		NoteID       string    `bun:",pk"`
	}
	InteractionConnection struct {
		TenantID      tenant.ID `bun:",pk"`
		ConnectionID  string    `bun:",pk"`
		InteractionID string    `bun:",pk"`
	}
)

// FindInteraction returns the one with the external key, or nil.
func FindInteraction(ctx context.Context, tx *db.Tx, externalKey string) (*Interaction, error) {
	found, err := findInteractions(ctx, tx, []Interaction{{ExternalKey: externalKey}})
	return found[externalKey], err
}

// findInteractions returns the stored interactions that have external keys of others, by the key.
func findInteractions(ctx context.Context, tx *db.Tx, others []Interaction) (map[string]*Interaction, error) {
	var keys []string
	for _, i := range others {
		if key := text.Line(i.ExternalKey); key != "" {
			keys = append(keys, key)
		}
	}
	found := map[string]*Interaction{}
	if len(keys) == 0 {
		return found, nil
	}
	var rows []Interaction
	if err := tx.From(&rows).Where("external_key IN (?)", bun.List(keys)).Scan(ctx); err != nil || len(rows) == 0 {
		return found, err
	}
	err := FillInteractions(ctx, tx, rows)
	for i := range rows {
		found[rows[i].ExternalKey] = &rows[i]
	}
	return found, err
}

// ListTimeline returns entries, latest first. It fails with fault.NotFound for a
// connection that does not exist.
func ListTimeline(ctx context.Context, q db.Reader, query Query) ([]Entry, error) {
	entries, err := listTimeline(ctx, q, query)
	return entries, err
}

func listTimeline(ctx context.Context, q db.Reader, query Query) ([]Entry, error) {
	if query.ConnectionID != "" {
		if err := people.Live(ctx, q, query.ConnectionID); err != nil {
			return nil, err
		}
	}
	var parts []string
	var args []any
	if len(query.Kinds) == 0 || slices.Contains(query.Kinds, KindNote) {
		part, partArgs := unionPart(q, notePart(), query)
		parts, args = append(parts, part), append(args, partArgs...)
	}
	if len(query.Kinds) == 0 || slices.ContainsFunc(query.Kinds, func(k string) bool { return k != KindNote }) {
		part, partArgs := unionPart(q, interactionPart(), query)
		parts, args = append(parts, part), append(args, partArgs...)
	}
	var entries []Entry
	statement := "SELECT * FROM (" + strings.Join(parts, " UNION ALL ") + ") AS e ORDER BY occurred_at DESC, id DESC LIMIT ?"
	if err := q.NewRaw(statement, append(args, query.Limit)...).Scan(ctx, &entries); err != nil {
		return nil, err
	}
	return entries, addParticipants(ctx, q, entries)
}

// MaxPinned is how many pinned notes are listed before the timeline of a connection.
const MaxPinned = 20

// ListPinned returns the pinned notes about a connection, the latest first, up to MaxPinned. It takes
// two statements.
func ListPinned(ctx context.Context, q db.Reader, connectionID string) ([]Entry, error) {
	var entries []Entry
	err := q.NewRaw("SELECT "+notePart().columns+` FROM note_connections l JOIN notes t ON t.tenant_id = l.tenant_id AND t.id = l.note_id
WHERE l.tenant_id = ? AND l.connection_id = ? AND t.pinned ORDER BY t.noted_at DESC, t.id DESC LIMIT ?`, q.TenantID(), connectionID, MaxPinned).Scan(ctx, &entries)
	if err != nil {
		return nil, err
	}
	return entries, addParticipants(ctx, q, entries)
}

// part is one half of the timeline: which columns of which tables.
type part struct{ columns, table, at, links, link string }

func notePart() part {
	return part{
		columns: "t.id, 'note' AS kind, t.noted_at AS occurred_at, t.day AS occurred_local, t.body AS text, 0 AS duration_minutes, t.pinned",
		table:   "notes", at: "t.noted_at", links: "note_connections", link: "note_id",
	}
}

func interactionPart() part {
	return part{
		columns: "t.id, t.kind, t.occurred_at, t.occurred_local, t.summary AS text, t.duration_minutes, FALSE AS pinned",
		table:   "interactions", at: "t.occurred_at", links: "interaction_connections", link: "interaction_id",
	}
}

// unionPart returns the statement of one half, ordered and limited, so that the database reads
// an index from its end and stops.
func unionPart(q db.Reader, a part, query Query) (string, []any) {
	statement := "SELECT " + a.columns + " FROM " + a.table + " t"
	var args []any
	where := func(condition string, values ...any) {
		statement += condition
		args = append(args, values...)
	}
	if query.ConnectionID != "" {
		where(" JOIN "+a.links+" l ON l.tenant_id = t.tenant_id AND l."+a.link+" = t.id AND l.connection_id = ?", query.ConnectionID)
	}
	where(" WHERE t.tenant_id = ?", q.TenantID())
	if query.ConnectionID == "" {
		// Entries about archived people only are hidden.
		where(" AND EXISTS (SELECT 1 FROM " + a.links + " l JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id" +
			" AND c.archived_at IS NULL WHERE l.tenant_id = t.tenant_id AND l." + a.link + " = t.id)")
	}
	if a.table == "interactions" && len(query.Kinds) > 0 {
		where(" AND t.kind IN (?)", bun.List(query.Kinds))
	}
	if !query.Since.IsZero() {
		where(" AND "+a.at+" >= ?", query.Since)
	}
	if !query.Until.IsZero() {
		where(" AND "+a.at+" < ?", query.Until)
	}
	if query.After != nil {
		where(" AND ("+a.at+", t.id) < (?, ?)", query.After.OccurredAt, query.After.ID)
	}
	where(" ORDER BY "+a.at+" DESC, t.id DESC LIMIT ?", query.Limit)
	return "SELECT * FROM (" + statement + ") AS " + a.table + "_arm", args
}

// addParticipants fills in the people that the entries are about, with one statement. CROSS JOIN keeps SQLite from reading all people
// in the order of their ids.
func addParticipants(ctx context.Context, q db.Reader, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	byID := make(map[string]*Entry, len(entries))
	ids := make([]string, len(entries))
	for i := range entries {
		ids[i] = entries[i].ID
		byID[ids[i]] = &entries[i]
	}
	var rows []struct{ EntryID, ID, Name string }
	err := q.NewRaw(`SELECT l.entry_id, c.id, c.name FROM (
SELECT note_id AS entry_id, connection_id FROM note_connections WHERE tenant_id = ? AND note_id IN (?)
UNION ALL
SELECT interaction_id, connection_id FROM interaction_connections WHERE tenant_id = ? AND interaction_id IN (?)
) AS l CROSS JOIN connections c WHERE c.tenant_id = ? AND c.id = l.connection_id AND c.archived_at IS NULL ORDER BY c.id`,
		q.TenantID(), bun.List(ids), q.TenantID(), bun.List(ids), q.TenantID()).Scan(ctx, &rows)
	if err != nil {
		return err
	}
	for _, row := range rows {
		e := byID[row.EntryID]
		e.Participants = append(e.Participants, Participant{ID: row.ID, Name: row.Name})
	}
	return nil
}

// ListNotes returns the latest notes about each connection, up to limit for each, by
// connection. It takes two statements.
func ListNotes(ctx context.Context, q db.Reader, connectionIDs []string, limit int) (map[string][]Note, error) {
	var rows []struct {
		Note

		About string
	}
	if err := latest(q, notePart(), db.Columns[Note](q, "t"), connectionIDs, limit).Scan(ctx, &rows); err != nil {
		return nil, err
	}
	notes := make([]Note, len(rows))
	for i, row := range rows {
		notes[i] = row.Note
	}
	err := FillNotes(ctx, q, notes)
	out := map[string][]Note{}
	for i, row := range rows {
		out[row.About] = append(out[row.About], notes[i])
	}
	return out, err
}

// ListInteractions returns the latest interactions with each connection, up to limit for
// each, by connection. It takes two statements.
func ListInteractions(ctx context.Context, q db.Reader, connectionIDs []string, limit int) (map[string][]Interaction, error) {
	var rows []struct {
		Interaction

		About string
	}
	if err := latest(q, interactionPart(), db.Columns[Interaction](q, "t"), connectionIDs, limit).Scan(ctx, &rows); err != nil {
		return nil, err
	}
	interactions := make([]Interaction, len(rows))
	for i, row := range rows {
		interactions[i] = row.Interaction
	}
	err := FillInteractions(ctx, q, interactions)
	out := map[string][]Interaction{}
	for i, row := range rows {
		out[row.About] = append(out[row.About], interactions[i])
	}
	return out, err
}

// latest selects the latest entries about each connection, up to limit for each, with the
// connection as about. The cross joins make SQLite start with the connections.
func latest(q db.Reader, p part, columns bun.Safe, connectionIDs []string, limit int) *bun.RawQuery {
	table, links, link, at := bun.Safe(p.table), bun.Safe(p.links), bun.Safe(p.link), bun.Safe(p.at)
	return q.NewRaw(`SELECT ?, ranked.connection_id AS about FROM (
SELECT l.connection_id, t.id, row_number() OVER (PARTITION BY l.connection_id ORDER BY ? DESC, t.id DESC) AS place
FROM ? l CROSS JOIN ? t WHERE l.tenant_id = ? AND l.connection_id IN (?) AND t.tenant_id = l.tenant_id AND t.id = l.?) AS ranked
CROSS JOIN ? t WHERE ranked.place <= ? AND t.tenant_id = ? AND t.id = ranked.id ORDER BY ranked.connection_id, ranked.place`,
		columns, at, links, table, q.TenantID(), bun.List(connectionIDs), link, table, limit, q.TenantID())
}

// NoteID returns the id of a note.
func NoteID(n *Note) string { return n.ID }

// InteractionID returns the id of an interaction.
func InteractionID(i *Interaction) string { return i.ID }

// FillNotes adds the connections that notes are about.
func FillNotes(ctx context.Context, q db.Reader, notes []Note) error {
	people, err := people.People(ctx, q, "note_connections", "note_id", people.IDs(notes, func(n Note) string { return n.ID }))
	for i := range notes {
		notes[i].ConnectionIDs = people[notes[i].ID]
	}
	return err
}

// FillInteractions adds the connections that took part.
func FillInteractions(ctx context.Context, q db.Reader, met []Interaction) error {
	people, err := people.People(ctx, q, "interaction_connections", "interaction_id", people.IDs(met, func(i Interaction) string { return i.ID }))
	for i := range met {
		met[i].ConnectionIDs = people[met[i].ID]
	}
	return err
}
