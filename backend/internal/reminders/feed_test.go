package reminders_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/calendar"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/teambition/rrule-go"
	"pgregory.net/rapid"
)

// daysOf returns the days of series until another day, by rrule-go, and by the reader of calendars.
func daysOf(t rapid.TB, all []reminders.Series, until time.Time) (byLibrary, byReader []string) {
	t.Helper()
	var entries []calendar.Entry
	from := until
	for i, s := range all {
		if strings.Contains(s.Rule, "BYSETPOS") { // ical.js ignores it
			t.Fatal(s.Rule)
		}
		option, err := rrule.StrToROption(s.Rule)
		if err != nil {
			t.Fatal(err)
		}
		option.Dtstart = s.First
		r, err := rrule.NewRRule(*option)
		if err != nil {
			t.Fatal(err)
		}
		if days := r.Between(s.First, until, true); len(days) == 0 || !days[0].Equal(s.First) {
			t.Fatalf("%s is no day of %s", s.First, s.Rule)
		} else {
			for _, day := range days {
				byLibrary = append(byLibrary, day.Format(time.DateOnly))
			}
		}
		if s.First.Before(from) {
			from = s.First
		}
		entries = append(entries, calendar.Entry{UID: strconv.Itoa(i), Day: s.First, Rule: s.Rule})
	}
	slices.Sort(byLibrary)
	c, err := calendar.Read(calendar.Write("x", "UTC", entries), calendar.Options{From: from.Add(time.Second), Until: until.AddDate(0, 0, 1), Zone: time.UTC})
	if err != nil || len(c.Warnings) > 0 {
		t.Fatalf("%v, %v", err, c)
	}
	for _, m := range c.Meetings {
		byReader = append(byReader, m.Start.Format(time.DateOnly))
	}
	return byLibrary, byReader
}

// wantDays are the days from a first one until another on which Kith reminds.
func wantDays(start, first time.Time, recurrence string, until time.Time) (want []string) {
	for day, more := first, true; more && !day.After(until); day, more = reminders.Next(start, recurrence, day) {
		want = append(want, day.Format(time.DateOnly))
	}
	return want
}

// TestSeriesOverTwentyYears: calendars show a recurring reminder on the days on which Kith reminds, over 20 years.
func TestSeriesOverTwentyYears(t *testing.T) {
	t.Parallel()
	recurrences := []string{reminders.RecursWeekly, reminders.RecursMonthly, reminders.RecursQuarterly, reminders.RecursYearly}
	for _, start := range []string{"2024-02-29", "2026-02-28", "2026-01-29", "2026-01-30", "2026-01-31", "2025-11-30", "2026-03-31", "2026-12-31", "2026-06-15", "2028-02-29"} {
		for _, recurrence := range recurrences {
			for _, after := range []string{"", "2026-11-29", "2027-02-01"} { // the reminder is done for the first time, or is due again and again
				first := date(start)
				if after != "" {
					first, _ = reminders.Next(date(start), recurrence, date(after))
				}
				until := first.AddDate(20, 0, 0)
				want := wantDays(date(start), first, recurrence, until)
				byLibrary, byReader := daysOf(t, reminders.SeriesOf(date(start), first, recurrence), until)
				if diff := cmp.Diff(want, byLibrary); diff != "" {
					t.Errorf("%s from %s, due on %s, -want +rrule-go:\n%s", recurrence, start, first.Format(time.DateOnly), diff)
				}
				if diff := cmp.Diff(want, byReader); diff != "" {
					t.Errorf("%s from %s, due on %s, -want +reader:\n%s", recurrence, start, first.Format(time.DateOnly), diff)
				}
			}
		}
	}
	for _, none := range []string{reminders.RecursNever, ""} {
		want := []reminders.Series{{First: date("2026-01-31")}}
		if diff := cmp.Diff(want, reminders.SeriesOf(date("2026-01-31"), date("2026-01-31"), none)); diff != "" {
			t.Errorf("%q, -want +got:\n%s", none, diff)
		}
	}
}

// TestSeriesAreNext: the same for any day.
func TestSeriesAreNext(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		start := date("1990-01-01").AddDate(0, 0, rapid.IntRange(0, 30_000).Draw(rt, "start"))
		recurrence := rapid.SampledFrom([]string{"weekly", "monthly", "quarterly", "yearly"}).Draw(rt, "recurrence")
		first, _ := reminders.Next(start, recurrence, start.AddDate(0, 0, rapid.IntRange(-1, 2_000).Draw(rt, "later")))
		until := first.AddDate(6, 0, 0)
		byLibrary, _ := daysOf(rt, reminders.SeriesOf(start, first, recurrence), until)
		if diff := cmp.Diff(wantDays(start, first, recurrence, until), byLibrary); diff != "" {
			rt.Fatalf("%s from %s, due on %s, -want +got:\n%s", recurrence, start.Format(time.DateOnly), first.Format(time.DateOnly), diff)
		}
	})
}
