package page

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/kith-crm/kith/backend/internal/civil"
)

// Format formats days, times and numbers for a locale, and translates texts into its language. English locales spell out
// the month; all others write days in digits, in the order that is usual there.
type Format struct {
	// day and weekday are layouts of package time, clock that of a time of the day; group is
	// between groups of three digits.
	day, weekday, clock, group string
	// weekStart is the first day of the week.
	weekStart time.Weekday
	// words are the texts of the pages.
	words *words
}

const (
	// dayInWords and dayInUS are the layouts of English.
	dayInWords = "2 January 2006"
	dayInUS    = "January 2, 2006"
	isoDay     = time.DateOnly
	// monthOfYear is the layout of a month.
	monthOfYear = "January 2006"
	// space is between groups of digits: it does not break lines.
	space = "\u00a0"
)

// FormatOf returns the format of a canonical BCP 47 tag, such as de-DE.
func FormatOf(locale string) Format {
	f := shapeOf(locale)
	f.weekStart, f.words = weekStartOf(locale), wordsOf(locale)
	return f
}

// shapeOf returns the format without the first day of the week.
func shapeOf(locale string) Format {
	parts := strings.Split(locale, "-")
	language, region := parts[0], ""
	for _, part := range parts[1:] {
		if len(part) == 2 && region == "" {
			region = part
		}
	}
	if language == "en" || language == "" {
		if region == "US" || region == "PH" {
			return Format{day: dayInUS, weekday: "Monday, January 2", clock: "3:04 PM", group: ","}
		}
		return Format{day: dayInWords, weekday: "Monday, 2 January", clock: "15:04", group: ","}
	}
	day, group := digitsOf(language)
	switch language + "-" + region {
	case "fr-CA":
		day = isoDay
	case "de-CH", "de-LI":
		group = "’"
	case "es-MX":
		group = ","
	case "pt-PT":
		group = space
	}
	return Format{day: day, weekday: "Monday, " + day, clock: "15:04", group: group}
}

// digitsOf returns the layout of a day in a language other than English, and what is between
// groups of digits.
func digitsOf(language string) (day, group string) {
	switch language {
	case "de", "da", "tr", "ro", "sr", "sl", "hr", "az", "mk":
		return "02.01.2006", "."
	case "nb", "nn", "no", "fi", "pl", "cs", "sk", "ru", "uk", "bg", "et", "lv", "be":
		return "02.01.2006", space
	case "is", "he":
		return "02.01.2006", ","
	case "es", "it", "pt", "el", "ca", "gl", "id", "vi":
		return "02/01/2006", "."
	case "fr":
		return "02/01/2006", space
	case "ar", "hi", "th", "ms", "ga", "bn":
		return "02/01/2006", ","
	case "nl":
		return "02-01-2006", "."
	case "sv", "lt", "af":
		return isoDay, space
	case "ja", "zh":
		return "2006/01/02", ","
	case "ko":
		return "2006. 01. 02.", ","
	case "hu":
		return "2006. 01. 02.", space
	}
	return isoDay, ","
}

// The regions whose weeks do not begin on Monday, from the weekData of CLDR 48
// (common/supplemental/supplementalData.xml).
const (
	weekFromFriday   = "MV"
	weekFromSaturday = "AF BH DJ DZ EG IQ IR JO KW LY OM QA SD SY"
	weekFromSunday   = "AG AS BD BR BS BT BW BZ CA CO DM DO ET GT GU HK HN ID IL IN IS JM JP KE KH KR LA MH MM MO MT MX MZ " +
		"NI NP PA PE PH PK PR PT PY SA SG SV TH TT TW UM US VE VI WS YE ZA ZW"
)

// weekStartOf returns the first day of the week where a locale is used. A locale without a region
// counts as the region where most people write its language. But en alone counts as international
// English, as in the format of days.
func weekStartOf(locale string) time.Weekday {
	if locale == "" || locale == "en" {
		return time.Monday
	}
	tag, err := language.Parse(locale)
	if err != nil {
		return time.Monday
	}
	region, _ := tag.Region()
	switch in := region.String(); {
	case strings.Contains(weekFromFriday, in):
		return time.Friday
	case strings.Contains(weekFromSaturday, in):
		return time.Saturday
	case strings.Contains(weekFromSunday, in):
		return time.Sunday
	}
	return time.Monday
}

// WeekEnd returns the last day of the week that a day is in.
func (f Format) WeekEnd(day time.Time) time.Time {
	const week = 7
	past := (int(day.Weekday()) - int(f.weekStart) + week) % week
	return day.AddDate(0, 0, week-1-past)
}

// Day returns the day of a time in its zone.
func (f Format) Day(t time.Time) string { return t.Format(f.day) }

// PartialDay formats a date that may lack its year, or its month and day, as tools give it: 1975, 1975-11,
// 1975-11-26, --11-26 or "about 1950". Other texts it returns as they are.
func (f Format) PartialDay(date string) string {
	if t, err := time.Parse(time.DateOnly, date); err == nil {
		return f.Day(t)
	}
	if t, err := time.Parse("2006-01", date); err == nil {
		return f.Month(t)
	}
	if t, err := time.Parse("--01-02", date); err == nil {
		return t.Format(f.dayOfYear())
	}
	if year, ok := strings.CutPrefix(date, "about "); ok {
		return f.Text("about %s", year)
	}
	return date
}

// ReadPartialDay is the inverse of PartialDay: it returns the date of the contract for a text of this format, and false for another text.
func (f Format) ReadPartialDay(text string) (string, bool) {
	if f.words != nil {
		text = f.words.english.Replace(text)
	}
	// Without a year time.Parse takes the year 0, a leap year, so a 29 February is read as well.
	for _, form := range [][2]string{{f.day, time.DateOnly}, {monthOfYear, "2006-01"}, {f.dayOfYear(), "--01-02"}} {
		if t, err := time.Parse(form[0], text); err == nil {
			return t.Format(form[1]), true
		}
	}
	return "", false
}

// dayOfYear is the layout of a day without its year.
func (f Format) dayOfYear() string {
	return strings.TrimRight(strings.TrimLeft(strings.Replace(f.day, "2006", "", 1), " .,/-"), " ,/-")
}

// Month returns the month of a time in its zone, with the year.
func (f Format) Month(t time.Time) string { return f.date(t, monthOfYear) }

// Weekday returns the day of a time in its zone, with the day of the week.
func (f Format) Weekday(t time.Time) string { return f.date(t, f.weekday) }

// Clock returns the day and the time in the time's zone, with the zone. A zone without a name is
// shown as its offset from UTC.
func (f Format) Clock(t time.Time) string {
	zone, _ := t.Zone()
	if strings.HasPrefix(zone, "+") || strings.HasPrefix(zone, "-") {
		zone = "UTC" + zone
	}
	return t.Format(f.day+", "+f.clock+" ") + zone
}

// Number returns a number that is not negative, in groups of three digits. A number of four
// digits has groups, too.
func (f Format) Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	var out strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out.WriteString(f.group)
		}
		out.WriteRune(digit)
	}
	return out.String()
}

// Hour returns an hour of the day, from 0 to 23, as a time.
func (f Format) Hour(hour int) string {
	return time.Date(2000, 1, 1, hour, 0, 0, 0, time.UTC).Format(f.clock)
}

// And joins words to a list: "Heike, Ana and Kofi".
func (f Format) And(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " " + f.Text("and") + " " + words[last]
}

// imported says what became of the rows of a file: "13 people added, 1 skipped."
func (f Format) imported(added, changed, skipped, failed int) string {
	var parts []string
	for _, part := range []struct {
		n                  int
		one, many, further string
	}{
		{added, "%s person added", "%s people added", "%s added"}, {changed, "%s person changed", "%s people changed", "%s changed"},
		{skipped, "%s person skipped", "%s people skipped", "%s skipped"}, {failed, "%s person failed", "%s people failed", "%s failed"},
	} {
		form := part.further
		switch {
		case part.n == 0:
			continue
		case len(parts) == 0 && part.n == 1:
			form = part.one
		case len(parts) == 0:
			form = part.many
		}
		parts = append(parts, f.Text(form, f.Number(int64(part.n))))
	}
	if len(parts) == 0 {
		return f.Text("Nobody is in the file.")
	}
	return strings.Join(parts, ", ") + "."
}

// Later are the days to which something can be put off with one click.
func Later(today time.Time) []Option {
	const week, weeks, months = 7, 21, 3
	day := func(t time.Time) string { return t.Format(time.DateOnly) }
	return []Option{
		{Value: day(today.AddDate(0, 0, 1)), Label: "Tomorrow"}, {Value: day(today.AddDate(0, 0, week)), Label: "In a week"},
		{Value: day(today.AddDate(0, 0, weeks)), Label: "In 3 weeks"}, {Value: day(today.AddDate(0, months, 0)), Label: "In 3 months"},
	}
}

// Ago returns how far a day is from today, both in the same zone: "today", "yesterday", "3 weeks ago" or
// "in 2 months". Days of one week and months of 30 days are rounded down.
func (f Format) Ago(today, day time.Time) string {
	const week, month, year = 7, 30, 365
	days := civil.Between(civil.Of(day, day.Location()), civil.Of(today, today.Location()))
	switch days {
	case 0:
		return f.Text("today")
	case 1:
		return f.Text("yesterday")
	case -1:
		return f.Text("tomorrow")
	}
	n, unit := max(days, -days), "day"
	switch {
	case n >= year:
		n, unit = n/year, "year"
	case n >= 2*month:
		n, unit = n/month, "month"
	case n >= 2*week:
		n, unit = n/week, "week"
	}
	if n > 1 {
		unit += "s"
	}
	if days < 0 {
		return f.Text("in %d "+unit, n)
	}
	return f.Text("%d "+unit+" ago", n)
}

// Recent returns when something was done: the time of today, "yesterday" with the time, and how long ago
// for older times.
func (f Format) Recent(now, t time.Time) string {
	t = t.In(now.Location())
	today := civil.Of(now, now.Location())
	switch civil.Between(civil.Of(t, now.Location()), today) {
	case 0:
		return t.Format(f.clock)
	case 1:
		return f.Text("yesterday") + " " + t.Format(f.clock)
	}
	return f.Ago(now, t)
}
