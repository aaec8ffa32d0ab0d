package sandbox

import "time"

const (
	birthdayCount    = 60
	anniversaryCount = 6
)

// addImportantDates adds birthdays and anniversaries. Of the birthdays one is on the day,
// one on 29 February, four in the next three weeks, three lack the day and one the month
// too; four in ten lack the year. No other falls on the day, unless the day is 29 February.
func (b *builder) addImportantDates() {
	s := newStream("important dates")
	ids := newIDs("dat")
	about := sample(s, b.originals(), birthdayCount+anniversaryCount)
	for n, i := range about {
		ahead, age, yearUnknown := s.between(25, 363), s.between(23, 71), s.chance(40)
		d := ImportantDate{ID: ids.next(), ConnectionID: b.people[i].id, Kind: "birthday"}
		if soon := []int{0, 0, 2, 5, 12, 20}; n < len(soon) {
			ahead = soon[n]
		}
		date := b.anniversary(ahead)
		d.Year, d.Month, d.Day = b.cal.day.Year()-age, int(date.Month()), date.Day()
		switch {
		case n == 0: // today, with an age to congratulate on
			if d.Month == 2 && d.Day == 29 {
				d.Year = leapYear(d.Year)
			}
		case n == 1:
			d.Year, d.Month, d.Day = leapYear(d.Year), 2, 29
		case n >= 6 && n < 9:
			d.Day = 0
		case n == 9:
			d.Month, d.Day = 0, 0
		case n >= birthdayCount:
			d.Kind, d.Year = "anniversary", b.cal.day.Year()-1-age%19
		case yearUnknown:
			d.Year = 0
		}
		b.data.ImportantDates = append(b.data.ImportantDates, d)
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
