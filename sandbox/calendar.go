package sandbox

import "time"

// precision says how much of a partial date is known.
type precision int

const (
	toYear precision = iota
	toMonth
	toDay
)

// calendar converts a number of days ago to a date. It is the only part that depends on the day.
type calendar struct{ day time.Time }

// newCalendar returns a calendar for the UTC day that contains the time.
func newCalendar(moment time.Time) calendar {
	y, m, d := moment.UTC().Date()
	return calendar{day: time.Date(y, m, d, 0, 0, 0, 0, time.UTC)}
}

// at returns the time the given number of minutes after midnight, on the date the given number of
// days before the day.
func (c calendar) at(daysAgo, minutes int) time.Time {
	return c.day.AddDate(0, 0, -daysAgo).Add(time.Duration(minutes) * time.Minute)
}

// date returns the full date, as YYYY-MM-DD. A negative number of days is in the future.
func (c calendar) date(daysAgo int) string { return c.partial(daysAgo, toDay) }

// partial returns the date as YYYY, YYYY-MM or YYYY-MM-DD.
func (c calendar) partial(daysAgo int, p precision) string {
	layout := "2006"
	switch p {
	case toMonth:
		layout = "2006-01"
	case toDay:
		layout = time.DateOnly
	}
	return c.at(daysAgo, 0).Format(layout)
}

// leapYear returns the latest leap year that is not after year.
func leapYear(year int) int {
	for year%4 != 0 || (year%100 == 0 && year%400 != 0) {
		year--
	}
	return year
}
