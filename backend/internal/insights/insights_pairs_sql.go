package insights

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/uptrace/bun"
)

// ListAlike reads a person, those who share a trait with them, and some other people by
// id. For each kind of trait it reads at most LikesPerKind people, those contacted last.
// It fails with fault.NotFound for a person who does not exist. The number of statements
// is fixed.
func ListAlike(ctx context.Context, t *db.Tenant, id string, some []string, now time.Time) (of Portrait, others []Portrait, err error) {
	err = t.Snapshot(ctx, func(ctx context.Context, q db.Reader) error {
		portraits, err := alike(ctx, q, id, some, now)
		for other, p := range portraits {
			if other == id {
				of = p
			} else {
				others = append(others, p)
			}
		}
		return err
	})
	return of, others, err
}

// ListPairs reads the pairs of people who may gain from an introduction, and their data:
// for a person, those like them; otherwise the most promising pairs of circles that share
// a trait. The number of statements is fixed.
func ListPairs(ctx context.Context, t *db.Tenant, id string, now time.Time) (people map[string]Portrait, pairs []Pair, known Acquainted, err error) {
	err = t.Snapshot(ctx, func(ctx context.Context, q db.Reader) error {
		var err error
		if id == "" {
			people, pairs, err = promising(ctx, q, now)
		} else if people, err = alike(ctx, q, id, nil, now); err == nil {
			for other := range people {
				pairs = append(pairs, NewPair(id, other))
			}
		}
		if err != nil {
			return err
		}
		known, err = acquainted(ctx, q, id, people)
		return err
	})
	return people, pairs, known, err
}

// alike reads the portraits of a person, of people with the same organisation, title,
// group, tag or place, and of some others.
func alike(ctx context.Context, q db.Reader, id string, some []string, now time.Time) (map[string]Portrait, error) {
	if err := people.Live(ctx, q, id); err != nil {
		return nil, err
	}
	who := []string{id}
	if len(some) > 0 {
		var there []string
		if err := q.NewRaw("SELECT id FROM connections WHERE tenant_id = ? AND archived_at IS NULL AND id IN (?)", q.TenantID(), bun.List(some)).Scan(ctx, &there); err != nil {
			return nil, err
		}
		who = append(who, there...)
	}
	for _, sharing := range []string{
		`c.id IN (SELECT p.connection_id FROM positions o JOIN positions p ON p.tenant_id = o.tenant_id AND p.organization_id = o.organization_id
WHERE o.tenant_id = ?0 AND o.connection_id = ?1)`,
		`c.id IN (SELECT p.connection_id FROM positions o JOIN positions p ON p.tenant_id = o.tenant_id AND p.title = o.title AND p.current
WHERE o.tenant_id = ?0 AND o.connection_id = ?1 AND o.current AND o.title <> '')`,
		`c.id IN (SELECT p.connection_id FROM group_connections o JOIN group_connections p ON p.tenant_id = o.tenant_id AND p.group_id = o.group_id
WHERE o.tenant_id = ?0 AND o.connection_id = ?1)`,
		`c.id IN (SELECT p.connection_id FROM connection_tags o JOIN connection_tags p ON p.tenant_id = o.tenant_id AND p.tag_id = o.tag_id
WHERE o.tenant_id = ?0 AND o.connection_id = ?1)`,
		`c.location <> '' AND c.location = (SELECT o.location FROM connections o WHERE o.tenant_id = ?0 AND o.id = ?1)`,
	} {
		var some []string
		err := q.NewRaw("SELECT c.id FROM connections c WHERE c.tenant_id = ?0 AND c.archived_at IS NULL AND c.id <> ?1 AND "+sharing+
			" ORDER BY c.last_interaction_at DESC NULLS LAST, c.id LIMIT ?2", q.TenantID(), id, LikesPerKind).Scan(ctx, &some)
		if err != nil {
			return nil, err
		}
		who = append(who, some...)
	}
	return portraits(ctx, q, who, now)
}

// promising reads the circles of people who share a trait, and the portraits of the pairs
// in them that share most.
func promising(ctx context.Context, q db.Reader, now time.Time) (map[string]Portrait, []Pair, error) {
	var circlesFound []Circle
	for _, of := range []struct{ kind, members string }{
		{KindOrganization, "SELECT DISTINCT organization_id AS circle, connection_id FROM positions WHERE tenant_id = ?0 AND organization_id IS NOT NULL"},
		{KindGroup, "SELECT group_id AS circle, connection_id FROM group_connections WHERE tenant_id = ?0"},
		{KindTag, "SELECT tag_id AS circle, connection_id FROM connection_tags WHERE tenant_id = ?0"},
		{KindPlace, "SELECT location AS circle, id AS connection_id FROM connections WHERE tenant_id = ?0 AND location <> ''"},
	} {
		found, err := circles(ctx, q, of.members)
		if err != nil {
			return nil, nil, err
		}
		for _, ids := range found {
			circlesFound = append(circlesFound, Circle{Kind: of.kind, IDs: ids})
		}
	}
	pairs := Promising(circlesFound)
	var who []string
	for _, p := range pairs {
		who = append(who, p.First, p.Second)
	}
	people, err := portraits(ctx, q, who, now)
	return people, pairs, err
}

// circles reads the members of the smallest circles; in each circle, those contacted last.
func circles(ctx context.Context, q db.Reader, members string) ([][]string, error) {
	var rows []struct{ Circle, ConnectionID string }
	err := q.NewRaw(`SELECT circle, connection_id FROM (
SELECT m.circle, m.connection_id, count(*) OVER (PARTITION BY m.circle) AS size,
row_number() OVER (PARTITION BY m.circle ORDER BY c.last_interaction_at DESC NULLS LAST, c.id) AS place
FROM (`+members+`) AS m JOIN connections c ON c.tenant_id = ?0 AND c.id = m.connection_id AND c.archived_at IS NULL) AS r
WHERE size > 1 AND place <= ?1 ORDER BY size, circle, place LIMIT ?2`, q.TenantID(), CircleSize, CircleRows).Scan(ctx, &rows)
	var out [][]string
	for i, row := range rows {
		if i == 0 || rows[i-1].Circle != row.Circle {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], row.ConnectionID)
	}
	return out, err
}

// portraits reads the people who are not archived, with the data that others may share.
func portraits(ctx context.Context, q db.Reader, who []string, now time.Time) (map[string]Portrait, error) {
	out := map[string]Portrait{}
	persons, err := Portrayed(ctx, q, who)
	if err != nil || len(persons) == 0 {
		return out, err
	}
	groups, err := groupsOf(ctx, q, who)
	if err != nil {
		return nil, err
	}
	byPerson := map[string][]Membership{}
	for _, g := range groups {
		byPerson[g.ConnectionID] = append(byPerson[g.ConnectionID], g)
	}
	strengths, err := people.Strengths(ctx, q, who, now)
	for i := range persons {
		c := &persons[i]
		current := c.CurrentPosition()
		out[c.ID] = Portrait{
			Person: Person{
				ID: c.ID, Name: c.Name, Organization: current.Organization, Title: current.Title,
				LastInteractionAt: c.LastInteractionAt, Strength: strengths[c.ID],
			},
			Traits: traitsOf(c, byPerson[c.ID]),
		}
	}
	return out, err
}

// acquainted reads which of the people know each other, by a relationship or an
// interaction that both took part in; with an id, only the pairs with that person.
func acquainted(ctx context.Context, q db.Reader, id string, persons map[string]Portrait) (Acquainted, error) {
	known := Acquainted{}
	who := make([]string, 0, len(persons))
	for other := range persons {
		who = append(who, other)
	}
	if len(who) == 0 {
		return known, nil
	}
	var ties []people.Relationship
	if err := q.From(&ties).Where("from_id IN (?) AND to_id IN (?)", bun.List(who), bun.List(who)).Scan(ctx); err != nil {
		return nil, err
	}
	for _, r := range ties {
		known[NewPair(r.FromID, r.ToID)] = true
	}
	return known, metTogether(ctx, q, id, who, known)
}

// metTogether adds the people who took part in an interaction together. It reads each
// person's interactions by the index and combines them in Go: for a join of the table with
// itself, a planner without statistics may choose a very bad plan.
func metTogether(ctx context.Context, q db.Reader, id string, who []string, known Acquainted) error {
	query := "SELECT interaction_id, connection_id FROM interaction_connections WHERE tenant_id = ? AND connection_id IN (?)"
	args := []any{q.TenantID(), bun.List(who)}
	if id != "" {
		query = `SELECT interaction_id, connection_id FROM interaction_connections WHERE tenant_id = ?
AND interaction_id IN (SELECT interaction_id FROM interaction_connections WHERE tenant_id = ? AND connection_id = ?)`
		args = []any{q.TenantID(), q.TenantID(), id}
	}
	var rows []struct{ InteractionID, ConnectionID string }
	if err := q.NewRaw(query, args...).Scan(ctx, &rows); err != nil {
		return err
	}
	together := map[string][]string{}
	for _, row := range rows {
		for _, other := range together[row.InteractionID] {
			known[NewPair(other, row.ConnectionID)] = true
		}
		together[row.InteractionID] = append(together[row.InteractionID], row.ConnectionID)
	}
	return nil
}
