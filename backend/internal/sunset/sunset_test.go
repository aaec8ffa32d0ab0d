package sunset_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/sunset"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	date := func(text string) time.Time {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for name, c := range map[string]struct {
		first    time.Time
		kept, at string
		want     string // part of the error; "" for none
	}{
		"exactly 180 days":      {date("2026-01-01"), "2026-06-30", "2026-06-30", ""},
		"179 days":              {date("2026-01-01"), "2026-06-29", "2026-06-29", "the earliest date is 2026-06-30"},
		"180 days but for noon": {date("2026-01-01").Add(12 * time.Hour), "2026-06-30", "2026-06-30", "the earliest date is 2026-07-01"},
		"the same again":        {date("2026-01-01"), "2026-09-01", "2026-09-01", ""},
		"postponed":             {date("2026-01-01"), "2026-09-01", "2027-01-01", ""},
		"moved earlier":         {date("2026-01-01"), "2026-09-01", "2026-08-31", "cannot move to the earlier 2026-08-31"},
		"in the past":           {date("2026-01-01"), "2025-01-01", "2025-01-01", "less than 180 days"},
	} {
		err := sunset.Announcement{Route: "mcp", FirstAt: c.first, SunsetAt: date(c.kept)}.Check(date(c.at))
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !fault.Is(err, fault.Invalid)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}
