package billing

import (
	"time"
)

// Month is a calendar month of UTC, for which an allowance is given.
type Month struct {
	// Period is YYYY-MM.
	Period string
	// ResetsAt is when the next month begins.
	ResetsAt time.Time
}

// MonthOf returns the month that a time is in.
func MonthOf(at time.Time) Month {
	at = at.UTC()
	return Month{
		Period:   at.Format("2006-01"),
		ResetsAt: time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, time.UTC),
	}
}
