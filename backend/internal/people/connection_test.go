package people_test

import (
	"slices"
	"testing"

	"github.com/kith-crm/kith/backend/internal/people"
)

func TestHeadline(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]people.Position{
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
	c := people.Connection{Positions: []people.Position{{Title: "past"}, {Title: "one", Current: true}, {Title: "two", Current: true}}}
	if got := c.CurrentPosition().Title; got != "one" {
		t.Errorf("got %q", got)
	}
	c.Positions = c.Positions[:1]
	if got := c.CurrentPosition(); got != (people.Position{}) {
		t.Errorf("got %+v for a person without one", got)
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	c := people.Connection{Handles: []people.Handle{
		{Kind: people.KindSocial, Value: "s"}, {Kind: people.KindEmail, Value: "e1"}, {Kind: people.KindURL, Value: "u"},
		{Kind: people.KindPhone, Value: "p"}, {Kind: people.KindEmail, Value: "e2"},
	}}
	for kind, want := range map[string][]string{
		people.KindEmail: {"e1", "e2"}, people.KindPhone: {"p"}, people.KindURL: {"s", "u"}, people.KindSocial: {"s"},
	} {
		if got := c.Values(kind); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
	}
}
