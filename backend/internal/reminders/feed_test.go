package reminders_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/calendar"
	"github.com/kith-crm/kith/backend/internal/reminders"
	"github.com/teambition/rrule-go"
	"pgregory.net/rapid"
)

// daysOfRule returns the days of a rule from a first one until another, by rrule-go, and by the reader of calendars.
func daysOfRule(t rapid.TB, first time.Time, rule string, until time.Time) (byLibrary, byReader []string) {
	t.Helper()
	option, err := rrule.StrToROption(rule)
	if err != nil {
		t.Fatal(err)
	}
	option.Dtstart = first
	r, err := rrule.NewRRule(*option)
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range r.Between(first, until, true) {
		byLibrary = append(byLibrary, day.Format(time.DateOnly))
	}
	c, err := calendar.Read(calendar.Write("x", "UTC", []calendar.Entry{{UID: "x", Day: first, Rule: rule}}), calendar.Options{From: first.Add(time.Second), Until: until.AddDate(0, 0, 1), Zone: time.UTC})
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

// TestRuleOverTwentyYears: calendars show a recurring reminder on the days on which Kith reminds, over 20 years.
func TestRuleOverTwentyYears(t *testing.T) {
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
				byLibrary, byReader := daysOfRule(t, first, reminders.Rule(date(start), recurrence), until)
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
		if rule := reminders.Rule(date("2026-01-31"), none); rule != "" {
			t.Errorf("%q has the rule %s", none, rule)
		}
	}
}

// TestRuleIsNext: the same for any day.
func TestRuleIsNext(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		start := date("1990-01-01").AddDate(0, 0, rapid.IntRange(0, 30_000).Draw(rt, "start"))
		recurrence := rapid.SampledFrom([]string{"weekly", "monthly", "quarterly", "yearly"}).Draw(rt, "recurrence")
		first, _ := reminders.Next(start, recurrence, start.AddDate(0, 0, rapid.IntRange(-1, 2_000).Draw(rt, "later")))
		until := first.AddDate(6, 0, 0)
		byLibrary, _ := daysOfRule(rt, first, reminders.Rule(start, recurrence), until)
		if diff := cmp.Diff(wantDays(start, first, recurrence, until), byLibrary); diff != "" {
			rt.Fatalf("%s from %s, due on %s, -want +got:\n%s", recurrence, start.Format(time.DateOnly), first.Format(time.DateOnly), diff)
		}
	})
}
