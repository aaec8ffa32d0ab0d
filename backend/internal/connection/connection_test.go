package connection_test

import (
	"slices"
	"testing"

	"github.com/kith-crm/kith/backend/internal/connection"
)

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
