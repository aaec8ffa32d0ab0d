package insights

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/cadence"
)

const (
	maxDue       = 20
	maxReminders = 10
)

// due returns what the member should do: open reminders, dates within DueDays, and a
// keep-in-touch interval that has passed.
func (r MeetingRows) due(c *people.Connection, today time.Time, zone *time.Location) []Evidence {
	var out []Evidence
	reminders := slices.Clone(r.Reminders)
	slices.SortFunc(reminders, func(a, b Reminder) int {
		return cmp.Or(cmp.Compare(a.DueOn, b.DueOn), cmp.Compare(a.ID, b.ID))
	})
	for _, rem := range reminders {
		if rem.ConnectionID != c.ID || len(out) == maxReminders {
			continue
		}
		said := "Due " + rem.DueOn
		if rem.DueOn < today.Format(time.DateOnly) {
			said = "Overdue since " + rem.DueOn
		}
		out = append(out, line(said+": "+rem.Text, rem.ID))
	}
	out = append(out, datesWithin(c, today)...)
	out = append(out, r.cadence(c, today, zone)...)
	return out[:min(len(out), maxDue)]
}

// datesWithin returns the dates that recur within DueDays, soonest first.
func datesWithin(c *people.Connection, today time.Time) []Evidence {
	type coming struct {
		on   time.Time
		date people.ImportantDate
	}
	var soon []coming
	for _, d := range c.Dates {
		if on, known := d.Next(today); known && civil.Between(today, on) <= DueDays {
			soon = append(soon, coming{on, d})
		}
	}
	slices.SortStableFunc(soon, func(a, b coming) int { return a.on.Compare(b.on) })
	var out []Evidence
	for _, s := range soon {
		out = append(out, line(dateSentence(s.date, s.on), s.date.ID, c.ID))
	}
	return out
}

// dateSentence describes a date: "Birthday on 2026-12-01, turning 40".
func dateSentence(d people.ImportantDate, on time.Time) string {
	what := map[string]string{people.DateBirthday: "Birthday", people.DateAnniversary: "Anniversary"}[d.Kind]
	said := cmp.Or(what, d.Label, "Date") + " on " + on.Format(time.DateOnly)
	years := on.Year() - d.Year
	switch {
	case d.Year == 0 || years <= 0:
		return said
	case d.Kind == people.DateBirthday:
		return said + fmt.Sprintf(", turning %d", years)
	}
	return said + fmt.Sprintf(", %d years", years)
}

// cadence reports an interval that has passed: due at its end, overdue at one and a half
// intervals, and neither while the person is snoozed.
func (r MeetingRows) cadence(c *people.Connection, today time.Time, zone *time.Location) []Evidence {
	due, counts := c.Cadence().NextDue(zone)
	if !counts || due.After(today) || c.Cadence().Snoozed(today) {
		return nil
	}
	days, from := c.Cadence().Days()
	state := "Due"
	if c.Cadence().Overdue(today, zone) {
		state = "Overdue"
	}
	last := "no contact is recorded"
	if on, any := c.LastContact(zone); any {
		last = "the last was on " + on.Format(time.DateOnly)
	}
	group := ""
	for _, g := range r.Groups {
		if from == cadence.Group && g.ConnectionID == c.ID && g.CadenceDays == days {
			group = g.GroupID
		}
	}
	return []Evidence{line(fmt.Sprintf("%s for a contact since %s: wanted every %d days, %s", state, due.Format(time.DateOnly), days, last), c.ID, group)}
}

// ofPerson returns the memberships of one person.
func ofPerson(groups []Membership, id string) []Membership {
	return slices.DeleteFunc(slices.Clone(groups), func(g Membership) bool { return g.ConnectionID != id })
}
