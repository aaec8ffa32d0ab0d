package call_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// now is 23:30 on 22 November in Los Angeles, and 20:30 on the 23rd in Auckland.
var now = time.Date(2026, 11, 23, 7, 30, 0, 0, time.UTC)

func TestParseMoment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, value, want string }{
		{"UTC", "2026-11-22", "2026-11-22T12:00:00Z 2026-11-22"},
		{"America/Los_Angeles", "2026-11-21", "2026-11-21T20:00:00Z 2026-11-21"},
		{"America/Los_Angeles", "2026-11-22", "2026-11-22T20:00:00Z 2026-11-22"},
		{"UTC", "2026-11-23", "2026-11-23T07:30:00Z 2026-11-23"}, // today before noon: now
		{"Pacific/Auckland", "2026-11-23", "2026-11-22T23:00:00Z 2026-11-23"},
		{"Asia/Tokyo", "2026-11-20T15:04:05+09:00", "2026-11-20T06:04:05Z 2026-11-20T15:04:05+09:00"},
		{"Asia/Tokyo", "2026-11-20T15:04:05.1234567Z", "2026-11-20T15:04:05.123456Z"},
		{"America/Los_Angeles", "2026-11-23", "occurred_at: 2026-11-23 lies in the future; today is 2026-11-22 (America/Los_Angeles)"},
		{"UTC", "2026-02-29", "no day of the calendar"},
		{"UTC", "2026-02-29T10:00:00Z", "no time of the calendar"},
		{"UTC", "1899-12-31", "must not be before 1900"},
		{"UTC", "1850-01-01T00:00:00Z", "must not be before 1900"},
	} {
		ctx := tenant.WithPrincipal(t.Context(), &tenant.Principal{Timezone: c.zone})
		at, local, err := call.ParseMoment(ctx, "occurred_at", &c.value, now)
		got := strings.TrimSpace(at.Format(time.RFC3339Nano) + " " + local)
		if err != nil {
			got = err.Error()
		}
		if err != nil && !strings.Contains(got, c.want) || err == nil && got != c.want || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%s in %s: %s, want %s", c.value, c.zone, got, c.want)
		}
	}
	if at, local, err := call.ParseMoment(t.Context(), "occurred_at", nil, now); err != nil || !at.IsZero() || local != "" {
		t.Errorf("left out: %v, %v", at, err)
	}
}

func TestStartOfDay(t *testing.T) {
	t.Parallel()
	ctx := tenant.WithPrincipal(t.Context(), &tenant.Principal{Timezone: "America/Los_Angeles"})
	day := "2026-11-22"
	for after, want := range map[int]string{0: "2026-11-22T08:00:00Z", 1: "2026-11-23T08:00:00Z"} {
		if at, err := call.StartOfDay(ctx, "since", &day, after); err != nil || at.Format(time.RFC3339) != want {
			t.Errorf("%d days after: %v, %v, want %s", after, at, err, want)
		}
	}
	if at, err := call.StartOfDay(ctx, "since", nil, 1); err != nil || !at.IsZero() {
		t.Errorf("left out: %v, %v", at, err)
	}
	day = "2026-02-29"
	if _, err := call.StartOfDay(ctx, "since", &day, 0); !fault.Is(err, fault.Invalid) {
		t.Errorf("no day: %v", err)
	}
}
