package insights

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/uptrace/bun"
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

// GetStats returns the statistics of the network, as of now; the time zone decides which day
// is today. It counts people in the member's search index, and takes one statement, and three more
// if people have future contacts.
func GetStats(ctx context.Context, q db.Reader, ix *index.Index, now time.Time, zone *time.Location) (*Stats, error) {
	const day = 24 * time.Hour
	s := ix.Summary()
	today := civil.Of(now, zone)
	out := &Stats{
		People: s.People, Archived: s.Archived,
		Contacted30: s.ContactedSince(now.Add(-30 * day)), Contacted365: s.ContactedSince(now.Add(-365 * day)),
		NeverContacted: s.NeverContacted(), AddedLast30: s.CreatedSince(now.Add(-30 * day)),
		Overdue:       s.Due(index.DueQuery{Today: today, Until: today, Zone: zone}).Overdue,
		Organizations: counts(s.Top(index.Organizations)), Places: counts(s.Top(index.Locations)),
		Groups: counts(s.Top(index.Groups)), Tags: counts(s.Top(index.Tags)),
	}
	merged := 0 // they count as archived, and the index doesn't hold them
	err := q.NewRaw(`SELECT notes, interactions, (SELECT count(*) FROM connections WHERE tenant_id = ?0 AND merged_into IS NOT NULL)
FROM tenant_states WHERE tenant_id = ?0`, q.TenantID()).Scan(ctx, &out.Notes, &out.Interactions, &merged)
	if err != nil {
		return nil, err
	}
	out.Archived += merged
	return out, addExtremes(ctx, q, out, ix, s, now)
}

func counts(top []index.Count) []Count {
	out := make([]Count, len(top))
	for i, c := range top {
		out[i] = Count{Name: c.Value, People: c.People}
	}
	return out
}

// addExtremes adds the people the member is closest to, and those with a fading tie. For the
// latter, the strength is that of the day of the last contact.
func addExtremes(ctx context.Context, q db.Reader, out *Stats, ix *index.Index, s *index.Summary, now time.Time) (err error) {
	n := newNetwork(ix, now)
	closest := s.Closest(now, Top)
	if ahead := s.ContactedAfter(now); len(ahead) > 0 {
		if closest, err = n.closest(ctx, q, append(closest, ahead...)); err != nil {
			return err
		}
	}
	if out.Closest, err = n.persons(ctx, q, closest); err != nil {
		return err
	}
	out.Fading, err = n.persons(ctx, q, s.Fading(people.Sum(FadingScore), now.Add(-FadingAfter), Top))
	return err
}

func ids(docs []*index.Document) []string {
	return people.IDs(docs, func(d *index.Document) string { return d.ID })
}

// closest returns the Top closest of some people, by all contacts that are stored.
func (n *network) closest(ctx context.Context, q db.Reader, of []*index.Document) ([]*index.Document, error) {
	var closest []string
	err := q.NewRaw(`SELECT connection_id FROM (SELECT ? FROM interaction_connections l
JOIN interactions i ON i.tenant_id = l.tenant_id AND i.id = l.interaction_id WHERE l.tenant_id = ? AND l.connection_id IN (?) GROUP BY l.connection_id) AS s
WHERE total > 0 ORDER BY total DESC, connection_id LIMIT ?`, people.Closeness(q, n.now), q.TenantID(), bun.List(ids(of)), Top).Scan(ctx, &closest)
	var out []*index.Document
	for _, id := range closest {
		if d, ok := n.look.Find(id); ok {
			out = append(out, d)
		}
	}
	return out, err
}
