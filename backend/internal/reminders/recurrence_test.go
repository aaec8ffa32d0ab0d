package reminders_test

import (
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"pgregory.net/rapid"
)

func date(s string) time.Time {
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return d
}

func TestNext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ start, recurrence, after, want string }{
		{"2026-03-02", "weekly", "2026-03-02", "2026-03-09"},
		{"2026-03-02", "weekly", "2026-03-08", "2026-03-09"},
		{"2026-03-02", "weekly", "2026-03-09", "2026-03-16"},
		{"2026-03-02", "weekly", "2026-01-01", "2026-03-02"},
		{"1926-03-01", "weekly", "2026-03-02", "2026-03-09"},
		{"2026-01-31", "monthly", "2026-01-31", "2026-02-28"},
		{"2026-01-31", "monthly", "2026-02-28", "2026-03-31"}, // back to the 31st
		{"2028-01-31", "monthly", "2028-02-01", "2028-02-29"},
		{"2026-01-15", "monthly", "2026-06-14", "2026-06-15"},
		{"2026-01-15", "monthly", "2026-06-15", "2026-07-15"},
		{"2025-11-30", "quarterly", "2025-11-30", "2026-02-28"},
		{"2025-11-30", "quarterly", "2026-02-28", "2026-05-30"},
		{"2025-11-30", "quarterly", "2027-12-31", "2028-02-29"},
		{"2024-02-29", "yearly", "2024-02-29", "2025-02-28"},
		{"2024-02-29", "yearly", "2027-02-28", "2028-02-29"},
		{"2024-02-29", "yearly", "2025-02-27", "2025-02-28"},
		{"2026-12-31", "yearly", "2026-12-31", "2027-12-31"},
		{"2026-12-31", "monthly", "2026-12-31", "2027-01-31"},
		{"2026-12-31", "none", "2026-12-31", ""},
		{"2026-12-31", "daily", "2026-12-31", ""},
	} {
		got, ok := reminders.Next(date(c.start), c.recurrence, date(c.after))
		if ok != (c.want != "") || ok && !got.Equal(date(c.want)) {
			t.Errorf("%s from %s after %s: %v, %v; want %s", c.recurrence, c.start, c.after, got, ok, c.want)
		}
	}
}

// The next day is after the given one, no occurrence is skipped, and it has the start's
// weekday or its day of the month, unless the month is too short.
func TestNextIsTheFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		start := date("1980-01-01").AddDate(0, 0, rapid.IntRange(0, 30_000).Draw(rt, "start"))
		after := date("1980-01-01").AddDate(0, 0, rapid.IntRange(0, 30_000).Draw(rt, "after"))
		recurrence := rapid.SampledFrom([]string{"weekly", "monthly", "quarterly", "yearly"}).Draw(rt, "recurrence")
		longest := map[string]int{"weekly": 7, "monthly": 31, "quarterly": 92, "yearly": 366}[recurrence]
		got, ok := reminders.Next(start, recurrence, after)
		if !ok || !got.After(after) || got.Before(start) {
			rt.Fatalf("%s from %v after %v: %v", recurrence, start, after, got)
		}
		if !after.Before(start) && civil.Between(after, got) > longest {
			rt.Fatalf("%s from %v after %v: %v skips one", recurrence, start, after, got)
		}
		fits := got.Day() == start.Day() || got.Equal(civil.Clamped(got.Year(), got.Month(), 31)) && got.Day() < start.Day()
		if recurrence == "weekly" {
			fits = got.Weekday() == start.Weekday()
		}
		if !fits {
			rt.Fatalf("%s from %v after %v: %v is no such day", recurrence, start, after, got)
		}
	})
}
