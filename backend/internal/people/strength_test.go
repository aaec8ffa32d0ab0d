package people_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/people"
	"pgregory.net/rapid"
)

func TestOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ago := func(days int) time.Time { return now.AddDate(0, 0, -days) }
	for name, c := range map[string]struct {
		contacts []people.Contact
		want     people.Strength
	}{
		"nothing":           {nil, people.Strength{}},
		"a meeting today":   {[]people.Contact{{Kind: "meeting", OccurredAt: now}}, people.Strength{Score: 53, Meetings: 1, LastInteractionAt: now}},
		"half a year old":   {[]people.Contact{{Kind: "meeting", OccurredAt: ago(180)}}, people.Strength{Score: 31, Meetings: 1, LastInteractionAt: ago(180)}},
		"a call":            {[]people.Contact{{Kind: "call", OccurredAt: now}}, people.Strength{Score: 39, Calls: 1, LastInteractionAt: now}},
		"mail and message":  {[]people.Contact{{Kind: "email", OccurredAt: now}, {Kind: "message", OccurredAt: ago(1)}}, people.Strength{Score: 39, Messages: 2, LastInteractionAt: now}},
		"an event is none":  {[]people.Contact{{Kind: "event", OccurredAt: now}}, people.Strength{LastInteractionAt: now}},
		"one in the future": {[]people.Contact{{Kind: "meeting", OccurredAt: ago(-1)}}, people.Strength{Score: 53, Meetings: 1, LastInteractionAt: ago(-1)}},
	} {
		if diff := cmp.Diff(c.want, people.Of(c.contacts, now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// More contacts, or later ones, never lower the score; the score stays within its bounds.
func TestOfGrows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		contacts := rapid.SliceOf(rapid.Custom(func(t *rapid.T) people.Contact {
			return people.Contact{
				Kind:       rapid.SampledFrom([]string{"meeting", "call", "email", "message", "event", "other"}).Draw(t, "kind"),
				OccurredAt: now.Add(-time.Duration(rapid.IntRange(0, 5000).Draw(t, "hours")) * time.Hour),
			}
		})).Draw(t, "contacts")
		last := -1
		for n := range len(contacts) + 1 {
			score := people.Of(contacts[:n], now).Score
			if score < last || score > 100 {
				t.Fatalf("%d after %d", score, last)
			}
			last = score
		}
	})
}

func TestSumIsTheInverseOfScore(t *testing.T) {
	t.Parallel()
	for score := range 100 {
		if got := people.Score(people.Sum(score)); got != score {
			t.Errorf("%d gives %d", score, got)
		}
	}
}
