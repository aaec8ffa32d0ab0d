package page

import (
	"strconv"
	"strings"
	"time"
)

// Format is how days, times and numbers look in a locale. The words of the pages are English:
// locales of English have months in words, all others have days in digits, in their order.
type Format struct {
	// day and weekday are layouts of package time, clock that of a time of the day; group is
	// between groups of three digits.
	day, weekday, clock, group string
}

const (
	// dayInWords and dayInUS are the layouts of English.
	dayInWords = "2 January 2006"
	dayInUS    = "January 2, 2006"
	isoDay     = time.DateOnly
	// space is between groups of digits: it does not break lines.
	space = "\u00a0"
)

// FormatOf returns the format of a canonical BCP 47 tag, such as de-DE.
func FormatOf(locale string) Format {
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

// Day returns the day of a time in its zone.
func (f Format) Day(t time.Time) string { return t.Format(f.day) }

// Weekday returns the day of a time in its zone, with the day of the week.
func (f Format) Weekday(t time.Time) string { return t.Format(f.weekday) }

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
