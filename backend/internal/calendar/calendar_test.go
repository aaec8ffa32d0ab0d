package calendar_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/calendar"
	"github.com/kith-crm/kith/backend/internal/fault"
)

// feed returns a calendar of events, each of which is the lines within its VEVENT.
func feed(events ...string) []byte {
	var b strings.Builder
	b.WriteString("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nX-WR-CALNAME:Work\r\n")
	for _, e := range events {
		b.WriteString("BEGIN:VEVENT\r\n" + strings.ReplaceAll(strings.TrimSpace(e), "\n", "\r\n") + "\r\nEND:VEVENT\r\n")
	}
	return []byte(b.String() + "END:VCALENDAR\r\n")
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// read reads a feed of November 2026 for a member in Berlin.
func read(t *testing.T, text []byte) *calendar.Calendar {
	t.Helper()
	c, err := calendar.Read(text, calendar.Options{
		From: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
		Zone: zone(t, "Europe/Berlin"), Own: []string{"ada@kith.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// starts returns the starts of the meetings that take place, in UTC.
func starts(c *calendar.Calendar) (out []string) {
	for _, m := range c.Meetings {
		if !m.Cancelled {
			out = append(out, m.Start.UTC().Format("02 15:04"))
		}
	}
	return out
}

func TestOneMeeting(t *testing.T) {
	t.Parallel()
	c := read(t, feed(`UID:one@example
SUMMARY:Lunch\, with a very long
  title
DTSTART;TZID=America/New_York:20261110T120000
DTEND;TZID=America/New_York:20261110T131500
ORGANIZER;CN=Ada:mailto:ada@kith.example
ATTENDEE;CN="Holm, Vera";PARTSTAT=ACCEPTED:MAILTO:Vera@Example.com
ATTENDEE;CN=vera@example.com:mailto:vera@example.com
ATTENDEE;CUTYPE=ROOM;CN=Room 4:mailto:room4@example.com
ATTENDEE;PARTSTAT=DECLINED:mailto:ove@example.com
ATTENDEE;CN=Kofi;EMAIL=kofi@example.com:urn:uuid:3d3f
ATTENDEE;CN=Team:mailto:c_123@group.calendar.google.com`))
	if len(c.Meetings) != 1 || c.Name != "Work" || c.Events != 1 || len(c.Warnings) > 0 {
		t.Fatalf("%+v", c)
	}
	m := c.Meetings[0]
	if m.Title != "Lunch, with a very long title" || !m.Start.Equal(time.Date(2026, 11, 10, 17, 0, 0, 0, time.UTC)) || m.End.Sub(m.Start) != 75*time.Minute || m.Key != "one@example" {
		t.Errorf("%+v", m)
	}
	if want := []calendar.Person{{Email: "vera@example.com", Name: "Holm, Vera"}, {Email: "kofi@example.com", Name: "Kofi"}}; !slices.Equal(m.People, want) {
		t.Errorf("people are %v", m.People)
	}
}

// TestOccurrences has what calendars do with events that repeat. All are in Berlin, which is an hour ahead of UTC in November.
func TestOccurrences(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		events []string
		want   string
	}{
		"weekly, since years":              {[]string{"UID:a\nDTSTART:20200106T090000\nDURATION:PT30M\nRRULE:FREQ=WEEKLY"}, "02 08:00, 09 08:00, 16 08:00, 23 08:00, 30 08:00"},
		"the clock stays over summer time": {[]string{"UID:a\nDTSTART:20260706T090000\nDURATION:PT30M\nRRULE:FREQ=WEEKLY;INTERVAL=2"}, "09 08:00, 23 08:00"},
		"until a day, all of it":           {[]string{"UID:a\nDTSTART:20261101T200000\nRRULE:FREQ=DAILY;UNTIL=20261103"}, "01 19:00, 02 19:00, 03 19:00"},
		"until a time":                     {[]string{"UID:a\nDTSTART:20261101T200000\nRRULE:FREQ=DAILY;UNTIL=20261103T190000Z"}, "01 19:00, 02 19:00, 03 19:00"},
		"count":                            {[]string{"UID:a\nDTSTART:20261101T200000\nRRULE:FREQ=DAILY;COUNT=2"}, "01 19:00, 02 19:00"},
		"the last Friday":                  {[]string{"UID:a\nDTSTART:20200131T100000\nRRULE:FREQ=MONTHLY;BYDAY=-1FR"}, "27 09:00"},
		"a list of exceptions":             {[]string{"UID:a\nDTSTART:20261101T200000\nRRULE:FREQ=DAILY;COUNT=5\nEXDATE:20261102T200000,20261103T190000Z\nEXDATE;VALUE=DATE:20261104"}, "01 19:00, 05 19:00"},
		"further times":                    {[]string{"UID:a\nDTSTART:20261101T200000\nRDATE:20261105T200000,20261107T100000/PT1H"}, "01 19:00, 05 19:00, 07 09:00"},
		"one was moved":                    {[]string{"UID:a\nDTSTART:20261101T200000\nRRULE:FREQ=DAILY;COUNT=3", "UID:a\nRECURRENCE-ID:20261102T200000\nDTSTART:20261109T100000"}, "01 19:00, 03 19:00, 09 09:00"},
		"one was moved, first in the feed": {[]string{"UID:a\nRECURRENCE-ID:20261102T200000\nDTSTART:20261109T100000", "UID:a\nDTSTART:20261101T200000\nRRULE:FREQ=DAILY;COUNT=3"}, "01 19:00, 03 19:00, 09 09:00"},
		"one was cancelled":                {[]string{"UID:a\nDTSTART:20261101T200000\nRRULE:FREQ=DAILY;COUNT=3", "UID:a\nRECURRENCE-ID:20261102T200000\nDTSTART:20261102T200000\nSTATUS:CANCELLED"}, "01 19:00, 03 19:00"},
		"a moved one without its series":   {[]string{"UID:a\nRECURRENCE-ID:20261102T200000\nDTSTART:20261109T100000"}, "09 09:00"},
		"all were cancelled":               {[]string{"UID:a\nDTSTART:20261101T200000\nRRULE:FREQ=DAILY;COUNT=3\nSTATUS:CANCELLED"}, ""},
		"declined by the member":           {[]string{"UID:a\nDTSTART:20261101T200000\nATTENDEE;PARTSTAT=DECLINED:mailto:Ada@kith.example"}, ""},
		"begins before the span":           {[]string{"UID:a\nDTSTART:20261031T230000\nDTEND:20261101T030000"}, "31 22:00"},
		"31 February":                      {[]string{"UID:a\nDTSTART:20261101T200000\nRRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=31"}, "01 19:00"},
		"yearly on 29 February":            {[]string{"UID:a\nDTSTART:20200229T100000\nRRULE:FREQ=YEARLY"}, ""},
		"an all-day event":                 {[]string{"UID:a\nDTSTART;VALUE=DATE:20261110\nDTEND;VALUE=DATE:20261112"}, "09 23:00"},
		"a zone of Windows":                {[]string{"UID:a\nDTSTART;TZID=Pacific Standard Time:20261110T080000"}, "10 16:00"},
		"in UTC":                           {[]string{"UID:a\nDTSTART:20261110T080000Z"}, "10 08:00"},
		"a negative duration":              {[]string{"UID:a\nDTSTART:20261110T080000Z\nDTEND:20261110T070000Z"}, "10 08:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := read(t, feed(test.events...))
			if got := strings.Join(starts(c), ", "); got != test.want || len(c.Warnings) > 0 {
				t.Errorf("got %q, want %q; warnings %q", got, test.want, c.Warnings)
			}
		})
	}
}

// TestKeysStay checks that an occurrence keeps its key when it is moved, and that no two have the same.
func TestKeysStay(t *testing.T) {
	t.Parallel()
	series := "UID:a\nDTSTART:20261101T200000\nRRULE:FREQ=DAILY;COUNT=3"
	before := read(t, feed(series))
	after := read(t, feed(series, "UID:a\nRECURRENCE-ID;TZID=Europe/Berlin:20261102T200000\nDTSTART:20261109T100000"))
	keys := func(c *calendar.Calendar) (out []string) {
		for _, m := range c.Meetings {
			out = append(out, m.Key)
		}
		slices.Sort(out)
		return out
	}
	if b, a := keys(before), keys(after); !slices.Equal(a, b) || len(slices.Compact(b)) != 3 {
		t.Errorf("keys were %q, and are %q", b, a)
	}
}

// TestBrokenEvents checks that an event that can't be read is told, and the others are read.
func TestBrokenEvents(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ event, warning string }{
		"no start":             {"UID:b\nSUMMARY:Broken", `The event "Broken" was left out: it has no start.`},
		"no such day":          {"UID:b\nDTSTART:20261340T000000", `The event "b" was left out: the time "20261340T000000" can't be read.`},
		"the year 9999":        {"UID:b\nDTSTART:99991231T000000", `The event "b" was left out: the time "99991231T000000" can't be read.`},
		"no colon":             {"UID:b\nSUMMARY:Odd\nDTSTART:20261102T100000\nthis is no line", `A line of the event "Odd" was left out: a line has no colon.`},
		"a letter after quote": {"UID:b\nSUMMARY:Odd\nDTSTART:20261102T100000\nFOO;A=\"b\"x", `A line of the event "Odd" was left out: a line has no colon.`},
		"every second":         {"UID:b\nSUMMARY:Odd\nDTSTART:19700101T000000\nRRULE:FREQ=SECONDLY", `The rule of the event "Odd" was left out: it repeats more often than daily.`},
		"many hours":           {"UID:b\nSUMMARY:Odd\nDTSTART:20261102T100000\nRRULE:FREQ=DAILY;BYHOUR=1,2,3", `The rule of the event "Odd" was left out: it repeats more often than daily.`},
		"no rule":              {"UID:b\nSUMMARY:Odd\nDTSTART:20261102T100000\nRRULE:nonsense", `The rule of the event "Odd" was left out: it can't be read.`},
		"a zone of its own":    {"UID:b\nDTSTART;TZID=Customized Time Zone:20261102T100000", `The time zone "Customized Time Zone" is not known; its times were read in yours, Europe/Berlin.`},
		"too many lines":       {"UID:b\nSUMMARY:Long\nDTSTART:20261102T100000\n" + strings.Repeat("COMMENT:x\n", 6000), `A line of the event "Long" was left out: it has more than 5000 lines.`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := read(t, feed("UID:a\nDTSTART:20261101T200000", test.event, "UID:c\nDTSTART:20261103T200000"))
			if got := starts(c); got[0] != "01 19:00" || got[len(got)-1] != "03 19:00" || !slices.Equal(c.Warnings, []string{test.warning}) {
				t.Errorf("read %q with warnings %q", got, c.Warnings)
			}
		})
	}
}

func TestNoCalendar(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"empty": "", "a page": "<!DOCTYPE html><p>Sign in</p>", "too large": "BEGIN:VCALENDAR\n" + strings.Repeat("x", calendar.MaxBytes)} {
		if _, err := calendar.Read([]byte(text), calendar.Options{Zone: time.UTC}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestZones has the names of zones that programs write, and the offset in Berlin's winter.
func TestZones(t *testing.T) {
	t.Parallel()
	for name, hours := range map[string]float64{
		"Europe/Berlin": 1, "Europe/Kyiv": 2, "America/New_York": -5, "Asia/Kolkata": 5.5, "Asia/Kathmandu": 5.75, "Pacific/Chatham": 13.75, "Etc/GMT-3": 3, "UTC": 0, "GMT": 0,
		"US/Pacific": -8, "Asia/Calcutta": 5.5, "EST": -5,
		"W. Europe Standard Time": 1, "GMT Standard Time": 0, "Pacific Standard Time": -8, "India Standard Time": 5.5, "AUS Eastern Standard Time": 11, "Tokyo Standard Time": 9,
		"Arabian Standard Time": 4, "Romance Standard Time": 1, "FLE Standard Time": 2, "e. south america standard time": -3, "Nepal Standard Time": 5.75, "Iran Standard Time": 3.5,
		"UTC-11": -11, "Greenwich Standard Time": 0, "China Standard Time": 8, "Newfoundland Standard Time": -3.5, "New Zealand Standard Time": 13, "Russian Standard Time": 3,
		"(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna": 1, "(GMT-05:00) Eastern Time (US & Canada)": 1, "(UTC-03:00) Sao Paulo": -3, "(UTC) Coordinated Universal Time": 0,
		"(UTC+00:00) Dublin, Edinburgh, Lisbon, London": 0, "(UTC+05:30) Chennai, Kolkata, Mumbai, New Delhi": 5.5, "(GMT+10:00) Canberra, Melbourne, Sydney": 11,
		"/freeassociation.sourceforge.net/Europe/Berlin": 1, "/mozilla.org/20050126_1/Asia/Tokyo": 9, `"Europe/Paris"`: 1, "../../etc/passwd": 1, "": 1,
	} {
		c := read(t, feed(fmt.Sprintf("UID:a\nDTSTART;TZID=\"%s\":20261110T120000", strings.Trim(name, `"`))))
		want := time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC).Add(-time.Duration(hours * float64(time.Hour)))
		if len(c.Meetings) != 1 || !c.Meetings[0].Start.Equal(want) {
			t.Errorf("%q: %v, want %s; %q", name, starts(c), want, c.Warnings)
		}
	}
}

// TestLargeCalendar reads 5,000 events, a tenth of which repeat for twenty years.
func TestLargeCalendar(t *testing.T) {
	t.Parallel()
	events := make([]string, 5000)
	for i := range events {
		events[i] = fmt.Sprintf("UID:%d\nSUMMARY:Meeting %d\nDTSTART:%s\nDURATION:PT1H\nATTENDEE:mailto:p%d@example.com", i, i, time.Date(2006, 11, 1+i%300, 9, 0, 0, 0, time.UTC).Format("20060102T150405"), i%50)
		if i%10 == 0 {
			events[i] += "\nRRULE:FREQ=WEEKLY"
		}
	}
	c := read(t, feed(events...))
	if len(c.Meetings) < 500*4 || len(c.Meetings) > 500*5 || len(c.Warnings) > 0 {
		t.Errorf("%d meetings, warnings %q", len(c.Meetings), c.Warnings)
	}
}

// TestCalendarOfRulesThatNeverMatch checks that many costly events do not cost much together.
func TestCalendarOfRulesThatNeverMatch(t *testing.T) {
	t.Parallel()
	events := slices.Repeat([]string{"UID:a\nDTSTART:20261101T200000\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31"}, 2000)
	c := read(t, feed(events...))
	if len(c.Warnings) != 21 || !strings.Contains(c.Warnings[0], "the calendar has too many occurrences") || !strings.HasSuffix(c.Warnings[20], " more warnings.") {
		t.Errorf("warnings %q", c.Warnings)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(feed("UID:a\nDTSTART:20261101T200000\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE:20261102"))
	f.Add(feed("UID:a\nRECURRENCE-ID:20261102T200000\nDTSTART;TZID=\"(UTC+01:00) Bern\":20261109T100000\nDURATION:P1W"))
	f.Add([]byte("BEGIN:VCALENDAR\nBEGIN:VEVENT\nBEGIN:VALARM\nFOO;A=\"b\"x:1\nEND:VEVENT"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := calendar.Read(text, calendar.Options{From: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), Zone: time.UTC})
		if err != nil {
			return
		}
		if len(c.Meetings) > calendar.MaxMeetings || c.Skipped > c.Events || len(c.Warnings) > 21 {
			t.Errorf("%d meetings, %d of %d events skipped, %d warnings", len(c.Meetings), c.Skipped, c.Events, len(c.Warnings))
		}
	})
}
