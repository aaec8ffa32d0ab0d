package calendar

import (
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/content"
	"github.com/kith-crm/kith/backend/internal/text"
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
	line := func(property, value string) { content.WriteLine(&b, property+":"+value) }
	words := func(property, value string) { line(property, content.Escape(text.Line(value))) }
	content.WriteLine(&b, "BEGIN:VCALENDAR")
	line("VERSION", "2.0")
	line("PRODID", "-//Kith//Kith//EN")
	line("CALSCALE", "GREGORIAN")
	words("NAME", name)
	words("X-WR-CALNAME", name)
	words("X-WR-TIMEZONE", zone)
	line("REFRESH-INTERVAL;VALUE=DURATION", "PT1H")
	line("X-PUBLISHED-TTL", "PT1H")
	for _, e := range entries {
		changed := e.ChangedAt.UTC().Format("20060102T150405Z")
		content.WriteLine(&b, "BEGIN:VEVENT")
		words("UID", e.UID)
		line("DTSTAMP", changed)
		line("LAST-MODIFIED", changed)
		line("SEQUENCE", strconv.FormatInt(max(0, e.ChangedAt.Unix()-firstSecond), 10))
		line("DTSTART;VALUE=DATE", e.Day.Format(dayForm))
		line("DTEND;VALUE=DATE", e.Day.AddDate(0, 0, 1).Format(dayForm))
		if e.Rule != "" {
			line("RRULE", e.Rule)
		}
		words("SUMMARY", e.Title)
		if e.URL != "" {
			line("URL", e.URL)
		}
		line("TRANSP", "TRANSPARENT") // the day is not taken
		line("END", "VEVENT")
	}
	line("END", "VCALENDAR")
	return []byte(b.String())
}

// firstSecond is from when the number of a version counts, so that it has 32 bits until 2093.
const firstSecond = 1_735_689_600 // 1 January 2025
