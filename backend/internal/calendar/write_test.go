package calendar_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/calendar"
)

// readBack reads a written calendar for some years.
func readBack(t *testing.T, text []byte) *calendar.Calendar {
	t.Helper()
	c, err := calendar.Read(text, calendar.Options{
		From: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2041, 1, 1, 0, 0, 0, 0, time.UTC), Zone: time.UTC,
	})
	if err != nil || c.Skipped > 0 || len(c.Warnings) > 0 {
		t.Fatalf("%v, %v\n%s", err, c, text)
	}
	return c
}

// TestWriteHardTexts: whatever people wrote is read back as one line, and the lines have the form of RFC 5545.
func TestWriteHardTexts(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for written, want := range map[string]string{
		"Ada":                                 "Ada",
		`a, b; c: d \ "e" \n`:                 `a, b; c: d \ "e" \n`,
		"one\r\nEND:VEVENT\r\nBEGIN:VEVENT":   "one END:VEVENT BEGIN:VEVENT",
		strings.Repeat("Ünï🎂", 40):            strings.Repeat("Ünï🎂", 40),
		"null\x00 and bell\x07":               "null and bell",
		"אבג عربي " + strings.Repeat("x", 74): "אבג عربي " + strings.Repeat("x", 74),
	} {
		text := calendar.Write(written, "Europe/Berlin", []calendar.Entry{{UID: "u@kith", Day: day, Title: written, URL: "https://kith.example/people/con_x", ChangedAt: day}})
		c := readBack(t, text)
		if c.Events != 1 || len(c.Meetings) != 1 || c.Meetings[0].Title != want || c.Name != want || !c.Meetings[0].AllDay || c.Meetings[0].Key != "u@kith" {
			t.Errorf("%q is read back as %+v", written, c)
		}
		lines := strings.SplitAfter(string(text), "\n")
		for i, line := range lines[:len(lines)-1] {
			if len(line) > 77 || !strings.HasSuffix(line, "\r\n") || !utf8.ValidString(line) {
				t.Errorf("%q: line %d is %q", written, i, line)
			}
		}
	}
}

// TestWriteIsStable: the same entries make the same bytes, and a later change a higher number.
func TestWriteIsStable(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 1, 2, 3, 0, time.UTC)
	write := func(changed time.Time) string {
		return string(calendar.Write("Dates", "Europe/Berlin", []calendar.Entry{{UID: "u@kith", Day: time.Date(1984, 2, 29, 0, 0, 0, 0, time.UTC), Rule: "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1", Title: "Birthday", ChangedAt: changed}}))
	}
	const want = "BEGIN:VEVENT\r\nUID:u@kith\r\nDTSTAMP:20261129T010203Z\r\nLAST-MODIFIED:20261129T010203Z\r\nSEQUENCE:60224523\r\n" +
		"DTSTART;VALUE=DATE:19840229\r\nDTEND;VALUE=DATE:19840301\r\nRRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1\r\nSUMMARY:Birthday\r\nTRANSP:TRANSPARENT\r\nEND:VEVENT\r\n"
	if got := write(at); !strings.Contains(got, want) || got != write(at.In(time.FixedZone("", 3600))) {
		t.Errorf("got %s", got)
	}
	if !strings.Contains(write(at.Add(time.Minute)), "SEQUENCE:60224583\r\n") {
		t.Error("a change does not raise the number")
	}
}

// TestWithin: an entry is within a span if one of its days is, as it is if all days are compared one by one.
func TestWithin(t *testing.T) {
	t.Parallel()
	day := func(text string) time.Time {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for rule, first := range map[string]string{
		"": "2026-03-01", "FREQ=WEEKLY": "2026-03-01", "FREQ=MONTHLY;INTERVAL=3;BYMONTHDAY=-1": "2025-01-31", "FREQ=MONTHLY;INTERVAL=1": "2024-06-12",
		"FREQ=YEARLY": "1970-06-10", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1": "1984-02-29", "FREQ=YEARLY;BYMONTH=1,3,5;BYMONTHDAY=30": "2020-01-30", "FREQ=YEARLY;INTERVAL=2": "2001-03-03",
	} {
		e := calendar.Entry{UID: "u", Day: day(first), Rule: rule, Title: "x", ChangedAt: day(first)}
		read, err := calendar.Read([]byte(e.Text()), calendar.Options{From: day("2025-12-01"), Until: day("2028-06-01"), Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		days := map[time.Time]bool{}
		for _, m := range read.Meetings {
			days[m.Start] = true
		}
		for at := day("2026-01-01"); at.Before(day("2028-05-01")); at = at.AddDate(0, 0, 1) {
			if got := e.Within(at, at.Add(time.Second)); got != days[at] {
				t.Errorf("%q from %s: on %s it is %t", rule, first, at.Format(time.DateOnly), got)
			}
			if got := e.Within(at.Add(24*time.Hour-time.Second), at.Add(24*time.Hour)); got != days[at] {
				t.Errorf("%q from %s: at the end of %s it is %t", rule, first, at.Format(time.DateOnly), got)
			}
		}
		if !e.Within(time.Time{}, time.Time{}) || !e.Within(time.Time{}, e.Day.Add(time.Second)) || e.Within(time.Time{}, e.Day) {
			t.Errorf("%q from %s: the open spans are wrong", rule, first)
		}
	}
}
