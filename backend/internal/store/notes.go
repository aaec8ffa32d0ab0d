package store

import (
	"context"
	"fmt"
	"iter"

	"github.com/uptrace/bun"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/timeline"
)

// GetNote implements timeline.NoteWriter.
func (u *Unit) GetNote(ctx context.Context, noteID string) (*timeline.Note, error) {
	n, err := u.note(ctx, noteID)
	if err == nil && n == nil {
		return nil, fault.New(fault.NotFound, "there is no note %s", noteID)
	}
	return n, err
}

// ReplaceNote implements timeline.NoteWriter.
func (u *Unit) ReplaceNote(ctx context.Context, n *timeline.Note) error {
	n.TenantID = u.id
	result, err := u.db.NewUpdate().Model(n).Column("body", "pinned", "version", "updated_at").
		Where("tenant_id = ?", u.id).
		WhereGroup(" AND ", func(q *bun.UpdateQuery) *bun.UpdateQuery {
			return q.Where("id = ?", n.ID).Where("version = ?", n.Version-1)
		}).Exec(ctx)
	if err != nil {
		return fmt.Errorf("update note: %w", err)
	}
	if rows, err := result.RowsAffected(); err != nil || rows == 0 {
		return fault.Wrap(err, fault.Conflict, "%s was changed by somebody else: read it again and decide anew", n.ID)
	}
	var former []string
	err = u.db.NewRaw("SELECT connection_id FROM note_connections WHERE tenant_id = ? AND note_id = ?", u.id, n.ID).Scan(ctx, &former)
	if err != nil {
		return err
	}
	u.touch(former...) // whoever it is about no more is not found by its words either
	if err := u.delete(ctx, (*noteConnection)(nil), "note_id = ?", n.ID); err != nil {
		return err
	}
	return u.linkNote(ctx, n)
}

// maxScanned is how many notes, and how many interactions, a search for words
// reads at most: the latest.
const maxScanned = 50_000

// EachEntry implements timeline.WordReader. It holds one reading connection while
// the entries are looked at, and one entry at a time.
func (t *Tenant) EachEntry(ctx context.Context, connectionID string) iter.Seq2[timeline.Entry, error] {
	return func(yield func(timeline.Entry, error) bool) {
		ctx, q := t.read(ctx)
		if err := q.eachEntry(ctx, connectionID, yield); err != nil {
			yield(timeline.Entry{}, translate(err))
		}
	}
}

func (q scope) eachEntry(ctx context.Context, connectionID string, yield func(timeline.Entry, error) bool) error {
	if connectionID != "" {
		if err := q.live(ctx, connectionID); err != nil {
			return err
		}
	}
	query := timeline.Query{ConnectionID: connectionID, Limit: maxScanned}
	notes, args := q.arm(noteArm(), query)
	met, metArgs := q.arm(interactionArm(), query)
	rows, err := q.db.QueryContext(ctx, notes+" UNION ALL "+met, append(args, metArgs...)...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var e timeline.Entry
		var at bun.NullTime
		if err := rows.Scan(&e.ID, &e.Kind, &at, &e.Text, &e.DurationMinutes, &e.Pinned); err != nil {
			return err
		}
		e.OccurredAt = at.UTC()
		if !yield(e, nil) {
			return nil
		}
	}
	return rows.Err()
}

// AddParticipants implements timeline.WordReader.
func (t *Tenant) AddParticipants(ctx context.Context, entries []timeline.Entry) error {
	ctx, q := t.read(ctx)
	return translate(q.addParticipants(ctx, entries))
}
