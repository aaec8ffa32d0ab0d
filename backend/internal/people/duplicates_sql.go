package people

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/db"
)

// ListDuplicateCandidates returns, for everyone who is not archived, the data that
// distinguishes people from each other. It reads each table once.
func ListDuplicateCandidates(ctx context.Context, q db.Reader) ([]Candidate, error) {
	people, err := duplicateCandidates(ctx, q)
	return people, err
}

func duplicateCandidates(ctx context.Context, q db.Reader) ([]Candidate, error) {
	var rows []Connection
	err := q.From(&rows).Column("id", "name", "bio", "met_on", "last_interaction_at").Where("archived_at IS NULL").Order("id").Scan(ctx)
	if err != nil {
		return nil, err
	}
	people := make([]Candidate, len(rows))
	byID := make(map[string]*Candidate, len(rows))
	for i, c := range rows {
		people[i] = Candidate{ID: c.ID, Name: c.Name}
		for _, known := range []bool{c.Bio != "", c.MetOn != "", !c.LastInteractionAt.IsZero()} {
			if known {
				people[i].OnFile++
			}
		}
		byID[c.ID] = &people[i]
	}
	var handles []Handle
	if err := q.From(&handles).Order("connection_id", "ordinal").Scan(ctx); err != nil {
		return nil, err
	}
	for _, h := range handles {
		if p := byID[h.ConnectionID]; p != nil {
			p.Handles = append(p.Handles, h)
			p.OnFile++
		}
	}
	var positionsFound []Position
	if err := Positions(q, &positionsFound).Scan(ctx); err != nil {
		return nil, err
	}
	for _, held := range positionsFound {
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
