package calendar

import (
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/content"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/teambition/rrule-go"
)

// Entry is an event that lasts a day, on its own or again and again.
type Entry struct {
	// UID is the same whenever the entry is written.
	UID string
	// Day is the day of the entry, the first one if it recurs. Rule is its recurrence rule (RFC 5545, section 3.3.10); empty if it does not.
	Day  time.Time
	Rule string
	// Title is one line. URL is the address of a page about the entry; empty for none.
	Title, URL string
	// ChangedAt is when the entry last changed: programs show the version that changed last.
	ChangedAt time.Time
}

// Write returns a calendar with a name, for programs that subscribe to it. The zone is that of the member, for programs that ask: the
// entries are whole days, which have none. The same entries make the same bytes.
func Write(name, zone string, entries []Entry) []byte {
	var b strings.Builder
	writeHead(&b)
	writeWords(&b, "NAME", name)
	writeWords(&b, "X-WR-CALNAME", name)
	writeWords(&b, "X-WR-TIMEZONE", zone)
	writeLine(&b, "REFRESH-INTERVAL;VALUE=DURATION", "PT1H")
	writeLine(&b, "X-PUBLISHED-TTL", "PT1H")
	for _, e := range entries {
		e.write(&b)
	}
	content.WriteLine(&b, "END:VCALENDAR")
	return []byte(b.String())
}

// Text returns a calendar that has the entry alone, for programs that read each entry on its own.
func (e Entry) Text() string {
	var b strings.Builder
	writeHead(&b)
	e.write(&b)
	content.WriteLine(&b, "END:VCALENDAR")
	return b.String()
}

func writeLine(b *strings.Builder, property, value string) { content.WriteLine(b, property+":"+value) }

func writeWords(b *strings.Builder, property, value string) {
	writeLine(b, property, content.Escape(text.Line(value)))
}

func writeHead(b *strings.Builder) {
	content.WriteLine(b, "BEGIN:VCALENDAR")
	writeLine(b, "VERSION", "2.0")
	writeLine(b, "PRODID", "-//Kith//Kith//EN")
	writeLine(b, "CALSCALE", "GREGORIAN")
}

func (e Entry) write(b *strings.Builder) {
	changed := e.ChangedAt.UTC().Format("20060102T150405Z")
	content.WriteLine(b, "BEGIN:VEVENT")
	writeWords(b, "UID", e.UID)
	writeLine(b, "DTSTAMP", changed)
	writeLine(b, "LAST-MODIFIED", changed)
	writeLine(b, "SEQUENCE", strconv.FormatInt(max(0, e.ChangedAt.Unix()-firstSecond), 10))
	writeLine(b, "DTSTART;VALUE=DATE", e.Day.Format(dayForm))
	writeLine(b, "DTEND;VALUE=DATE", e.Day.AddDate(0, 0, 1).Format(dayForm))
	if e.Rule != "" {
		writeLine(b, "RRULE", e.Rule)
	}
	writeWords(b, "SUMMARY", e.Title)
	if e.URL != "" {
		writeLine(b, "URL", e.URL)
	}
	writeLine(b, "TRANSP", "TRANSPARENT") // the day is not taken
	content.WriteLine(b, "END:VEVENT")
}

// Within reports whether a day of the entry overlaps the time from one moment until another, which are in UTC, as the days are. A zero moment
// is no bound.
func (e Entry) Within(from, until time.Time) bool {
	first := time.Date(e.Day.Year(), e.Day.Month(), e.Day.Day(), 0, 0, 0, 0, time.UTC)
	if !until.IsZero() && !first.Before(until) {
		return false
	}
	if first.Add(day).After(from) {
		return true
	}
	option, err := rrule.StrToROption(e.Rule)
	if err != nil {
		return false
	}
	option.Dtstart = later(first, option, from.Add(-day))
	if years := from.Year() - 1 - first.Year(); option.Freq == rrule.YEARLY && option.Interval < 2 && option.Count == 0 && years > 0 {
		option.Dtstart = first.AddDate(years, 0, 0)
	}
	rule, err := rrule.NewRRule(*option)
	if err != nil {
		return false
	}
	next := rule.After(from.Add(-day), false)
	return !next.IsZero() && (until.IsZero() || next.Before(until))
}

// firstSecond is from when the number of a version counts, so that it has 32 bits until 2093.
const firstSecond = 1_735_689_600 // 1 January 2025
