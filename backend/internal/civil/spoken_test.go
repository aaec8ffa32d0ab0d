package civil_test

import (
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
)

func TestSpokenDay(t *testing.T) {
	t.Parallel()
	saturday := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	for words, want := range map[string]string{
		"today": "2026-11-28", " Yesterday ": "2026-11-27", "tomorrow.": "2026-11-29", "Friday": "2026-12-04", "on Friday": "2026-12-04", "saturday": "2026-12-05",
		"next Friday": "2026-12-04", "this sunday": "2026-11-29", "last Friday": "2026-11-27", "last Saturday": "2026-11-21", "in 3 weeks": "2026-12-19", "in a month": "2026-12-28",
		"2 days ago": "2026-11-26", "a week ago": "2026-11-21", "in 0 days": "2026-11-28",
		"heute": "2026-11-28", "Gestern": "2026-11-27", "am Freitag": "2026-12-04", "nächsten Freitag": "2026-12-04", "letzten Montag": "2026-11-23", "in 3 Wochen": "2026-12-19", "vor zwei Tagen": "2026-11-26",
		"": "", "in spring": "", "in 3": "", "in x weeks": "", "in 99999 weeks": "", "in -1 weeks": "", "next": "", "next week": "", "fri day": "", "in 3 weeks time": "", "2026-11-28": "", "vor Ort": "",
	} {
		day, ok := civil.SpokenDay(words, saturday)
		got := ""
		if ok {
			got = day.Format(time.DateOnly)
		}
		if got != want {
			t.Errorf("%q is %q, not %q", words, got, want)
		}
	}
}
