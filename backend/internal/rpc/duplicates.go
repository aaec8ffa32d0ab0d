package rpc

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/duplicate"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// maxReason is the contract's bound on a reason, less the ellipsis.
const maxReason = 299

// FindDuplicates implements the RPC.
func (h *connections) FindDuplicates(ctx context.Context, req *connectionsv1.FindDuplicatesRequest) (*connectionsv1.FindDuplicatesResponse, error) {
	p := tenant.PrincipalFrom(ctx)
	data := h.store.Tenant(p.Tenant, p.ReadOnly)
	q := duplicate.Query{ConnectionID: req.GetConnectionId(), MinScore: duplicate.DefaultMinScore, Limit: defaultLimit}
	if req.MinScore != nil {
		q.MinScore = req.GetMinScore()
	}
	if req.Limit != nil {
		q.Limit = int(req.GetLimit())
	}
	if q.ConnectionID != "" {
		if _, err := data.GetConnection(ctx, q.ConnectionID); err != nil {
			return nil, err
		}
	}
	people, err := data.ListDuplicateCandidates(ctx)
	if err != nil {
		return nil, err
	}
	pairs, more := duplicate.Find(people, q)
	res := &connectionsv1.FindDuplicatesResponse{HasMore: more}
	for _, pair := range pairs {
		m := &connectionsv1.DuplicatePair{First: pairMember(pair.First), Second: pairMember(pair.Second), Score: pair.Score}
		for _, reason := range pair.Reasons[:min(len(pair.Reasons), 10)] {
			m.Reasons = append(m.Reasons, text.Truncate(reason, maxReason))
		}
		res.Pairs = append(res.Pairs, m)
	}
	return res, nil
}

func pairMember(p duplicate.Person) *connectionsv1.ResolvedPerson {
	return &connectionsv1.ResolvedPerson{Id: p.ID, Name: p.Name, Headline: p.Headline}
}
