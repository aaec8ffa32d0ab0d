package insights

import (
	"context"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/uptrace/bun"
)

// maxPlaces limits how many organisations a name matches, and maxRelationships how many
// relationships of the people there are read.
const (
	maxPlaces        = 20
	maxRelationships = 2000
)

// AtOptions say which people ListPeopleAt looks for.
type AtOptions struct {
	// Past asks for people who were there, and OneStep for people who know one of them.
	Past, OneStep bool
	// Limit is how many people are needed.
	Limit int
}

// ListPeopleAt reads the people with a tie to the organisations that match a place, as of now:
// those whom PeopleAt ranks first. If an organisation has exactly the name, or the domain,
// organisations whose name only contains it are left out. It finds the people in the member's
// search index, and takes four statements at most, and two more if people have future contacts.
func ListPeopleAt(ctx context.Context, q db.Reader, ix *index.Index, place Place, o AtOptions, now time.Time) (AtRows, error) {
	var out AtRows
	places, err := places(ctx, q, place)
	if err != nil {
		return out, err
	}
	for _, p := range places {
		out.Organizations = append(out.Organizations, p.Name)
	}
	n := newNetwork(ix, now)
	insiders, err := n.firstInsiders(ctx, q, ix.Summary(), place, out.Organizations, o)
	if err != nil {
		return out, err
	}
	there := people.IDs(insiders, func(p Person) string { return p.ID })
	if err := readTies(ctx, q, &out, places, place.Domain, o.Past, there); err != nil {
		return out, err
	}
	out.People = make(map[string]Person, len(insiders))
	for _, p := range insiders {
		out.People[p.ID] = p
	}
	if !o.OneStep || len(there) == 0 || len(there) >= o.Limit {
		return out, nil
	}
	return out, n.addOneStep(ctx, q, &out, there)
}

// addOneStep adds the relationships of the people who are there, and who they are with.
func (n *network) addOneStep(ctx context.Context, q db.Reader, out *AtRows, there []string) error {
	err := q.From(&out.Relationships).Where("from_id IN (?) OR to_id IN (?)", bun.List(there), bun.List(there)).
		Order("id").Limit(maxRelationships).Scan(ctx)
	if err != nil {
		return err
	}
	var others []*index.Document
	for _, r := range out.Relationships {
		for _, id := range []string{r.FromID, r.ToID} {
			if d, ok := n.look.Find(id); ok {
				others = append(others, d)
			}
		}
	}
	persons, err := n.persons(ctx, q, others)
	for _, p := range persons {
		out.People[p.ID] = p
	}
	return err
}

// firstInsiders returns the people who are or were at the organisations, or have an address at the
// domain. If they are more than the limit, it returns those whom PeopleAt ranks first.
func (n *network) firstInsiders(ctx context.Context, q db.Reader, s *index.Summary, p Place, organizations []string, o AtOptions) ([]Person, error) {
	var docs []*index.Document
	current := map[string]bool{}
	s.PeopleAt(organizations, p.Domain, o.Past, func(at index.At) {
		docs = append(docs, at.Document)
		current[at.ID] = at.Current
	})
	persons, err := n.persons(ctx, q, docs)
	slices.SortFunc(persons, func(a, b Person) int {
		if current[a.ID] != current[b.ID] {
			return map[bool]int{true: -1, false: 1}[current[a.ID]]
		}
		return compareClose(&a, &b)
	})
	return persons[:min(o.Limit, len(persons))], err
}

// place is an organisation that matches; a lower rank is a better match.
type place struct {
	ID, Name string
	Rank     int
}

// places finds organisations: with the index on their names, and if there is none of exactly
// that name, by reading the names of all.
func places(ctx context.Context, q db.Reader, p Place) ([]place, error) {
	var found []place
	label := people.NormalOrganization(p.Label)
	if p.Domain == "" {
		err := q.NewRaw("SELECT id, name FROM organizations WHERE tenant_id = ? AND normal_name = ?", q.TenantID(), p.Normal).Scan(ctx, &found)
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	err := q.NewRaw(`SELECT id, name, rank FROM (
SELECT id, name, normal_name, CASE WHEN normal_name = ?0 OR (?1 <> '' AND (lower(domain) = ?1 OR normal_name = ?2)) THEN 0
WHEN normal_name LIKE ?3 || '%' ESCAPE '\' THEN 1 WHEN normal_name LIKE '%' || ?3 || '%' ESCAPE '\' THEN 2 ELSE 3 END AS rank
FROM organizations WHERE tenant_id = ?4) AS o
WHERE rank < 3 ORDER BY rank, length(normal_name), normal_name LIMIT ?5`,
		p.Normal, p.Domain, label, db.LikeEscape(p.Normal), q.TenantID(), maxPlaces).Scan(ctx, &found)
	for i := range found {
		if found[0].Rank == 0 && found[i].Rank > 0 {
			return found[:i], err
		}
	}
	return found, err
}

// readTies reads the positions of people at the places, and their addresses at the domain.
func readTies(ctx context.Context, q db.Reader, out *AtRows, places []place, domain string, past bool, who []string) error {
	if len(who) == 0 {
		return nil
	}
	if len(places) > 0 {
		err := q.NewRaw(`SELECT p.connection_id, o.name AS organization, p.title, p.started_on, p.ended_on, p.current FROM positions p
JOIN organizations o ON o.tenant_id = p.tenant_id AND o.id = p.organization_id
WHERE p.tenant_id = ? AND p.connection_id IN (?) AND p.organization_id IN (?) AND (p.current OR ?)
ORDER BY p.current DESC, p.connection_id, p.ordinal`,
			q.TenantID(), bun.List(who), bun.List(people.IDs(places, func(p place) string { return p.ID })), past).Scan(ctx, &out.Held)
		if err != nil {
			return err
		}
	}
	if domain == "" {
		return nil
	}
	return q.NewRaw(`SELECT connection_id, value FROM handles WHERE tenant_id = ? AND connection_id IN (?)
AND kind = 'email' AND normal_value LIKE '%@' || ? ESCAPE '\' ORDER BY connection_id, ordinal`,
		q.TenantID(), bun.List(who), db.LikeEscape(domain)).Scan(ctx, &out.Mailboxes)
}
