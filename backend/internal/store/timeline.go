package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// noteConnection and interactionConnection are the rows behind the lists of
// people that an entry is about.
type (
	noteConnection struct {
		TenantID     tenant.ID `bun:",pk"`
		ConnectionID string    `bun:",pk"`
		NoteID       string    `bun:",pk"`
	}
	interactionConnection struct {
		TenantID      tenant.ID `bun:",pk"`
		ConnectionID  string    `bun:",pk"`
		InteractionID string    `bun:",pk"`
	}
)

// Participants implements timeline.Writer.
func (u *Unit) Participants(ctx context.Context, ids []string) ([]connection.Connection, error) {
	var rows []connection.Connection
	if err := u.from(&rows).Where("id IN (?)", bun.List(ids)).Where("archived_at IS NULL").Scan(ctx); err != nil {
		return nil, err
	}
	for _, wanted := range ids {
		if !slices.ContainsFunc(rows, func(c connection.Connection) bool { return c.ID == wanted }) {
			return nil, noConnection(wanted)
		}
	}
	return rows, nil
}

// InsertNote implements timeline.Writer.
func (u *Unit) InsertNote(ctx context.Context, n *timeline.Note) error {
	noteID, err := u.ids.New(id.Note)
	if err != nil {
		return err
	}
	n.TenantID, n.ID = u.id, noteID
	if _, err := u.db.NewInsert().Model(n).Exec(ctx); err != nil {
		return fmt.Errorf("insert note: %w", err)
	}
	return u.linkNote(ctx, n)
}

// InsertInteraction implements timeline.Writer.
func (u *Unit) InsertInteraction(ctx context.Context, i *timeline.Interaction) error {
	interactionID, err := u.ids.New(id.Interaction)
	if err != nil {
		return err
	}
	i.TenantID, i.ID = u.id, interactionID
	if _, err := u.db.NewInsert().Model(i).Exec(ctx); err != nil {
		return fmt.Errorf("insert interaction: %w", err)
	}
	if err := u.linkInteraction(ctx, i); err != nil {
		return err
	}
	_, err = u.db.NewRaw(`UPDATE connections SET last_interaction_at = ?
WHERE tenant_id = ? AND id IN (?) AND (last_interaction_at IS NULL OR last_interaction_at < ?)`,
		i.OccurredAt, u.id, bun.List(i.ConnectionIDs), i.OccurredAt).Exec(ctx)
	return err
}

// FindInteraction implements timeline.Writer.
func (u *Unit) FindInteraction(ctx context.Context, externalKey string) (*timeline.Interaction, error) {
	i := &timeline.Interaction{}
	err := u.from(i).Where("external_key = ?", externalKey).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = u.db.NewRaw("SELECT connection_id FROM interaction_connections WHERE tenant_id = ? AND interaction_id = ? ORDER BY connection_id",
		u.id, i.ID).Scan(ctx, &i.ConnectionIDs)
	return i, err
}

// ListTimeline implements timeline.Reader.
func (t *Tenant) ListTimeline(ctx context.Context, query timeline.Query) ([]timeline.Entry, error) {
	ctx, q := t.read(ctx)
	entries, err := q.listTimeline(ctx, query)
	return entries, translate(err)
}

func (q scope) listTimeline(ctx context.Context, query timeline.Query) ([]timeline.Entry, error) {
	if query.ConnectionID != "" {
		if err := q.live(ctx, query.ConnectionID); err != nil {
			return nil, err
		}
	}
	var arms []string
	var args []any
	if len(query.Kinds) == 0 || slices.Contains(query.Kinds, timeline.KindNote) {
		arm, armArgs := q.arm(noteArm(), query)
		arms, args = append(arms, arm), append(args, armArgs...)
	}
	if len(query.Kinds) == 0 || slices.ContainsFunc(query.Kinds, func(k string) bool { return k != timeline.KindNote }) {
		arm, armArgs := q.arm(interactionArm(), query)
		arms, args = append(arms, arm), append(args, armArgs...)
	}
	var entries []timeline.Entry
	statement := "SELECT * FROM (" + strings.Join(arms, " UNION ALL ") + ") AS e ORDER BY occurred_at DESC, id DESC LIMIT ?"
	if err := q.db.NewRaw(statement, append(args, query.Limit)...).Scan(ctx, &entries); err != nil {
		return nil, err
	}
	return entries, q.addParticipants(ctx, entries)
}

// arm is one half of the timeline: which columns of which tables.
type arm struct{ columns, table, at, links, link string }

func noteArm() arm {
	return arm{
		columns: "t.id, 'note' AS kind, t.created_at AS occurred_at, t.body AS text, 0 AS duration_minutes, t.pinned",
		table:   "notes", at: "t.created_at", links: "note_connections", link: "note_id",
	}
}

func interactionArm() arm {
	return arm{
		columns: "t.id, t.kind, t.occurred_at, t.summary AS text, t.duration_minutes, FALSE AS pinned",
		table:   "interactions", at: "t.occurred_at", links: "interaction_connections", link: "interaction_id",
	}
}

// arm returns the statement of one half, ordered and cut, so that the database
// walks an index from its end and stops.
func (q scope) arm(a arm, query timeline.Query) (string, []any) {
	statement := "SELECT " + a.columns + " FROM " + a.table + " t"
	var args []any
	where := func(condition string, values ...any) {
		statement += condition
		args = append(args, values...)
	}
	if query.ConnectionID != "" {
		where(" JOIN "+a.links+" l ON l.tenant_id = t.tenant_id AND l."+a.link+" = t.id AND l.connection_id = ?", query.ConnectionID)
	}
	where(" WHERE t.tenant_id = ?", q.id)
	if query.ConnectionID == "" {
		// What is about archived people only is put away with them.
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

// live fails with fault.NotFound unless the connection is on file and not archived.
func (q scope) live(ctx context.Context, connectionID string) error {
	var found string
	err := q.db.NewRaw("SELECT id FROM connections WHERE tenant_id = ? AND id = ? AND archived_at IS NULL",
		q.id, connectionID).Scan(ctx, &found)
	if errors.Is(err, sql.ErrNoRows) {
		return noConnection(connectionID)
	}
	return err
}

// addParticipants fills in whom the entries are about, with one statement.
func (q scope) addParticipants(ctx context.Context, entries []timeline.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	byID := make(map[string]*timeline.Entry, len(entries))
	ids := make([]string, len(entries))
	for i := range entries {
		ids[i] = entries[i].ID
		byID[ids[i]] = &entries[i]
	}
	var rows []struct{ EntryID, ID, Name string }
	err := q.db.NewRaw(`SELECT l.entry_id, c.id, c.name FROM (
SELECT note_id AS entry_id, connection_id FROM note_connections WHERE tenant_id = ? AND note_id IN (?)
UNION ALL
SELECT interaction_id, connection_id FROM interaction_connections WHERE tenant_id = ? AND interaction_id IN (?)
) AS l JOIN connections c ON c.tenant_id = ? AND c.id = l.connection_id AND c.archived_at IS NULL ORDER BY c.id`,
		q.id, bun.List(ids), q.id, bun.List(ids), q.id).Scan(ctx, &rows)
	if err != nil {
		return err
	}
	for _, row := range rows {
		e := byID[row.EntryID]
		e.Participants = append(e.Participants, timeline.Participant{ID: row.ID, Name: row.Name})
	}
	return nil
}

// ListNotes returns the latest notes about a connection, limit at most.
func (t *Tenant) ListNotes(ctx context.Context, connectionID string, limit int) ([]timeline.Note, error) {
	ctx, q := t.read(ctx)
	var notes []timeline.Note
	err := q.from(&notes).
		Join("JOIN note_connections AS l ON l.tenant_id = ?TableAlias.tenant_id AND l.note_id = ?TableAlias.id AND l.connection_id = ?", connectionID).
		ColumnExpr("?TableAlias.*").OrderExpr("?TableAlias.created_at DESC, ?TableAlias.id DESC").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, translate(err)
	}
	people, err := q.people(ctx, "note_connections", "note_id", ids(notes, func(n timeline.Note) string { return n.ID }))
	for i := range notes {
		notes[i].ConnectionIDs = people[notes[i].ID]
	}
	return notes, translate(err)
}

// ListInteractions returns the latest interactions with a connection, limit at most.
func (t *Tenant) ListInteractions(ctx context.Context, connectionID string, limit int) ([]timeline.Interaction, error) {
	ctx, q := t.read(ctx)
	var found []timeline.Interaction
	err := q.from(&found).
		Join("JOIN interaction_connections AS l ON l.tenant_id = ?TableAlias.tenant_id AND l.interaction_id = ?TableAlias.id AND l.connection_id = ?", connectionID).
		ColumnExpr("?TableAlias.*").OrderExpr("?TableAlias.occurred_at DESC, ?TableAlias.id DESC").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, translate(err)
	}
	people, err := q.people(ctx, "interaction_connections", "interaction_id", ids(found, func(i timeline.Interaction) string { return i.ID }))
	for i := range found {
		found[i].ConnectionIDs = people[found[i].ID]
	}
	return found, translate(err)
}

func ids[T any](rows []T, id func(T) string) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = id(row)
	}
	return out
}

// people returns the connections that entries are about, by entry.
func (q scope) people(ctx context.Context, table, column string, entries []string) (map[string][]string, error) {
	out := map[string][]string{}
	if len(entries) == 0 {
		return out, nil
	}
	var rows []struct{ EntryID, ConnectionID string }
	err := q.db.NewRaw("SELECT ? AS entry_id, connection_id FROM ? WHERE tenant_id = ? AND ? IN (?) ORDER BY connection_id",
		bun.Ident(column), bun.Ident(table), q.id, bun.Ident(column), bun.List(entries)).Scan(ctx, &rows)
	for _, row := range rows {
		out[row.EntryID] = append(out[row.EntryID], row.ConnectionID)
	}
	return out, err
}
