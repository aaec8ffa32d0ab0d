package source

import (
	"iter"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/cardfile"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/reminder"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Bounds of reminders and groups, as the contract has them.
const (
	maxReminder    = 500
	maxDescription = 500
)

// Reminders returns the reminders of a document of ours; other files have none.
func (f *File) Reminders() iter.Seq[Reminder] {
	if d, ok := f.reader.(*document); ok {
		return d.reminders
	}
	return func(func(Reminder) bool) {}
}

// Groups returns the groups of a document of ours, with what belongs to them besides
// people; other files have none.
func (f *File) Groups() iter.Seq[Group] {
	if d, ok := f.reader.(*document); ok {
		return d.groups
	}
	return func(func(Group) bool) {}
}

// reminders calls yield with each reminder.
func (d *document) reminders(yield func(Reminder) bool) {
	row := 0
	for e := range elements(d.reminderList) {
		row++
		var rec cardfile.ReminderRecord
		_, err := e.decode(&rec)
		r := Reminder{
			Row: row, Key: keyOf(rec.ID), PersonKey: keyOf(rec.ConnectionID), DueOn: rec.DueOn, StartsOn: rec.StartsOn, Recurrence: rec.Recurrence,
			State: rec.State, CreatedAt: rec.CreatedAt, UpdatedAt: rec.UpdatedAt,
		}
		r.Text, _ = line(rec.Text, maxReminder)
		if r.StartsOn == "" {
			r.StartsOn = r.DueOn
		}
		if err == nil {
			err = r.check()
		}
		if err != nil {
			r = Reminder{Row: row, Err: err}
		}
		if !yield(r) {
			return
		}
	}
}

// check refuses what the contract would.
func (r Reminder) check() error {
	recurrences := []string{reminder.RecursNever, reminder.RecursWeekly, reminder.RecursMonthly, reminder.RecursQuarterly, reminder.RecursYearly}
	states := []string{reminder.Open, reminder.Done, reminder.Dismissed}
	switch {
	case !text.Visible(r.Text):
		return fault.New(fault.Invalid, "the reminder is empty")
	case !slices.Contains(recurrences, r.Recurrence):
		return fault.New(fault.Invalid, "%q is no recurrence; use one of %s", shown(r.Recurrence), list(recurrences))
	case !slices.Contains(states, r.State):
		return fault.New(fault.Invalid, "%q is no state of a reminder; use one of %s", shown(r.State), list(states))
	}
	for _, day := range []string{r.DueOn, r.StartsOn} {
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			return fault.New(fault.Invalid, "%q is no day of the calendar", shown(day))
		}
	}
	return nil
}

// groups calls yield with each group.
func (d *document) groups(yield func(Group) bool) {
	row := 0
	for e := range elements(d.groupList) {
		row++
		var rec cardfile.GroupRecord
		_, err := e.decode(&rec)
		g := Group{Row: row, Key: keyOf(rec.ID), CadenceDays: rec.CadenceDays}
		g.Name, _ = line(rec.Name, maxGroup)
		g.Description, _ = clean(rec.Description, maxDescription)
		switch {
		case err != nil:
		case !text.Visible(g.Name):
			err = fault.New(fault.Invalid, "the group has no name")
		case g.CadenceDays < 0 || g.CadenceDays > maxCadence:
			err = fault.New(fault.Invalid, "an interval of %d days is none", g.CadenceDays)
		}
		if err != nil {
			g = Group{Row: row, Err: err}
		}
		if !yield(g) {
			return
		}
	}
}
