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

// Completion says which reminder to end, and how.
type Completion struct {
	ID string
	// Outcome is Done or Dismissed.
	Outcome string
	// DueOn is the reminder's day as the caller read it; empty when unknown.
	DueOn string
	// Today is the current day for the member, in the time zone Zone.
	Today time.Time
	Zone  *time.Location
}

// Completed is the result of Complete.
type Completed struct {
	Reminder *Reminder
	// NextDue is the next day of a recurring reminder; empty for others.
	NextDue string
	// ChangeID is empty when nothing was written.
	ChangeID string
}

// Complete ends a reminder. A recurring reminder that is done moves to its next day after
// today instead; a recurring reminder that is dismissed ends.
//
// Repeating the call changes nothing more: a reminder that has ended in the same way stays
// unchanged, and one that has ended in the other way is fault.Conflict. A
// recurring one moves only from the day DueOn or, without DueOn, only once on one day of
// the member.
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

// again reports whether the completion was made before. It fails with fault.Conflict when
// the reminder has changed since the caller read it.
func (c Completion) again(r *Reminder, due time.Time) (bool, error) {
	switch {
	case r.State != Open && r.State != c.Outcome:
		return false, fault.New(fault.Conflict, "%s is %s, so it cannot be %s: undo that first, or create another", r.ID, r.State, c.Outcome)
	case r.State != Open:
		return true, nil
	case c.DueOn != "" && c.DueOn == r.DueOn:
		return false, nil
	case c.DueOn != "":
		read, err := time.Parse(time.DateOnly, c.DueOn)
		if err != nil {
			return false, fault.InvalidField("due_on", "%s", civil.NoDay(c.DueOn))
		}
		if c.moves(r) && due.After(read) {
			return true, nil
		}
		return false, fault.New(fault.Conflict, "%s is due on %s, not on %s: read it again before you change it", r.ID, r.DueOn, c.DueOn)
	default:
		// Update restarts the periods, so that a moved reminder does not look completed.
		movedToday := r.Version > 1 && r.DueOn != r.StartsOn && civil.Of(r.UpdatedAt, c.Zone).Equal(c.Today)
		return c.moves(r) && movedToday && due.After(c.Today), nil
	}
}

// moves reports whether the completion moves the reminder to another day instead of ending
// it.
func (c Completion) moves(r *Reminder) bool { return r.Recurrence != RecursNever && c.Outcome == Done }

func (c Completion) summary(r *Reminder) string {
	verb := "Done: "
	if c.Outcome == Dismissed {
		verb = "Dismissed: "
	}
	return verb + r.Text
}

// nextDue returns the day of an open recurring reminder, and empty for others.
func (r *Reminder) nextDue() string {
	if r.Recurrence == RecursNever || r.State != Open {
		return ""
	}
	return r.DueOn
}

// days parses the days of a stored reminder.
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
