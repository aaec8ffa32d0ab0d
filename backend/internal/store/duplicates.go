package store

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/duplicate"
)

// ListDuplicateCandidates returns of everybody who is not archived what can tell
// them from others, in one pass over each table.
func (t *Tenant) ListDuplicateCandidates(ctx context.Context) ([]duplicate.Person, error) {
	ctx, q := t.read(ctx)
	people, err := q.duplicateCandidates(ctx)
	return people, translate(err)
}

func (q scope) duplicateCandidates(ctx context.Context) ([]duplicate.Person, error) {
	var rows []connection.Connection
	err := q.from(&rows).Column("id", "name", "bio", "met_on", "last_interaction_at").Where("archived_at IS NULL").Order("id").Scan(ctx)
	if err != nil {
		return nil, err
	}
	people := make([]duplicate.Person, len(rows))
	byID := make(map[string]*duplicate.Person, len(rows))
	for i, c := range rows {
		people[i] = duplicate.Person{ID: c.ID, Name: c.Name}
		for _, known := range []bool{c.Bio != "", c.MetOn != "", !c.LastInteractionAt.IsZero()} {
			if known {
				people[i].OnFile++
			}
		}
		byID[c.ID] = &people[i]
	}
	var handles []connection.Handle
	if err := q.from(&handles).Order("connection_id", "ordinal").Scan(ctx); err != nil {
		return nil, err
	}
	for _, h := range handles {
		if p := byID[h.ConnectionID]; p != nil {
			p.Handles = append(p.Handles, h)
			p.OnFile++
		}
	}
	var positions []connection.Position
	if err := q.positions(&positions).Scan(ctx); err != nil {
		return nil, err
	}
	for _, held := range positions {
		p := byID[held.ConnectionID]
		if p == nil {
			continue
		}
		p.OnFile++
		if held.Current && p.Headline == "" {
			p.Headline = held.Headline()
		}
		if held.Current && held.Organization != "" {
			p.Organizations = append(p.Organizations, held.Organization)
		}
	}
	return people, nil
}
