package reminders

import (
	"context"
	"fmt"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/history"
)

// Completion says which reminder ended, and how.
type Completion struct {
	ID string
	// Outcome is Done or Dismissed.
	Outcome string
	// DueOn is the reminder's day as it was read; empty when it is not known.
	DueOn string
	// Today is the member's, and Zone is theirs.
	Today time.Time
	Zone  *time.Location
}

// Completed is what Complete left on file.
type Completed struct {
	Reminder *Reminder
	// NextDue is the next day of one that recurs; empty for the others.
	NextDue string
	// ChangeID is empty when nothing was written.
	ChangeID string
}

// Complete ends a reminder. One that recurs and is done moves to its next day after
// today instead; dismissed, it does not come back.
// Doing it twice changes nothing more: what is over stays as it is, and one that
// recurs is not moved from another day than DueOn nor, without DueOn, twice on one
// day of the member's.
func Complete(ctx context.Context, w *db.Tx, c Completion) (Completed, error) {
	r, err := GetReminder(ctx, w, c.ID)
	if err != nil {
		return Completed{}, err
	}
	due, start, err := r.days()
	if err != nil {
		return Completed{}, err
	}
	again, err := c.again(r, due)
	if err != nil {
		return Completed{}, err
	}
	after := *r
	switch {
	case again:
		return Completed{Reminder: r, NextDue: r.nextDue()}, nil
	case c.moves(r):
		next, _ := Next(start, r.Recurrence, later(c.Today, due))
		after.DueOn = next.Format(time.DateOnly)
	default:
		after.State = c.Outcome
	}
	after.Version++
	after.UpdatedAt = w.Now()
	if err := ReplaceReminder(ctx, w, &after); err != nil {
		return Completed{}, err
	}
	changeID, err := history.Record(ctx, w, history.One(c.summary(&after), history.Reminder, r.ID, r, after))
	return Completed{Reminder: &after, NextDue: after.nextDue(), ChangeID: changeID}, err
}

// again tells whether the completion was made before. It fails with
// fault.Conflict when the reminder is not the one that was read.
func (c Completion) again(r *Reminder, due time.Time) (bool, error) {
	switch {
	case r.State != Open:
		return true, nil
	case c.DueOn != "" && c.DueOn == r.DueOn:
		return false, nil
	case c.DueOn != "":
		read, err := time.Parse(time.DateOnly, c.DueOn)
		if err != nil {
			return false, fault.InvalidField("due_on", "%q is no day of the calendar", c.DueOn)
		}
		if c.moves(r) && due.After(read) {
			return true, nil
		}
		return false, fault.New(fault.Conflict, "%s is due on %s, not on %s: read it again and decide anew", r.ID, r.DueOn, c.DueOn)
	default:
		// Update starts the periods anew, so that what it moved is not taken for completed.
		movedToday := r.Version > 1 && r.DueOn != r.StartsOn && civil.Of(r.UpdatedAt, c.Zone).Equal(c.Today)
		return c.moves(r) && movedToday && due.After(c.Today), nil
	}
}

// moves tells whether the completion takes the reminder to another day, and does
// not end it.
func (c Completion) moves(r *Reminder) bool { return r.Recurrence != RecursNever && c.Outcome == Done }

func (c Completion) summary(r *Reminder) string {
	verb := "Done: "
	if c.Outcome == Dismissed {
		verb = "Dismissed: "
	}
	return verb + r.Text
}

// nextDue is the day of a reminder that recurs and is open, else empty.
func (r *Reminder) nextDue() string {
	if r.Recurrence == RecursNever || r.State != Open {
		return ""
	}
	return r.DueOn
}

// days returns the days of a reminder that is on file.
func (r *Reminder) days() (due, start time.Time, err error) {
	if due, err = time.Parse(time.DateOnly, r.DueOn); err != nil {
		return due, start, fmt.Errorf("reminder %s: %w", r.ID, err)
	}
	if start, err = time.Parse(time.DateOnly, r.StartsOn); err != nil {
		return due, start, fmt.Errorf("reminder %s: %w", r.ID, err)
	}
	return due, start, nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
