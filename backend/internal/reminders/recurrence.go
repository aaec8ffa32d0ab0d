package reminders

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
)

// How often a reminder recurs.
const (
	RecursNever     = "none"
	RecursWeekly    = "weekly"
	RecursMonthly   = "monthly"
	RecursQuarterly = "quarterly"
	RecursYearly    = "yearly"
)

// Next returns the first day after a given day that is a whole number of periods from
// start. In a month without the day of start, it is the last day. Next returns false for a
// reminder that does not recur.
func Next(start time.Time, recurrence string, after time.Time) (time.Time, bool) {
	months := 0
	switch recurrence {
	case RecursWeekly:
		const week = 7
		periods := max(0, civil.Between(start, after)/week+1)
		if after.Before(start) {
			periods = 0
		}
		return start.AddDate(0, 0, week*periods), true
	case RecursMonthly:
		months = 1
	case RecursQuarterly:
		months = 3
	case RecursYearly:
		months = 12
	default:
		return time.Time{}, false
	}
	// The search begins with the period that contains after, or the one before it.
	passed := (after.Year()-start.Year())*12 + int(after.Month()-start.Month())
	for n := max(0, passed/months-1); ; n++ {
		next := civil.Clamped(start.Year(), start.Month()+time.Month(n*months), start.Day())
		if next.After(after) {
			return next, true
		}
	}
}
