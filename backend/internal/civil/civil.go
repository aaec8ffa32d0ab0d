// Package civil turns moments into calendar days as a member sees them. A day is stored
// as midnight UTC, no matter in which time zone it was; the time of day and the zone's
// offset are not stored.
package civil

import (
	"cmp"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata"
)

// Of returns the calendar day of a moment in a zone.
func Of(t time.Time, zone *time.Location) time.Time {
	year, month, day := t.In(zone).Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// Zone returns the zone with an IANA name, or UTC when there is none.
func Zone(name string) *time.Location {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location)
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return time.UTC
	}
	if path.Clean(name) == name {
		zones.Store(name, zone)
	}
	return zone
}

// zones are the zones that were loaded, by name: loading one reads a file. Only zones that
// exist are kept, each under one spelling, so their number is bounded.
var zones sync.Map

// Start returns the first second of a day in a zone, also where the zone skips or
// repeats midnight. A day that the zone skips starts when the next one does.
func Start(day time.Time, zone *time.Location) time.Time { return At(day, 0, zone) }

// At returns the first second of a day at which the clocks of a zone show an hour, from 0 to 23, or a later time: an
// hour that the zone skips begins when the next one does, and of one that it repeats the first counts.
func At(day time.Time, hour int, zone *time.Location) time.Time {
	const before, span = 24 * time.Hour, 72 * time.Hour // no zone is a day ahead or behind
	wanted := day.Add(time.Duration(hour) * time.Hour)
	earliest := wanted.Add(-before)
	seconds := sort.Search(int(span/time.Second), func(n int) bool {
		_, offset := earliest.Add(time.Duration(n) * time.Second).In(zone).Zone()
		return !earliest.Add(time.Duration(n+offset) * time.Second).Before(wanted)
	})
	return earliest.Add(time.Duration(seconds) * time.Second)
}

// Noon returns 12:00 of a day in a zone.
func Noon(day time.Time, zone *time.Location) time.Time {
	year, month, date := day.Date()
	return time.Date(year, month, date, 12, 0, 0, 0, zone).UTC()
}

// Local returns when something happened, in local time: given, if the caller gave a day
// (YYYY-MM-DD, without a time) or a time with an offset (RFC 3339), else at in the member's zone. Its
// first ten characters are the day.
func Local(at time.Time, given string, zone *time.Location) string {
	if given != "" {
		return given
	}
	return at.In(zone).Format(time.RFC3339)
}

// OnOrAt returns the text of Local as the fields of a message: on is a day, at a time, whose seconds are
// left out if they are zero. One of the two is empty.
func OnOrAt(moment time.Time, given string, zone *time.Location) (on, at string) {
	const minutes = len("2006-01-02T15:04")
	text := Local(moment, given, zone)
	if len(text) == len(time.DateOnly) {
		return text, ""
	}
	return "", text[:minutes] + strings.TrimPrefix(text[minutes:], ":00")
}

// ParseLocal parses a text of Local. The day of the result is the text's: a time keeps its
// offset, and a day is its noon in the zone.
func ParseLocal(text string, zone *time.Location) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return Noon(day, zone).In(zone), nil
	}
	return time.Parse(time.RFC3339, text)
}

// ParseTime parses a time of the day with or without seconds, and with or without an offset: then it
// is a time in the zone.
func ParseTime(text string, zone *time.Location) (t time.Time, err error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err = time.ParseInLocation(layout, text, zone); err == nil {
			break
		}
	}
	return t, err
}

// LocalDay returns the day of Local.
func LocalDay(at time.Time, given string, zone *time.Location) string {
	return Local(at, given, zone)[:len(time.DateOnly)]
}

// NoDay says why a text is no day although it has the form of one (YYYY-MM-DD, --MM-DD or
// MM-DD): its month has fewer days.
func NoDay(value string) string {
	year, month := "", value
	if len(value) == len(time.DateOnly) {
		year, month = value[:len("2006")], value[len("2006-"):]
	}
	month = strings.TrimPrefix(month, "--")
	text := strconv.Quote(value) + " is no day of the calendar"
	switch first, err := time.Parse("2006-01-02", cmp.Or(year, "2000")+"-"+month[:min(len(month), len("01"))]+"-01"); {
	case err != nil:
		return text
	case year == "":
		return fmt.Sprintf("%s: %s has at most %d days", text, first.Month(), first.AddDate(0, 1, -1).Day())
	default:
		return fmt.Sprintf("%s: %s has %d days", text, first.Format("January 2006"), first.AddDate(0, 1, -1).Day())
	}
}

// Between returns how many days b comes after a; below 0 when it comes before.
func Between(a, b time.Time) int { return int(b.Sub(a) / (24 * time.Hour)) }

// Clamped returns the day of a month, or the month's last day when it has no
// such day. Months beyond 12 are those of the years after.
func Clamped(year int, month time.Month, day int) time.Time {
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(0, 0, min(day, first.AddDate(0, 1, -1).Day())-1)
}

//go:embed zones.txt
var zoneLines string

// ZoneNames returns the names of all time zones of IANA, former names too, in the order of their
// bytes. They come from the time zone database in the binary, so all of them can be loaded on every
// machine. Other names that a machine may know, such as "Local", are not in the list. Callers must
// not change the slice.
var ZoneNames = sync.OnceValue(func() []string { return strings.Fields(zoneLines) })

// countryLines have for each country its ISO 3166 code and its time zones, from zone.tab of the tz database.
//
//go:embed countries.txt
var countryLines string

// Country returns the ISO 3166 code of the country of a time zone; "" for a zone of no country, such as UTC.
func Country(zone string) string {
	for line := range strings.Lines(countryLines) {
		if zones := strings.Fields(line); slices.Contains(zones[1:], zone) {
			return zones[0]
		}
	}
	return ""
}

// FindZone returns the name in ZoneNames that equals text, ignoring case. It reports false if there
// is none.
func FindZone(text string) (name string, ok bool) {
	names := ZoneNames()
	i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, text) })
	if i < 0 {
		return "", false
	}
	return names[i], true
}
