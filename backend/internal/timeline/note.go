package timeline

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/wordindex"
	"github.com/uptrace/bun"
)

// GetNote returns a note with the people that it is about, or fault.NotFound.
func GetNote(ctx context.Context, q db.Reader, noteID string) (*Note, error) {
	n, err := note(ctx, q, noteID)
	if err == nil && n == nil {
		return nil, fault.New(fault.NotFound, "there is no note %s; search_notes and list_timeline return ids", noteID)
	}
	return n, err
}

// ReplaceNote stores n in place of the version before it. It fails with fault.Conflict
// when that version is no longer the stored one.
func ReplaceNote(ctx context.Context, tx *db.Tx, n *Note) error {
	n.TenantID = tx.TenantID()
	if err := tx.Replace(ctx, n, n.ID, n.Version, "body", "pinned", "version", "updated_at"); err != nil {
		return err
	}
	var former []string
	err := tx.NewRaw("SELECT connection_id FROM note_connections WHERE tenant_id = ? AND note_id = ?", tx.TenantID(), n.ID).Scan(ctx, &former)
	if err != nil {
		return err
	}
	tx.MarkDirty(former...) // people who were removed must not be found by its words
	if err := tx.Delete(ctx, (*NoteConnection)(nil), "note_id = ?", n.ID); err != nil {
		return err
	}
	return linkNote(ctx, tx, n)
}

// AddParticipants fills in the people that entries are about.
func AddParticipants(ctx context.Context, q db.Reader, entries []Entry) error {
	return addParticipants(ctx, q, entries)
}

// noteRestorer restores notes, with the people that they are about.
type noteRestorer struct{ tx *db.Tx }

// note returns a note with the people that it is about, archived ones too, or nil.
func note(ctx context.Context, q db.Reader, id string) (*Note, error) {
	n := &Note{}
	err := q.From(n).Where("id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	notes := []Note{*n}
	err = FillNotes(ctx, q, notes)
	return &notes[0], err
}

// restore restores a note to a state that is not null.
func (r noteRestorer) restore(ctx context.Context, id string, to json.RawMessage) error {
	var n Note
	if err := json.Unmarshal(to, &n); err != nil {
		return fmt.Errorf("read recorded note: %w", err)
	}
	if err := people.NeedConnections(ctx, r.tx, n.ConnectionIDs...); err != nil {
		return err
	}
	present, err := note(ctx, r.tx, id)
	if err != nil {
		return err
	}
	n.TenantID, n.ID, n.Version = r.tx.TenantID(), id, n.Version+1
	if present != nil {
		n.Version = present.Version + 1
		if err := unlinkNote(ctx, r.tx, present); err != nil {
			return err
		}
	}
	return r.put(ctx, &n)
}

// deleteNote deletes a note that exists.
func deleteNote(ctx context.Context, tx *db.Tx, n *Note) error {
	if err := unlinkNote(ctx, tx, n); err != nil {
		return err
	}
	return tx.Delete(ctx, (*Note)(nil), "id = ?", n.ID)
}

// unlinkNote removes the rows that connect a note with people.
func unlinkNote(ctx context.Context, tx *db.Tx, n *Note) error {
	tx.MarkDirty(n.ConnectionIDs...)
	wordindex.Mark(tx, n.ID)
	return tx.Delete(ctx, (*NoteConnection)(nil), "note_id = ?", n.ID)
}

// put stores a note in place of the one with its id, if any.
func (r noteRestorer) put(ctx context.Context, n *Note) error {
	_, err := r.tx.NewInsert().Model(n).
		On("CONFLICT (tenant_id, id) DO UPDATE").
		Set("body = EXCLUDED.body").Set("pinned = EXCLUDED.pinned").
		Set("version = EXCLUDED.version").Set("updated_at = EXCLUDED.updated_at").Exec(ctx)
	if err != nil {
		return fmt.Errorf("restore note: %w", err)
	}
	return linkNote(ctx, r.tx, n)
}

// RestoreNote returns the restorer of notes.
func RestoreNote(tx *db.Tx) history.Restorer { return noteRestorer{tx} }

// Current implements history.Restorer.
func (r noteRestorer) Current(ctx context.Context, ids []string) (map[string]any, error) {
	var rows []Note
	if err := r.tx.From(&rows).Where("id IN (?)", bun.List(ids)).Scan(ctx); err != nil || len(rows) == 0 {
		return nil, err
	}
	out := make(map[string]any, len(rows))
	err := FillNotes(ctx, r.tx, rows)
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	return out, err
}

// Restore implements history.Restorer. It removes notes with one call and restores others
// one by one.
func (r noteRestorer) Restore(ctx context.Context, to map[string]json.RawMessage) (map[string]string, error) {
	gone := history.TakeRemovals(to)
	conflicts, err := history.Single{Put: r.restore}.Restore(ctx, to)
	if err != nil || len(gone) == 0 {
		return conflicts, err
	}
	wordindex.Mark(r.tx, gone...)
	people, err := people.People(ctx, r.tx, "note_connections", "note_id", gone)
	if err != nil {
		return nil, err
	}
	for _, about := range people {
		r.tx.MarkDirty(about...)
	}
	return conflicts, r.tx.Delete(ctx, (*Note)(nil), "id IN (?)", bun.List(gone))
}
