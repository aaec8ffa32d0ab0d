package people

import (
	"context"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
)

// Acted is what a write to several people changed or, with a dry run, would change.
type Acted struct {
	// Changed are the people who changed, without their lists.
	Changed   []Connection
	Unchanged int
	// ChangeID is empty when nothing was written.
	ChangeID string
}

// archiveState is the part of a connection's state that archiving changes.
type archiveState struct {
	ArchivedAt time.Time `json:"archived_at"`
}

// Archive archives people, or restores them. People who are already in that state stay
// unchanged. With dryRun it writes nothing and only reports who would change.
func Archive(ctx context.Context, w *db.Tx, ids []string, away, dryRun bool) (Acted, error) {
	people, err := ListConnections(ctx, w, ids)
	if err != nil {
		return Acted{}, err
	}
	var at time.Time
	if away {
		at = w.Now()
	}
	var moved []Connection
	var effects []history.EffectDraft
	for _, c := range people {
		if c.ArchivedAt.IsZero() != away {
			continue
		}
		if c.MergedInto != "" {
			return Acted{}, fault.New(fault.Conflict, "%s was merged into %s: undo that merge to have both again", c.ID, c.MergedInto)
		}
		moved = append(moved, c)
		effects = append(effects, history.EffectDraft{Kind: history.Connection, ID: c.ID, Before: archiveState{c.ArchivedAt}, After: archiveState{at}})
	}
	out := Acted{Changed: moved, Unchanged: len(people) - len(moved)}
	if len(moved) == 0 || dryRun {
		return out, nil
	}
	if err := SetArchived(ctx, w, IDs(moved, idOf), at); err != nil {
		return Acted{}, err
	}
	verb := "Brought back "
	if away {
		verb = "Archived "
	}
	out.ChangeID, err = history.Record(ctx, w, history.Draft{Summary: verb + namesOf(moved), Effects: effects})
	return out, err
}

func idOf(c Connection) string { return c.ID }

// namesOf is namesIn for the names of people.
func namesOf(people []Connection) string {
	return namesIn(IDs(people, func(c Connection) string { return c.Name }))
}

// namesIn lists people in a line: one name, two names, or the first name and the number of
// others.
func namesIn(names []string) string {
	switch len(names) {
	case 1:
		return names[0]
	case 2:
		return names[0] + " and " + names[1]
	default:
		return fmt.Sprintf("%s and %d others", names[0], len(names)-1)
	}
}
