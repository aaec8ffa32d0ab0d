package connection

import (
	"context"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/fault"
)

// Archiver puts one tenant's connections away within one transaction.
type Archiver interface {
	// ListConnections returns the connections with the ids without their lists,
	// archived ones too; fault.NotFound names one that is not on file.
	ListConnections(ctx context.Context, ids []string) ([]Connection, error)
	// SetArchived puts connections away at a time, or brings them back at the zero
	// time. Their versions grow.
	SetArchived(ctx context.Context, ids []string, at time.Time) error
	// Record keeps what was changed and returns the change's id.
	Record(ctx context.Context, draft change.Draft) (string, error)
	// Now is the time of the transaction.
	Now() time.Time
}

// Archived is what Archive did.
type Archived struct {
	Changed, Unchanged int
	// ChangeID is empty when nothing was written.
	ChangeID string
}

// shelf is the part of a connection's state that archiving touches.
type shelf struct{ ArchivedAt time.Time }

// Archive puts people away, or brings them back; who is so already stays so.
func Archive(ctx context.Context, w Archiver, ids []string, away bool) (Archived, error) {
	people, err := w.ListConnections(ctx, ids)
	if err != nil {
		return Archived{}, err
	}
	var at time.Time
	if away {
		at = w.Now()
	}
	var moved []Connection
	var effects []change.Touch
	for _, c := range people {
		if c.ArchivedAt.IsZero() != away {
			continue
		}
		if c.MergedInto != "" {
			return Archived{}, fault.New(fault.Conflict, "%s was merged into %s: undo that merge to have both again", c.ID, c.MergedInto)
		}
		moved = append(moved, c)
		effects = append(effects, change.Touch{Kind: ObjectKind, ID: c.ID, Before: shelf{c.ArchivedAt}, After: shelf{at}})
	}
	out := Archived{Changed: len(moved), Unchanged: len(people) - len(moved)}
	if len(moved) == 0 {
		return out, nil
	}
	movedIDs := make([]string, len(moved))
	for i, c := range moved {
		movedIDs[i] = c.ID
	}
	if err := w.SetArchived(ctx, movedIDs, at); err != nil {
		return Archived{}, err
	}
	verb := "Brought back "
	if away {
		verb = "Archived "
	}
	out.ChangeID, err = w.Record(ctx, change.Draft{Summary: verb + namesOf(moved), Effects: effects})
	return out, err
}

// namesOf names people in a line: one, two, or the first and how many more.
func namesOf(people []Connection) string {
	switch len(people) {
	case 1:
		return people[0].Name
	case 2:
		return people[0].Name + " and " + people[1].Name
	default:
		return fmt.Sprintf("%s and %d others", people[0].Name, len(people)-1)
	}
}
