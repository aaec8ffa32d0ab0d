package sandbox

import (
	"fmt"
	"time"
)

const (
	birthdayCount    = 60
	anniversaryCount = 6
)

// addImportantDates adds birthdays and anniversaries. One birthday is on the day, one on 29
// February, four are in the next three weeks, three have no day and one of them no month
// either; four in ten have no year. No other birthday is on the day, unless it is 29 February.
func (b *builder) addImportantDates() {
	r := newRNG("important dates")
	about := sample(r, b.originals(), birthdayCount+anniversaryCount)
	for n, i := range about {
		ahead, age, yearUnknown := r.between(25, 363), r.between(23, 71), r.chance(40)
		kind := "birthday"
		if soon := []int{0, 0, 2, 5, 12, 20}; n < len(soon) {
			ahead = soon[n]
		}
		date := b.anniversary(ahead)
		year, month, day := b.cal.day.Year()-age, int(date.Month()), date.Day()
		switch {
		case n == 0: // today, with an age to congratulate on
			if month == 2 && day == 29 {
				year = leapYear(year)
			}
		case n == 1:
			year, month, day = leapYear(year), 2, 29
		case n >= 6 && n < 9:
			day = 0
		case n == 9:
			month, day = 0, 0
		case n >= birthdayCount:
			kind, year = "anniversary", b.cal.day.Year()-1-age%19
		case yearUnknown:
			year = 0
		}
		c := &b.data.Connections[i]
		c.ImportantDates = append(c.ImportantDates, ImportantDate{kind, partialDate(year, month, day)})
	}
}

// anniversary is the date so many days ahead. Unless it is the day itself, it is never 29
// February, which only one person has.
func (b *builder) anniversary(ahead int) time.Time {
	date := b.cal.at(-ahead, 0)
	if ahead > 0 && date.Month() == time.February && date.Day() == 29 {
		date = date.AddDate(0, 0, -1)
	}
	return date
}

// partialDate formats a date. An unknown year, day, or month and day is 0.
func partialDate(year, month, day int) string {
	switch {
	case year == 0:
		return fmt.Sprintf("--%02d-%02d", month, day)
	case month == 0:
		return fmt.Sprintf("%04d", year)
	case day == 0:
		return fmt.Sprintf("%04d-%02d", year, month)
	}
	return fmt.Sprintf("%04d-%02d-%02d", year, month, day)
}
