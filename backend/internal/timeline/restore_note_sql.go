package timeline

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/uptrace/bun"
)

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
	people, err := people.People(ctx, r.tx, "note_connections", "note_id", gone)
	if err != nil {
		return nil, err
	}
	for _, about := range people {
		r.tx.MarkDirty(about...)
	}
	return conflicts, r.tx.Delete(ctx, (*Note)(nil), "id IN (?)", bun.List(gone))
}
