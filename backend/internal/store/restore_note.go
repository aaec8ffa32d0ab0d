package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kith-crm/kith/backend/internal/timeline"
)

// noteRestorer puts notes back, with the people that they are about.
type noteRestorer struct{ u *Unit }

// Current implements change.Restorer.
func (r noteRestorer) Current(ctx context.Context, id string) (any, error) {
	n, err := r.u.note(ctx, id)
	if n == nil {
		return nil, err
	}
	return n, err
}

// note returns a note with the people that it is about, archived ones too, or nil.
func (u *Unit) note(ctx context.Context, id string) (*timeline.Note, error) {
	n := &timeline.Note{}
	err := u.from(n).Where("id = ?", id).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	notes := []timeline.Note{*n}
	err = u.fillNotes(ctx, notes)
	return &notes[0], err
}

// Restore implements change.Restorer.
func (r noteRestorer) Restore(ctx context.Context, id string, to json.RawMessage) error {
	var n *timeline.Note
	if err := json.Unmarshal(to, &n); err != nil {
		return fmt.Errorf("read recorded note: %w", err)
	}
	present, err := r.u.note(ctx, id)
	if err != nil {
		return err
	}
	if n != nil {
		if err := r.u.needConnections(ctx, n.ConnectionIDs...); err != nil {
			return err
		}
	}
	if present != nil {
		r.u.touch(present.ConnectionIDs...)
		if err := r.u.delete(ctx, (*noteConnection)(nil), "note_id = ?", id); err != nil {
			return err
		}
	}
	if n == nil {
		return r.u.delete(ctx, (*timeline.Note)(nil), "id = ?", id)
	}
	n.TenantID, n.ID, n.Version = r.u.id, id, n.Version+1
	if present != nil {
		n.Version = present.Version + 1
	}
	return r.put(ctx, n)
}

// put keeps a note in place of the one with its id, if any.
func (r noteRestorer) put(ctx context.Context, n *timeline.Note) error {
	_, err := r.u.db.NewInsert().Model(n).
		On("CONFLICT (tenant_id, id) DO UPDATE").
		Set("body = EXCLUDED.body").Set("pinned = EXCLUDED.pinned").
		Set("version = EXCLUDED.version").Set("updated_at = EXCLUDED.updated_at").Exec(ctx)
	if err != nil {
		return fmt.Errorf("restore note: %w", err)
	}
	return r.u.linkNote(ctx, n)
}

// linkNote keeps whom a note is about.
func (u *Unit) linkNote(ctx context.Context, n *timeline.Note) error {
	links := make([]noteConnection, len(n.ConnectionIDs))
	for i, c := range n.ConnectionIDs {
		links[i] = noteConnection{TenantID: u.id, ConnectionID: c, NoteID: n.ID}
	}
	u.touch(n.ConnectionIDs...)
	return u.insertAll(ctx, &links, len(links))
}
