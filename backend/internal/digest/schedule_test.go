package digest

import (
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
)

// TestOnceADay: a digest is for each day once, in the order of the days, whatever the clocks do. A worker that looks every
// five minutes finds it due within five minutes of its hour.
func TestOnceADay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone, from, to string
		hour           int
		// at is when the digest of the day of the change is due, in UTC.
		at string
	}{
		{"Europe/Berlin", "2026-03-26", "2026-04-01", 7, "2026-03-29T05:00:00Z"},
		{"Europe/Berlin", "2026-03-26", "2026-04-01", 2, "2026-03-29T01:00:00Z"}, // 2:00 is skipped: at 3:00
		{"Europe/Berlin", "2026-10-22", "2026-10-28", 7, "2026-10-25T06:00:00Z"},
		{"Europe/Berlin", "2026-10-22", "2026-10-28", 2, "2026-10-25T00:00:00Z"}, // 2:00 is repeated: the first
		{"Europe/Berlin", "2026-10-22", "2026-10-28", 3, "2026-10-25T02:00:00Z"},
		{"America/New_York", "2026-03-05", "2026-03-11", 2, "2026-03-08T07:00:00Z"},
		{"America/New_York", "2026-10-29", "2026-11-04", 1, "2026-11-01T05:00:00Z"},
		{"America/Havana", "2026-03-05", "2026-03-11", 0, "2026-03-08T05:00:00Z"},      // midnight is skipped
		{"America/Havana", "2026-10-29", "2026-11-04", 0, "2026-11-01T04:00:00Z"},      // midnight is repeated
		{"Australia/Lord_Howe", "2026-04-02", "2026-04-08", 7, "2026-04-04T20:30:00Z"}, // back by 30 minutes
		{"Australia/Lord_Howe", "2026-10-01", "2026-10-07", 2, "2026-10-03T15:30:00Z"}, // 2:00 to 2:30 are skipped
		{"Asia/Kolkata", "2026-03-05", "2026-03-11", 7, "2026-03-08T01:30:00Z"},
		{"Asia/Kathmandu", "2026-03-05", "2026-03-11", 7, "2026-03-08T01:15:00Z"},
		{"Pacific/Chatham", "2026-04-02", "2026-04-08", 7, "2026-04-04T18:15:00Z"},
		{"Pacific/Chatham", "2026-09-24", "2026-09-30", 3, "2026-09-26T14:00:00Z"}, // 2:45 to 3:45 are skipped
		{"Pacific/Kiritimati", "2026-03-05", "2026-03-11", 23, "2026-03-08T09:00:00Z"},
		{"UTC", "2026-02-26", "2026-03-03", 0, "2026-03-01T00:00:00Z"},
	} {
		zone := civil.Zone(c.zone)
		if zone.String() != c.zone {
			t.Fatalf("there is no zone %s", c.zone)
		}
		first, last := day(t, c.from), day(t, c.to)
		choice := Choice{Rhythm: Daily, Hour: c.hour}
		settled, wanted, due := first, first.AddDate(0, 0, 1), map[string]string{}
		end := civil.Start(last.AddDate(0, 0, 1), zone)
		for now := civil.At(first, c.hour, zone); now.Before(end); now = now.Add(Every) {
			latest := choice.latest(now, zone)
			if !latest.After(settled) {
				if next := choice.after(settled, zone); !next.After(now) {
					t.Errorf("%s: after %s the next one is due at %s, but %s settles nothing", c.zone, settled.Format(time.DateOnly), next, now)
				}
				continue
			}
			if !latest.Equal(wanted) {
				t.Fatalf("%s: at %s the digest is for %s, not for %s", c.zone, now, latest.Format(time.DateOnly), wanted.Format(time.DateOnly))
			}
			next := choice.after(settled, zone)
			if late := now.Sub(next); late < 0 || late >= Every {
				t.Errorf("%s: the digest of %s is due at %s and sent at %s", c.zone, latest.Format(time.DateOnly), next, now)
			}
			due[next.UTC().Format(time.RFC3339)] = latest.Format(time.DateOnly)
			settled, wanted = latest, latest.AddDate(0, 0, 1)
		}
		if !settled.Equal(last) {
			t.Errorf("%s: the last digest is for %s", c.zone, settled.Format(time.DateOnly))
		}
		if due[c.at] == "" {
			t.Errorf("%s at %d: none is due at %s: %v", c.zone, c.hour, c.at, due)
		}
	}
}

// TestWeekly: a weekly digest is due on its day, also on later days if that one is not settled.
func TestWeekly(t *testing.T) {
	t.Parallel()
	zone := civil.Zone("Europe/Berlin")
	c := Choice{Rhythm: Weekly, Weekday: time.Monday, Hour: 7}
	for now, want := range map[string]string{
		"2026-03-30T06:59:59+02:00": "2026-03-23", "2026-03-30T07:00:00+02:00": "2026-03-30", "2026-04-02T23:00:00+02:00": "2026-03-30",
		"2026-04-06T06:59:59+02:00": "2026-03-30", "2026-04-06T07:00:00+02:00": "2026-04-06",
	} {
		at, err := time.Parse(time.RFC3339, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.latest(at, zone).Format(time.DateOnly); got != want {
			t.Errorf("at %s: %s, want %s", now, got, want)
		}
	}
	for settled, want := range map[string]string{
		"2026-03-23": "2026-03-30T05:00:00Z", "2026-03-25": "2026-03-30T05:00:00Z", "2026-03-29": "2026-03-30T05:00:00Z", "2026-03-30": "2026-04-06T05:00:00Z",
		"2026-10-19": "2026-10-26T06:00:00Z",
	} {
		if got := c.after(day(t, settled), zone).UTC().Format(time.RFC3339); got != want {
			t.Errorf("after %s: %s, want %s", settled, got, want)
		}
	}
}

func day(t *testing.T, text string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
