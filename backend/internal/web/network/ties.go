package network

import (
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/insights"
	insightsv1 "github.com/kith-crm/kith/proto/gen/kith/insights/v1"
)

// ties is a chart with a line for each person: how close they were in the last two years.
type ties struct {
	ID, Title, Lead string
	Height          int
	Rows            []tieRow
	// None is the text to show without rows.
	None string
}

// tieRow is a person, and their score in the course of time.
type tieRow struct {
	person

	Score       int32
	LastContact time.Time
	// Course has a score for each month, the last one is of now; Line is its curve.
	Course []int
	Line   string
	// Top is in pixels.
	Top int
}

// Ago returns the score that the person had some months ago.
func (r tieRow) Ago(months int) int { return r.Course[len(r.Course)-1-months] }

// addTies adds the closest people, and those with whom the member loses touch.
func (v *request) addTies(c *content) error {
	var who []string
	for _, p := range slices.Concat(c.GetClosest(), c.GetFading()) {
		who = append(who, p.GetId())
	}
	times := make([]time.Time, courseMonths+1)
	for i := range times {
		times[i] = v.At.AddDate(0, i-courseMonths, 0)
	}
	courses, err := insights.ListCourses(v.Ctx, v.Data(), who, times)
	if err != nil {
		return err
	}
	c.Closest = ties{
		ID: "closest", Title: "Closest to you", Rows: v.tieRows(c.GetClosest(), courses), Lead: "How close you were in the last two years, from 0 to 100.",
		None: "Nobody yet. Kith measures this by the meetings, calls and messages that you log.",
	}
	c.Fading = ties{
		ID: "fading", Title: "Losing touch", Rows: v.tieRows(c.GetFading(), courses), Lead: "You were close, and had no contact for half a year.",
		None: "Nobody. You were in touch with everybody who was close to you.",
	}
	for _, t := range []*ties{&c.Closest, &c.Fading} {
		t.Height = len(t.Rows) * tieHeight
	}
	return nil
}

func (v *request) tieRows(people []*insightsv1.Person, courses map[string][]int) []tieRow {
	rows := make([]tieRow, len(people))
	for i, p := range people {
		strength := p.GetStrength()
		course := courses[p.GetId()]
		if course == nil {
			course = make([]int, courseMonths+1)
		}
		course[courseMonths] = int(strength.GetScore()) // future contacts count as of now
		rows[i] = tieRow{person: v.person(p), Score: strength.GetScore(), Course: course, Line: curve(course), Top: i * tieHeight}
		rows[i].LastContact, _ = time.Parse(time.DateOnly, strength.GetLastContactOn()) // zero if there is none
	}
	return rows
}
