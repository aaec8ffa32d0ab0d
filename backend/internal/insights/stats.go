package insights

import (
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/people"
)

// Stats is the network in figures; archived people count only in Archived.
type Stats struct {
	People, Archived, Notes, Interactions                           int
	Contacted30, Contacted365, NeverContacted, AddedLast30, Overdue int
	Closest, Fading                                                 []Person
	Organizations, Places, Groups, Tags                             []Count
}

// Count says how many people something has.
type Count struct {
	Name   string
	People int
}

// Bounds and thresholds of Stats.
const (
	// Top is how many people, organisations, places, groups and tags are told.
	Top = 10
	// FadingScore is how close the member must have been at the last contact, and
	// FadingAfter how long ago that must be, for a tie to be fading.
	FadingScore = 40
	FadingAfter = 182 * 24 * time.Hour
)

// countOverdue counts the people whose interval is over by half or more.
func countOverdue(people []people.Connection, now time.Time, zone *time.Location) int {
	n, today := 0, civil.Of(now, zone)
	for i := range people {
		if c := &people[i]; c.Cadence().Overdue(today, zone) && !c.Cadence().Snoozed(today) {
			n++
		}
	}
	return n
}
