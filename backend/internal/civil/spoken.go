package civil

import (
	"strconv"
	"strings"
	"time"
)

// SpokenDay reads a day in English or German words: "today", "yesterday", "Friday", "next Friday", "last Friday", "in 3 weeks",
// "2 months ago", "heute", "nächsten Freitag", "in 3 Wochen" or "vor 2 Monaten". A weekday alone is the next one, today
// left out. It reports whether the words are a day.
func SpokenDay(words string, today time.Time) (time.Time, bool) {
	fields := strings.Fields(strings.ToLower(strings.Trim(words, " .,!")))
	if len(fields) > 1 && (fields[0] == "on" || fields[0] == "am") {
		fields = fields[1:]
	}
	switch len(fields) {
	case 1:
		if days, ok := nearDays[fields[0]]; ok {
			return today.AddDate(0, 0, days), true
		}
		if weekday, ok := weekdays[fields[0]]; ok {
			return nextWeekday(today, weekday), true
		}
	case 2:
		weekday, ok := weekdays[fields[1]]
		direction, known := directions[fields[0]]
		switch {
		case !ok || !known:
		case direction < 0:
			return nextWeekday(today.AddDate(0, 0, -daysOfWeek-1), weekday), true
		default:
			return nextWeekday(today, weekday), true
		}
	case 3:
		switch {
		case fields[0] == "in":
			return moved(today, fields[1], fields[2], 1)
		case fields[2] == "ago":
			return moved(today, fields[0], fields[1], -1)
		case fields[0] == "vor":
			return moved(today, fields[1], fields[2], -1)
		}
	}
	return time.Time{}, false
}

const daysOfWeek = 7

// nextWeekday returns the first such weekday after a day.
func nextWeekday(after time.Time, weekday time.Weekday) time.Time {
	days := (int(weekday-after.Weekday())+daysOfWeek-1)%daysOfWeek + 1
	return after.AddDate(0, 0, days)
}

// moved returns the day that is so many units from another one.
func moved(from time.Time, count, unit string, sign int) (time.Time, bool) {
	const most = 1200
	n, ok := counts[count]
	if !ok {
		var err error
		if n, err = strconv.Atoi(count); err != nil || n < 0 || n > most {
			return time.Time{}, false
		}
	}
	move, ok := units[unit]
	if !ok {
		return time.Time{}, false
	}
	n *= sign
	return from.AddDate(n*move[0], n*move[1], n*move[2]), true
}

var (
	nearDays = map[string]int{
		"today": 0, "tomorrow": 1, "yesterday": -1, "heute": 0, "morgen": 1, "übermorgen": 2, "gestern": -1, "vorgestern": -2,
	}
	weekdays = map[string]time.Weekday{
		"monday": time.Monday, "tuesday": time.Tuesday, "wednesday": time.Wednesday, "thursday": time.Thursday, "friday": time.Friday, "saturday": time.Saturday, "sunday": time.Sunday,
		"montag": time.Monday, "dienstag": time.Tuesday, "mittwoch": time.Wednesday, "donnerstag": time.Thursday, "freitag": time.Friday, "samstag": time.Saturday, "sonnabend": time.Saturday, "sonntag": time.Sunday,
	}
	directions = map[string]int{
		"next": 1, "this": 1, "last": -1, "nächsten": 1, "nächster": 1, "kommenden": 1, "diesen": 1, "letzten": -1, "letzter": -1, "vergangenen": -1,
	}
	counts = map[string]int{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "six": 6, "einem": 1, "einer": 1, "zwei": 2, "drei": 3, "vier": 4, "sechs": 6}
	// units are years, months and days.
	units = map[string][3]int{
		"day": {0, 0, 1}, "days": {0, 0, 1}, "week": {0, 0, 7}, "weeks": {0, 0, 7}, "month": {0, 1, 0}, "months": {0, 1, 0}, "year": {1, 0, 0}, "years": {1, 0, 0},
		"tag": {0, 0, 1}, "tagen": {0, 0, 1}, "woche": {0, 0, 7}, "wochen": {0, 0, 7}, "monat": {0, 1, 0}, "monaten": {0, 1, 0}, "jahr": {1, 0, 0}, "jahren": {1, 0, 0},
	}
)
