package calendar_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/calendar"
)

// TestOwnZones: a zone that only the feed describes has the times of the zone of the IANA database that it means, on every day of two years.
func TestOwnZones(t *testing.T) {
	t.Parallel()
	part := func(kind, from, to, start, rule string) string {
		text := "BEGIN:" + kind + "\nTZOFFSETFROM:" + from + "\nTZOFFSETTO:" + to + "\nDTSTART:" + start + "\n"
		if rule != "" {
			text += "RRULE:" + rule + "\n"
		}
		return text + "END:" + kind + "\n"
	}
	standard := func(from, to, start, rule string) string { return part("STANDARD", from, to, start, rule) }
	daylight := func(from, to, start, rule string) string { return part("DAYLIGHT", from, to, start, rule) }
	for name, test := range map[string]struct{ zone, means string }{
		"Outlook, central Europe": {standard("+0200", "+0100", "16011028T030000", "FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10") +
			daylight("+0100", "+0200", "16010325T020000", "FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3"), "Europe/Berlin"},
		"the east of the United States, with the years before": {
			daylight("-0500", "-0400", "20070311T020000", "FREQ=YEARLY;BYMONTH=3;BYDAY=2SU") +
				standard("-0400", "-0500", "19671029T020000", "FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU;UNTIL=20061029T060000Z") +
				standard("-0400", "-0500", "20071104T020000", "FREQ=YEARLY;BYMONTH=11;BYDAY=1SU") +
				daylight("-0500", "-0400", "19870405T020000", "FREQ=YEARLY;BYMONTH=4;BYDAY=1SU;UNTIL=20060402T070000Z"), "America/New_York",
		},
		"the second Sunday as days of the month": {
			daylight("-0500", "-0400", "20070311T020000", "FREQ=YEARLY;BYMONTH=3;BYDAY=SU;BYMONTHDAY=8,9,10,11,12,13,14") +
				standard("-0400", "-0500", "20071104T020000", "FREQ=YEARLY;BYMONTH=11;BYDAY=SU;BYMONTHDAY=1,2,3,4,5,6,7"), "America/New_York",
		},
		"the south": {standard("+1100", "+1000", "20080406T030000", "FREQ=YEARLY;BYMONTH=4;BYDAY=1SU") +
			daylight("+1000", "+1100", "20081005T020000", "FREQ=YEARLY;BYMONTH=10;BYDAY=1SU"), "Australia/Sydney"},
		"half an hour west":           {standard("-0230", "-0330", "20071104T020000", "FREQ=YEARLY;BYMONTH=11;BYDAY=1SU") + daylight("-0330", "-0230", "20070311T020000", "FREQ=YEARLY;BYMONTH=3;BYDAY=2SU"), "America/St_Johns"},
		"one offset":                  {standard("+0545", "+0545", "19860101T000000", ""), "Asia/Kathmandu"},
		"no daylight saving now":      {standard("+0400", "+0300", "20110327T020000", "") + daylight("+0300", "+0400", "20100328T020000", ""), "Europe/Moscow"},
		"daylight saving that ended":  {standard("-0200", "-0300", "20190217T000000", "") + daylight("-0300", "-0200", "20081019T000000", "FREQ=YEARLY;BYMONTH=10;BYDAY=3SU;UNTIL=20171015T030000Z"), "America/Sao_Paulo"},
		"the last Sunday of the year": {standard("+0200", "+0100", "19701025T030000", "FREQ=YEARLY;BYDAY=-1SU") + daylight("+0100", "+0200", "19700329T020000", "FREQ=YEARLY;BYDAY=-1SU"), ""},
		"seconds":                     {standard("+010000", "+010000", "19700101T000000", ""), "Africa/Lagos"},
		"a name in lower case":        {"x-lic-location:Asia/Tokyo\n", "Asia/Tokyo"},
		"its own name for a zone":     {"X-LIC-LOCATION:America/Lima\n" + standard("+0000", "+0000", "19700101T000000", ""), "America/Lima"},
		"no offset":                   {standard("", "", "19700101T000000", ""), ""},
		"an offset of another form":   {standard("+1", "+99999", "19700101T000000", ""), ""},
		"nothing":                     {"", ""},
		"a rule of another kind":      {standard("+0200", "+0100", "19701025T030000", "FREQ=MONTHLY") + daylight("+0100", "+0200", "19700329T020000", "FREQ=WEEKLY;BYDAY=SU,MO"), ""},
		"a sixth week":                {standard("+0200", "+0100", "19701025T030000", "FREQ=YEARLY;BYMONTH=10;BYDAY=6SU") + daylight("+0100", "+0200", "19700329T020000", "FREQ=YEARLY;BYMONTH=13;BYDAY=1SU"), ""},
		"a rule without a day":        {standard("+0200", "+0100", "19701025T030000", "FREQ=YEARLY;BYMONTH=10") + daylight("+0100", "+0200", "19700329T020000", "FREQ=YEARLY;BYMONTH=3"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var feed strings.Builder
			feed.WriteString("BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:Customized Time Zone 1\n" + test.zone + "END:VTIMEZONE\n")
			first, last := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), time.Date(2027, 12, 31, 12, 0, 0, 0, time.UTC)
			for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
				fmt.Fprintf(&feed, "BEGIN:VEVENT\nUID:%[1]s\nSUMMARY:Tea\nDTSTART;TZID=Customized Time Zone 1:%[1]s\nEND:VEVENT\n", day.Format("20060102T150405"))
			}
			feed.WriteString("END:VCALENDAR\n")
			own := zone(t, "Pacific/Chatham")
			c, err := calendar.Read([]byte(feed.String()), calendar.Options{From: first.AddDate(0, 0, -2), Until: last.AddDate(0, 0, 2), Zone: own})
			if err != nil || len(c.Meetings) != 730 {
				t.Fatalf("%d meetings, %v", len(c.Meetings), err)
			}
			means := own // with a warning
			if test.means != "" {
				means = zone(t, test.means)
			}
			if warned := len(c.Warnings) > 0; warned != (test.means == "") {
				t.Errorf("the warnings are %q", c.Warnings)
			}
			for i, m := range c.Meetings {
				day := first.AddDate(0, 0, i)
				if want := time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, means); !m.Start.Equal(want) {
					t.Fatalf("it is at %s, not %s", m.Start, want)
				}
			}
		})
	}
}
