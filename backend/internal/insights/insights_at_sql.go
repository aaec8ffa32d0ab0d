package insights

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/uptrace/bun"
)

// Limits on what is read about an organisation: people contacted last come first.
const (
	maxPlaces  = 20
	maxAtPlace = 1000
)

// ListPeopleAt reads the people who are tied to the organisations that a place matches, as
// of now. If an organisation has exactly the name, or the domain, organisations whose name
// only contains it are left out. It takes seven statements at most.
func ListPeopleAt(ctx context.Context, t *db.Tenant, place Place, past, oneStep bool, now time.Time) (AtRows, error) {
	var out AtRows
	err := t.Snapshot(ctx, func(ctx context.Context, q db.Reader) error {
		places, err := places(ctx, q, place)
		if err != nil {
			return err
		}
		for _, o := range places {
			out.Organizations = append(out.Organizations, o.Name)
		}
		if err := insiders(ctx, q, &out, places, place.Domain, past); err != nil {
			return err
		}
		everybody := out.Insiders()
		if oneStep && len(everybody) > 0 {
			err := q.From(&out.Relationships).Where("from_id IN (?) OR to_id IN (?)", bun.List(everybody), bun.List(everybody)).
				Order("id").Limit(2 * maxAtPlace).Scan(ctx)
			if err != nil {
				return err
			}
			for _, r := range out.Relationships {
				everybody = append(everybody, r.FromID, r.ToID)
			}
		}
		out.People, err = persons(ctx, q, everybody, now)
		return err
	})
	return out, err
}

// place is an organisation that matches; a lower rank is a better match.
type place struct {
	ID, Name string
	Rank     int
}

func places(ctx context.Context, q db.Reader, p Place) ([]place, error) {
	var found []place
	part := db.LikeEscape(p.Normal)
	err := q.NewRaw(`SELECT id, name, rank FROM (
SELECT id, name, normal_name, CASE WHEN normal_name = ?0 OR (?1 <> '' AND (lower(domain) = ?1 OR normal_name = ?2)) THEN 0
WHEN normal_name LIKE ?3 ESCAPE '\' THEN 1 WHEN normal_name LIKE ?4 ESCAPE '\' THEN 2 ELSE 3 END AS rank
FROM organizations WHERE tenant_id = ?5) AS o
WHERE rank < 3 ORDER BY rank, length(normal_name), normal_name LIMIT ?6`,
		p.Normal, p.Domain, people.NormalOrganization(p.Label), part+"%", "%"+part+"%", q.TenantID(), maxPlaces).Scan(ctx, &found)
	for i := range found {
		if found[0].Rank == 0 && found[i].Rank > 0 {
			return found[:i], err
		}
	}
	return found, err
}

// insiders reads the people who hold or held a position at the places, or have an address
// at the domain.
func insiders(ctx context.Context, q db.Reader, out *AtRows, places []place, domain string, past bool) error {
	if len(places) > 0 {
		err := q.NewRaw(`SELECT p.connection_id, o.name AS organization, p.title, p.started_on, p.ended_on, p.current FROM positions p
JOIN organizations o ON o.tenant_id = p.tenant_id AND o.id = p.organization_id
JOIN connections c ON c.tenant_id = p.tenant_id AND c.id = p.connection_id AND c.archived_at IS NULL
WHERE p.tenant_id = ? AND p.organization_id IN (?) AND (p.current OR ?)
ORDER BY p.current DESC, c.last_interaction_at DESC NULLS LAST, c.id, p.ordinal LIMIT ?`,
			q.TenantID(), bun.List(people.IDs(places, func(p place) string { return p.ID })), past, maxAtPlace).Scan(ctx, &out.Held)
		if err != nil {
			return err
		}
	}
	if domain == "" {
		return nil
	}
	return q.NewRaw(`SELECT h.connection_id, h.value FROM handles h
JOIN connections c ON c.tenant_id = h.tenant_id AND c.id = h.connection_id AND c.archived_at IS NULL
WHERE h.tenant_id = ? AND h.kind = 'email' AND h.normal_value LIKE ? ESCAPE '\'
ORDER BY c.last_interaction_at DESC NULLS LAST, c.id, h.ordinal LIMIT ?`,
		q.TenantID(), "%@"+db.LikeEscape(domain), maxAtPlace).Scan(ctx, &out.Mailboxes)
}
