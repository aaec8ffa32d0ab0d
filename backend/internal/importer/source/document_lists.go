package source

import (
	"iter"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/kith-crm/kith/backend/internal/text"
)

// Bounds of what is in the lists of a document, as the contract has them.
const (
	mostOfNote        = 20
	mostOfInteraction = 50
	maxSummary        = 2000
	maxExternalKey    = 200
	maxMinutes        = 7 * 24 * 60
	maxReminder       = 500
	maxDescription    = 500
)

// Listed is an object in a list of our own file. The people that its record names by id
// are those whose Person has that Key.
type Listed[T any] struct {
	// Row is its ordinal, from 1.
	Row    int
	Record T
	// Err is a *fault.Error (Invalid) when the object cannot be imported; Record is
	// empty then.
	Err error
}

// The objects in the lists of our own file.
type (
	Note        = Listed[export.NoteRecord]
	Interaction = Listed[export.InteractionRecord]
	Reminder    = Listed[export.ReminderRecord]
	Group       = Listed[export.GroupRecord]
)

// Notes returns the notes of our own file; other files have none.
func (f *File) Notes() iter.Seq[Note] { return listed(f.lists().noteList, tidyNote) }

// Interactions returns the interactions of our own file; other files have none.
func (f *File) Interactions() iter.Seq[Interaction] {
	return listed(f.lists().interactionList, tidyInteraction)
}

// Reminders returns the reminders of our own file; other files have none.
func (f *File) Reminders() iter.Seq[Reminder] { return listed(f.lists().reminderList, tidyReminder) }

// Groups returns the groups of our own file, with what belongs to them besides people;
// other files have none.
func (f *File) Groups() iter.Seq[Group] { return listed(f.lists().groupList, tidyGroup) }

// lists returns the document that the file is, or an empty one.
func (f *File) lists() *document {
	if d, ok := f.reader.(*document); ok {
		return d
	}
	return &document{}
}

// listed decodes the objects of a list. tidy makes a record fit the bounds of the
// contract, or refuses it.
func listed[T any](list []byte, tidy func(*T) error) iter.Seq[Listed[T]] {
	return func(yield func(Listed[T]) bool) {
		row := 0
		for e := range elements(list) {
			row++
			item := Listed[T]{Row: row}
			_, err := e.decode(&item.Record)
			if err == nil {
				err = tidy(&item.Record)
			}
			if err != nil {
				item = Listed[T]{Row: row, Err: err}
			}
			if !yield(item) {
				return
			}
		}
	}
}

func tidyNote(n *export.NoteRecord) error {
	n.ID, n.ConnectionIDs = keyOf(n.ID), keys(n.ConnectionIDs)
	n.Body, _ = clean(n.Body, maxNote)
	switch {
	case !text.Visible(n.Body):
		return fault.New(fault.Invalid, "the note is empty")
	case len(n.ConnectionIDs) == 0 || len(n.ConnectionIDs) > mostOfNote:
		return fault.New(fault.Invalid, "the note is about %d people; it may be about 1 to %d", len(n.ConnectionIDs), mostOfNote)
	}
	return nil
}

func tidyInteraction(i *export.InteractionRecord) error {
	i.ID, i.ConnectionIDs = keyOf(i.ID), keys(i.ConnectionIDs)
	i.Summary, _ = clean(i.Summary, maxSummary)
	i.ExternalKey, _ = line(i.ExternalKey, maxExternalKey)
	kinds := []string{"meeting", "call", "email", "message", "event", "intro", "other"}
	switch {
	case !slices.Contains(kinds, i.Kind):
		return fault.New(fault.Invalid, "%q is no kind of interaction; use one of %s", shown(i.Kind), list(kinds))
	case i.OccurredAt.IsZero():
		return fault.New(fault.Invalid, "it is not known when the interaction took place")
	case len(i.ConnectionIDs) == 0 || len(i.ConnectionIDs) > mostOfInteraction:
		return fault.New(fault.Invalid, "%d people took part; there may be 1 to %d", len(i.ConnectionIDs), mostOfInteraction)
	case i.DurationMinutes < 0 || i.DurationMinutes > maxMinutes:
		return fault.New(fault.Invalid, "a duration of %d minutes is none", i.DurationMinutes)
	}
	return nil
}

func tidyReminder(r *export.ReminderRecord) error {
	r.ID, r.ConnectionID = keyOf(r.ID), keyOf(r.ConnectionID)
	r.Text, _ = line(r.Text, maxReminder)
	if r.StartsOn == "" {
		r.StartsOn = r.DueOn
	}
	recurrences := []string{reminders.RecursNever, reminders.RecursWeekly, reminders.RecursMonthly, reminders.RecursQuarterly, reminders.RecursYearly}
	states := []string{reminders.Open, reminders.Done, reminders.Dismissed}
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

func tidyGroup(g *export.GroupRecord) error {
	g.ID = keyOf(g.ID)
	g.Name, _ = line(g.Name, maxGroup)
	g.Description, _ = clean(g.Description, maxDescription)
	switch {
	case !text.Visible(g.Name):
		return fault.New(fault.Invalid, "the group has no name")
	case g.CadenceDays < 0 || g.CadenceDays > maxCadence:
		return fault.New(fault.Invalid, "an interval of %d days is none", g.CadenceDays)
	}
	return nil
}

// keys returns the ids that are keys, each once; one more than there may be shows that
// there are too many.
func keys(ids []string) []string {
	var out []string
	for _, id := range ids {
		if len(out) > mostOfInteraction {
			break
		}
		if key := keyOf(id); key != "" && !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	return out
}
