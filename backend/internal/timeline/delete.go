package timeline

import (
	"context"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/id"
)

// DeleteEntry deletes a note or an interaction, depending on the prefix of the id, and
// returns the id of the change. It returns false, and writes nothing, when there is none.
func DeleteEntry(ctx context.Context, w *db.Tx, entryID string) (deleted bool, changeID string, err error) {
	var draft history.Draft
	if strings.HasPrefix(entryID, id.Note+"_") {
		draft, err = removeNote(ctx, w, entryID)
	} else {
		draft, err = removeInteraction(ctx, w, entryID)
	}
	if err != nil || len(draft.Effects) == 0 {
		return false, "", err
	}
	changeID, err = history.Record(ctx, w, draft)
	return true, changeID, err
}

// removeNote deletes a note. Its draft is empty when there is none.
func removeNote(ctx context.Context, w *db.Tx, noteID string) (history.Draft, error) {
	n, err := note(ctx, w, noteID)
	if err != nil || n == nil {
		return history.Draft{}, err
	}
	return history.One("Deleted a note", history.Note, n.ID, n, nil), deleteNote(ctx, w, n)
}

// removeInteraction deletes an interaction. Its draft is empty when there is none.
func removeInteraction(ctx context.Context, w *db.Tx, interactionID string) (history.Draft, error) {
	i, err := interaction(ctx, w, interactionID)
	if err != nil || i == nil {
		return history.Draft{}, err
	}
	return history.One("Deleted: "+i.Kind, history.Interaction, i.ID, i, nil), replaceInteraction(ctx, w, i, nil)
}
