package insights

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/uptrace/bun"
)

// headlines returns those of the people who are not archived, without their strengths, by
// id.
func headlines(ctx context.Context, q db.Reader, ids []string) (map[string]Person, error) {
	out := make(map[string]Person, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	var persons []people.Connection
	err := q.From(&persons).Column("id", "name", "last_interaction_at").
		Where("id IN (?)", bun.List(ids)).Where("archived_at IS NULL").Scan(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range persons {
		out[c.ID] = Person{ID: c.ID, Name: c.Name, LastInteractionAt: c.LastInteractionAt}
	}
	var current []people.Position
	err = people.Positions(q, &current).Where("?TableAlias.connection_id IN (?)", bun.List(ids)).Where("?TableAlias.current").Scan(ctx)
	seen := map[string]bool{}
	for _, p := range current {
		if person, live := out[p.ConnectionID]; live && !seen[p.ConnectionID] {
			seen[p.ConnectionID] = true
			person.Organization, person.Title = p.Organization, p.Title
			out[p.ConnectionID] = person
		}
	}
	return out, err
}

// ListHeadlines returns those of the people who are not archived, by id, without their
// strengths. It takes two statements.
func ListHeadlines(ctx context.Context, q db.Reader, who []string) (map[string]Person, error) {
	people, err := headlines(ctx, q, who)
	return people, err
}
