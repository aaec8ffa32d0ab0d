package insights

import (
	"context"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/uptrace/bun"
)

// Recency counts people by the month of their last contact; archived people are left out.
type Recency struct {
	// Months are consecutive, the earliest first. The last one is the current month, which includes
	// future contacts.
	Months []MonthCount
	// Earlier counts the people whose last contact was before the first month, Never those
	// without a contact.
	Earlier, Never int
}

// MonthCount is a month and the number of people whose last contact was in it.
type MonthCount struct {
	// First is the first day of the month.
	First  time.Time
	People int
}

// GetRecency counts people by the month of their last contact, in the latest months up to today's.
// It reads the member's search index, and nothing from the database.
func GetRecency(ix *index.Index, today time.Time, zone *time.Location, months int) Recency {
	s := ix.Summary()
	out := Recency{Months: make([]MonthCount, months), Never: s.NeverContacted()}
	later := 0
	for i := range months {
		at := &out.Months[months-1-i]
		at.First = time.Date(today.Year(), today.Month()-time.Month(i), 1, 0, 0, 0, 0, time.UTC)
		since := s.ContactedSince(civil.Start(at.First, zone))
		at.People, later = since-later, since
	}
	out.Earlier = s.People - out.Never - later
	return out
}

// maxCourse limits how many contacts ListCourses reads.
const maxCourse = 10_000

// ListCourses returns the score of each person at given times, in the order of the times, the
// earliest first. A contact counts from when it happened. People without a contact before the
// last time are missing. It takes one statement, and reads the latest 10,000 contacts.
func ListCourses(ctx context.Context, q db.Reader, who []string, times []time.Time) (map[string][]int, error) {
	out := make(map[string][]int, len(who))
	if len(who) == 0 || len(times) == 0 {
		return out, nil
	}
	var contacts []struct {
		ConnectionID string
		people.Contact
	}
	err := q.NewRaw(`SELECT l.connection_id, i.kind, i.occurred_at FROM interaction_connections l
JOIN interactions i ON i.tenant_id = l.tenant_id AND i.id = l.interaction_id
WHERE l.tenant_id = ? AND l.connection_id IN (?) AND i.occurred_at <= ? ORDER BY i.occurred_at DESC LIMIT ?`,
		q.TenantID(), bun.List(who), times[len(times)-1], maxCourse).Scan(ctx, &contacts)
	if err != nil {
		return nil, err
	}
	of := map[string][]people.Contact{}
	for _, c := range contacts {
		of[c.ConnectionID] = append(of[c.ConnectionID], c.Contact)
	}
	for id, list := range of {
		out[id] = Course(list, times)
	}
	return out, nil
}

// Course returns the score that contacts give at each of the times, the earliest first.
func Course(contacts []people.Contact, times []time.Time) []int {
	ordered := slices.SortedFunc(slices.Values(contacts), func(a, b people.Contact) int {
		return a.OccurredAt.Compare(b.OccurredAt)
	})
	out := make([]int, len(times))
	ties, next := 0.0, 0
	for i, at := range times {
		for next < len(ordered) && !ordered[next].OccurredAt.After(at) {
			ties += people.Tie(ordered[next].Kind, ordered[next].OccurredAt)
			next++
		}
		out[i] = people.ScoreOf(ties, at)
	}
	return out
}
