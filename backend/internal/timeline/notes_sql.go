package timeline

import (
	"context"
	"iter"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
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

// maxScanned is how many notes, and how many interactions, a search for words reads at
// most: the latest.
const maxScanned = 50_000

// EachEntry yields the notes and interactions that a query finds, in any order. The entries do not have
// their participants. It reads the latest maxScanned of each, and ignores the query's limit. It
// fails with fault.NotFound for a connection that does not exist. It holds one reading connection,
// and one entry at a time, until it returns.
func EachEntry(ctx context.Context, q db.Reader, query Query) iter.Seq2[Entry, error] {
	query.Limit = maxScanned
	return func(yield func(Entry, error) bool) {
		if err := eachEntry(ctx, q, query, yield); err != nil {
			yield(Entry{}, err)
		}
	}
}

func eachEntry(ctx context.Context, q db.Reader, query Query, yield func(Entry, error) bool) error {
	if query.ConnectionID != "" {
		if err := people.Live(ctx, q, query.ConnectionID); err != nil {
			return err
		}
	}
	if query.Among != nil && len(query.Among) == 0 {
		return nil
	}
	notes, args := unionPart(q, notePart(), query)
	met, metArgs := unionPart(q, interactionPart(), query)
	rows, err := q.QueryContext(ctx, notes+" UNION ALL "+met, append(args, metArgs...)...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var e Entry
		var at bun.NullTime
		if err := rows.Scan(&e.ID, &e.Kind, &at, &e.OccurredLocal, &e.Text, &e.DurationMinutes, &e.Pinned); err != nil {
			return err
		}
		e.OccurredAt = at.UTC()
		if !yield(e, nil) {
			return nil
		}
	}
	return rows.Err()
}

// AddParticipants fills in the people that entries are about.
func AddParticipants(ctx context.Context, q db.Reader, entries []Entry) error {
	return addParticipants(ctx, q, entries)
}
