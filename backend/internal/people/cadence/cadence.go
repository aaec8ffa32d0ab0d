// Package cadence says when a member should be in touch with a person again.
package cadence

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
)

// Where a keep-in-touch interval comes from.
const (
	Own   = "own"
	Group = "group"
	None  = "none"
)

// Never is the own interval of a person of whom the member never wants to be reminded, whatever the
// intervals of their groups.
const Never = -1

// Cadence is the stored data about keeping in touch with a person.
type Cadence struct {
	// OwnDays is the person's own interval, GroupDays the shortest interval of their
	// groups; 0 means none. OwnDays may be Never.
	OwnDays, GroupDays int
	// SnoozedUntil is a day, the same in every time zone; zero means not snoozed.
	SnoozedUntil time.Time
	// LastContactAt is zero when there was none, CreatedAt is when the person was added.
	LastContactAt, CreatedAt time.Time
}

// Days returns the interval that applies, and where it comes from: the person's own
// interval, otherwise that of a group.
func (c Cadence) Days() (days int, from string) {
	switch {
	case c.OwnDays > 0:
		return c.OwnDays, Own
	case c.OwnDays != Never && c.GroupDays > 0:
		return c.GroupDays, Group
	default:
		return 0, None
	}
}

// countedFrom is the day on which the interval begins: the day of the last contact, or the
// day on which the person was added.
func (c Cadence) countedFrom(zone *time.Location) time.Time {
	if c.LastContactAt.IsZero() {
		return civil.Of(c.CreatedAt, zone)
	}
	return civil.Of(c.LastContactAt, zone)
}

// NextDue returns the day on which the person is due for a contact, in a time zone, and
// false when no interval applies. A snooze that ends later postpones the day.
func (c Cadence) NextDue(zone *time.Location) (time.Time, bool) {
	days, _ := c.Days()
	if days == 0 {
		return time.Time{}, false
	}
	due := c.countedFrom(zone).AddDate(0, 0, days)
	if c.SnoozedUntil.After(due) {
		due = civil.Of(c.SnoozedUntil, time.UTC)
	}
	return due, true
}

// OverdueOn returns the first day after one and a half intervals, in a time zone, and false
// when no interval applies.
func (c Cadence) OverdueOn(zone *time.Location) (time.Time, bool) {
	days, _ := c.Days()
	return c.countedFrom(zone).AddDate(0, 0, 3*days/2+1), days > 0
}

// Overdue reports whether one and a half intervals have passed on a day.
func (c Cadence) Overdue(today time.Time, zone *time.Location) bool {
	first, ok := c.OverdueOn(zone)
	return ok && !today.Before(first)
}

// Snoozed reports whether the person is snoozed on a day.
func (c Cadence) Snoozed(today time.Time) bool { return c.SnoozedUntil.After(today) }
