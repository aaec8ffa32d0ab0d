package connection_test

import (
	"slices"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/connection"
)

func TestNextDue(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name         string
		cadence      int
		last, snooze time.Time
		want         time.Time // zero when nothing falls due
	}{
		{"no interval", 0, noon, time.Time{}, time.Time{}},
		{"never in touch", 30, time.Time{}, time.Time{}, time.Time{}},
		{"never in touch, but snoozed", 30, time.Time{}, noon, time.Time{}},
		{"no interval, but snoozed", 0, noon, noon.AddDate(0, 1, 0), time.Time{}},
		{"an interval after the last contact", 30, noon, time.Time{}, noon.AddDate(0, 0, 30)},
		{"over the end of February", 1, time.Date(2028, 2, 28, 9, 0, 0, 0, time.UTC), time.Time{}, time.Date(2028, 2, 29, 9, 0, 0, 0, time.UTC)},
		{"snoozed beyond it", 30, noon, noon.AddDate(0, 0, 40), noon.AddDate(0, 0, 40)},
		{"snoozed until before it", 30, noon, noon.AddDate(0, 0, 20), noon.AddDate(0, 0, 30)},
		{"snoozed until then", 30, noon, noon.AddDate(0, 0, 30), noon.AddDate(0, 0, 30)},
		{"overdue for long", 7, noon.AddDate(-1, 0, 0), time.Time{}, noon.AddDate(-1, 0, 7)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			person := connection.Connection{CadenceDays: c.cadence, LastInteractionAt: c.last, SnoozedUntil: c.snooze}
			got, ok := person.NextDue()
			if !got.Equal(c.want) || ok == c.want.IsZero() {
				t.Errorf("got %v, %v; want %v", got, ok, c.want)
			}
		})
	}
}

func TestHeadline(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]connection.Position{
		"Founder at Helios": {Title: "Founder", Organization: "Helios"},
		"Founder":           {Title: "Founder"},
		"Helios":            {Organization: "Helios"},
		"":                  {},
	} {
		if got := p.Headline(); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
}

func TestCurrentPositionIsTheFirstStillHeld(t *testing.T) {
	t.Parallel()
	c := connection.Connection{Positions: []connection.Position{{Title: "past"}, {Title: "one", Current: true}, {Title: "two", Current: true}}}
	if got := c.CurrentPosition().Title; got != "one" {
		t.Errorf("got %q", got)
	}
	c.Positions = c.Positions[:1]
	if got := c.CurrentPosition(); got != (connection.Position{}) {
		t.Errorf("got %+v of somebody without one", got)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	c := connection.Connection{Handles: []connection.Handle{
		{Kind: connection.KindSocial, Value: "s"}, {Kind: connection.KindEmail, Value: "e1"}, {Kind: connection.KindURL, Value: "u"},
		{Kind: connection.KindPhone, Value: "p"}, {Kind: connection.KindEmail, Value: "e2"},
	}}
	for kind, want := range map[string][]string{
		connection.KindEmail: {"e1", "e2"}, connection.KindPhone: {"p"}, connection.KindURL: {"s", "u"}, connection.KindSocial: {"s"},
	} {
		if got := c.Values(kind); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
	}
}
