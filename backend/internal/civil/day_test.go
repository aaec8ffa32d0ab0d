package civil_test

import (
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
)

func date(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

// The same moment is a different day on the other side of the date line. An hour that a
// zone skips or repeats belongs to the day that it is in.
func TestOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ moment, zone, want string }{
		{"2026-03-01T12:00:00Z", "UTC", "2026-03-01"},
		{"2026-03-01T10:30:00Z", "Pacific/Kiritimati", "2026-03-02"}, // +14
		{"2026-03-01T10:30:00Z", "Pacific/Pago_Pago", "2026-02-28"},  // -11
		{"2026-03-01T09:59:59Z", "Pacific/Kiritimati", "2026-03-01"},
		{"2026-03-28T22:59:59Z", "Europe/Berlin", "2026-03-28"},     // +1, the night the clocks go forward
		{"2026-03-28T23:00:00Z", "Europe/Berlin", "2026-03-29"},     // +1
		{"2026-03-29T22:00:00Z", "Europe/Berlin", "2026-03-30"},     // +2
		{"2026-03-29T21:59:59Z", "Europe/Berlin", "2026-03-29"},     // +2
		{"2026-10-25T22:59:59Z", "Europe/Berlin", "2026-10-25"},     // +1 again
		{"2018-11-04T02:59:59Z", "America/Sao_Paulo", "2018-11-03"}, // midnight itself is skipped here
		{"2018-11-04T03:00:00Z", "America/Sao_Paulo", "2018-11-04"},
		{"2011-12-30T09:59:59Z", "Pacific/Apia", "2011-12-29"}, // Samoa left out the 30th
		{"2011-12-30T10:00:00Z", "Pacific/Apia", "2011-12-31"},
		{"2026-03-01T12:00:00Z", "no such zone", "2026-03-01"},
	} {
		moment, err := time.Parse(time.RFC3339, c.moment)
		if err != nil {
			t.Fatal(err)
		}
		if got := civil.Of(moment, civil.Zone(c.zone)); !got.Equal(date(c.want)) || got.Location() != time.UTC {
			t.Errorf("%s in %s is %v, want %s", c.moment, c.zone, got, c.want)
		}
	}
}

// Each day starts at its first second, wherever midnight is skipped or repeated, and
// its noon is within it.
func TestStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ day, zone, start, noon string }{
		{"2026-03-01", "UTC", "2026-03-01T00:00:00Z", "2026-03-01T12:00:00Z"},
		{"2026-03-01", "Pacific/Kiritimati", "2026-02-28T10:00:00Z", "2026-02-28T22:00:00Z"},
		{"2026-03-01", "Pacific/Pago_Pago", "2026-03-01T11:00:00Z", "2026-03-01T23:00:00Z"},
		{"2026-03-29", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29T10:00:00Z"},     // 23 hours long
		{"2026-10-25", "Europe/Berlin", "2026-10-24T22:00:00Z", "2026-10-25T11:00:00Z"},     // 25 hours long
		{"2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00Z", "2018-11-04T14:00:00Z"}, // begins at 1:00
		{"2026-11-01", "America/Havana", "2026-11-01T04:00:00Z", "2026-11-01T17:00:00Z"},    // has midnight twice
		{"2011-12-31", "Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"},
	} {
		zone := civil.Zone(c.zone)
		start, noon := civil.Start(date(c.day), zone), civil.Noon(date(c.day), zone)
		if got := start.Format(time.RFC3339); got != c.start {
			t.Errorf("%s in %s starts at %s, want %s", c.day, c.zone, got, c.start)
		}
		if got := noon.Format(time.RFC3339); got != c.noon || !civil.Of(noon, zone).Equal(date(c.day)) {
			t.Errorf("noon of %s in %s is %s, want %s", c.day, c.zone, got, c.noon)
		}
		if !civil.Of(start.Add(-time.Second), zone).Before(date(c.day)) {
			t.Errorf("%s in %s starts before %s", c.day, c.zone, start)
		}
	}
}

func TestZone(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Europe/Berlin": "Europe/Berlin", "": "UTC", "Local": "UTC", "../etc": "UTC"} {
		if got := civil.Zone(name).String(); got != want {
			t.Errorf("%q: %s", name, got)
		}
	}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		want     int
	}{{"2026-03-01", "2026-03-01", 0}, {"2026-02-28", "2026-03-01", 1}, {"2024-02-28", "2024-03-01", 2}, {"2026-03-02", "2026-03-01", -1}} {
		if got := civil.Between(date(c.from), date(c.to)); got != c.want {
			t.Errorf("from %s to %s: %d", c.from, c.to, got)
		}
	}
}

func TestClamped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		year, month, day int
		want             string
	}{
		{2026, 1, 31, "2026-01-31"}, {2026, 2, 31, "2026-02-28"}, {2028, 2, 30, "2028-02-29"},
		{2026, 4, 31, "2026-04-30"}, {2026, 14, 29, "2027-02-28"}, {2026, 12, 31, "2026-12-31"},
	} {
		if got := civil.Clamped(c.year, time.Month(c.month), c.day); !got.Equal(date(c.want)) {
			t.Errorf("%d-%d-%d: %v, want %s", c.year, c.month, c.day, got, c.want)
		}
	}
}

func TestNoDay(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"2026-02-30": `"2026-02-30" is no day of the calendar: February 2026 has 28 days`,
		"2028-02-30": `"2028-02-30" is no day of the calendar: February 2028 has 29 days`,
		"--02-30":    `"--02-30" is no day of the calendar: February has at most 29 days`,
		"04-31":      `"04-31" is no day of the calendar: April has at most 30 days`,
		"2026-13":    `"2026-13" is no day of the calendar`,
		"":           `"" is no day of the calendar`,
	} {
		if got := civil.NoDay(value); got != want {
			t.Errorf("NoDay(%q) = %s", value, got)
		}
	}
}
