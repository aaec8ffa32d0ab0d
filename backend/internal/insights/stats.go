package insights

import (
	"time"
)

// Stats is the statistics of the network; archived people count only in Archived.
type Stats struct {
	People, Archived, Notes, Interactions                           int
	Contacted30, Contacted365, NeverContacted, AddedLast30, Overdue int
	Closest, Fading                                                 []Person
	Organizations, Places, Groups, Tags                             []Count
}

// Count is a name and its number of people.
type Count struct {
	Name   string
	People int
}

// Limits and thresholds of Stats.
const (
	// Top is how many people, organisations, places, groups and tags are listed.
	Top = 10
	// FadingScore is the lowest score at the last contact, and FadingAfter the shortest
	// time since then, of a fading tie.
	FadingScore = 40
	FadingAfter = 182 * 24 * time.Hour
)
