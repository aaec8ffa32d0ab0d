package insights_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/insights"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"pgregory.net/rapid"
)

// At each time, the score is that of the contacts until then.
func TestCourse(t *testing.T) {
	t.Parallel()
	start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		contacts := rapid.SliceOf(rapid.Custom(func(t *rapid.T) people.Contact {
			return people.Contact{
				Kind:       rapid.SampledFrom([]string{"meeting", "call", "email", "event"}).Draw(t, "kind"),
				OccurredAt: start.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(t, "hours")) * time.Hour),
			}
		})).Draw(t, "contacts")
		var times []time.Time
		var want []int
		for month := range 25 {
			at := start.AddDate(0, month, 0)
			var until []people.Contact
			for _, c := range contacts {
				if !c.OccurredAt.After(at) {
					until = append(until, c)
				}
			}
			times, want = append(times, at), append(want, people.Of(until, at).Score)
		}
		if diff := cmp.Diff(want, insights.Course(contacts, times)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestGetRecency(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	ix := index.New()
	for id, at := range map[string]string{
		"con_1": "2026-03-01T04:30:00Z", // February in New York
		"con_2": "2026-03-01T05:00:00Z", "con_3": "2026-05-01T00:00:00Z", "con_4": "2026-01-31T12:00:00Z", "con_5": "",
		"con_6": "2026-03-15T00:00:00Z",
	} {
		d := index.Document{ID: id, Name: "Name " + id, Archived: id == "con_6"}
		if at != "" {
			if d.LastInteractionAt, err = time.Parse(time.RFC3339, at); err != nil {
				t.Fatal(err)
			}
		}
		ix.Put(d)
	}
	day := func(month time.Month) time.Time { return time.Date(2026, month, 1, 0, 0, 0, 0, time.UTC) }
	want := insights.Recency{Months: []insights.MonthCount{{day(2), 1}, {day(3), 1}, {day(4), 1}}, Earlier: 1, Never: 1}
	if diff := cmp.Diff(want, insights.GetRecency(ix, time.Date(2026, 4, 30, 0, 0, 0, 0, time.UTC), zone, 3)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
