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
