package rpc

import (
	"context"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/finder"
	"github.com/kith-crm/kith/backend/internal/insight"
	"github.com/kith-crm/kith/backend/internal/recall"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/tenant"
	insightsv1 "github.com/kith-crm/kith/proto/gen/kith/insights/v1"
)

// defaultIntroductions is how many pairs are suggested unless a caller says.
const defaultIntroductions = 5

// insights implements InsightService.
type insights struct {
	store  *store.Store
	finder *finder.Finder
	recall *recall.Searcher
	now    func() time.Time
}

// data is the caller's tenant, and the present.
func (h *insights) data(ctx context.Context) (*store.Tenant, time.Time) {
	p := tenant.PrincipalFrom(ctx)
	return h.store.Tenant(p.Tenant, p.ReadOnly), h.now().UTC()
}

// limitOf is the limit asked for, or the usual one.
func limitOf(limit *int32, usual int) int {
	if limit == nil {
		return usual
	}
	return int(*limit)
}

func (h *insights) FindPeopleAt(ctx context.Context, req *insightsv1.FindPeopleAtRequest) (*insightsv1.FindPeopleAtResponse, error) {
	data, now := h.data(ctx)
	place := insight.ParsePlace(req.GetOrganization())
	if place.Normal == "" {
		return nil, fault.InvalidField("organization", "must be the name or the web domain of an organisation")
	}
	past, oneStep := req.IncludePast == nil || req.GetIncludePast(), req.IncludeOneStep == nil || req.GetIncludeOneStep()
	rows, err := data.ListPeopleAt(ctx, place, past, oneStep, now)
	if err != nil {
		return nil, err
	}
	found, limit := insight.PeopleAt(rows), limitOf(req.Limit, defaultLimit)
	if len(found) == 0 && len(rows.Organizations) == 0 {
		return nil, h.unknownPlace(ctx, req.GetOrganization())
	}
	res := &insightsv1.FindPeopleAtResponse{Organizations: rows.Organizations, HasMore: len(found) > limit}
	for _, at := range found[:min(limit, len(found))] {
		res.People = append(res.People, &insightsv1.PersonAt{
			Person: personMessage(at.Person), Tie: at.Tie, Evidence: evidenceMessages(at.Evidence),
		})
	}
	return res, nil
}

// unknownPlace says that no organisation is on file that a caller's word names.
func (h *insights) unknownPlace(ctx context.Context, name string) error {
	p := tenant.PrincipalFrom(ctx)
	index, err := h.finder.Index(ctx, p.Tenant, p.DataVersion)
	if err != nil {
		return err
	}
	return unknownOrganization(index, "organization", name)
}

func (h *insights) PrepareMeeting(ctx context.Context, req *insightsv1.PrepareMeetingRequest) (*insightsv1.PrepareMeetingResponse, error) {
	data, now := h.data(ctx)
	rows, err := data.LoadMeeting(ctx, req.GetConnectionIds(), now)
	if err != nil {
		return nil, err
	}
	briefing := insight.Prepare(rows, req.GetTopic(), now, zoneOf(ctx))
	res := &insightsv1.PrepareMeetingResponse{Common: evidenceMessages(briefing.Common)}
	for _, b := range briefing.People {
		res.People = append(res.People, &insightsv1.PersonBriefing{
			Person: personMessage(b.Person), Background: evidenceMessages(b.Background), Recent: evidenceMessages(b.Recent),
			Notes: evidenceMessages(b.Notes), Due: evidenceMessages(b.Due),
		})
	}
	return res, nil
}

func (h *insights) SuggestIntroductions(ctx context.Context, req *insightsv1.SuggestIntroductionsRequest) (*insightsv1.SuggestIntroductionsResponse, error) {
	data, now := h.data(ctx)
	people, pairs, known, err := data.ListPairs(ctx, req.GetConnectionId(), now)
	if err != nil {
		return nil, err
	}
	res := &insightsv1.SuggestIntroductionsResponse{}
	for _, i := range insight.SuggestIntroductions(req.GetConnectionId(), people, pairs, known, limitOf(req.Limit, defaultIntroductions)) {
		res.Introductions = append(res.Introductions, &insightsv1.Introduction{
			First: personMessage(i.First), Second: personMessage(i.Second), Score: i.Score, Reasons: evidenceMessages(i.Reasons),
		})
	}
	return res, nil
}

func (h *insights) FindSimilarConnections(ctx context.Context, req *insightsv1.FindSimilarConnectionsRequest) (*insightsv1.FindSimilarConnectionsResponse, error) {
	data, now := h.data(ctx)
	alike, err := h.recall.Alike(ctx, tenant.PrincipalFrom(ctx), req.GetConnectionId())
	if err != nil {
		return nil, err
	}
	of, others, err := data.ListAlike(ctx, req.GetConnectionId(), alike.IDs, now)
	if err != nil {
		return nil, err
	}
	res := &insightsv1.FindSimilarConnectionsResponse{ModeUsed: recall.ModeKeyword}
	if alike.Used {
		res.ModeUsed = recall.ModeHybrid
	}
	like := insight.Likeness{IDs: alike.IDs, Weight: alike.Weight}
	for _, s := range insight.FindSimilar(of, others, like, limitOf(req.Limit, defaultLimit)) {
		res.People = append(res.People, &insightsv1.SimilarPerson{
			Person: personMessage(s.Person), Score: s.Score, Reasons: evidenceMessages(s.Reasons),
		})
	}
	return res, nil
}

func (h *insights) GetNetworkStats(ctx context.Context, _ *insightsv1.GetNetworkStatsRequest) (*insightsv1.GetNetworkStatsResponse, error) {
	data, now := h.data(ctx)
	s, err := data.GetStats(ctx, now, zoneOf(ctx))
	if err != nil {
		return nil, err
	}
	return &insightsv1.GetNetworkStatsResponse{
		People: int32(s.People), Archived: int32(s.Archived), Notes: int32(s.Notes), Interactions: int32(s.Interactions),
		Contacted_30Days: int32(s.Contacted30), Contacted_365Days: int32(s.Contacted365), NeverContacted: int32(s.NeverContacted),
		Added_30Days: int32(s.AddedLast30), Overdue: int32(s.Overdue),
		Closest: personMessages(s.Closest), Fading: personMessages(s.Fading), Organizations: countMessages(s.Organizations),
		Places: countMessages(s.Places), Groups: countMessages(s.Groups), Tags: countMessages(s.Tags),
	}, nil
}

func personMessage(p insight.Person) *insightsv1.Person {
	s := p.Strength
	return &insightsv1.Person{
		Id: p.ID, Name: p.Name, Headline: p.Headline(),
		Strength: &insightsv1.Strength{
			Score: int32(s.Score), Meetings: int32(s.Meetings), Calls: int32(s.Calls), Messages: int32(s.Messages),
			LastInteractionAt: timestamp(s.LastInteractionAt),
		},
	}
}

func personMessages(people []insight.Person) []*insightsv1.Person {
	out := make([]*insightsv1.Person, len(people))
	for i, p := range people {
		out[i] = personMessage(p)
	}
	return out
}

func evidenceMessages(lines []insight.Evidence) []*insightsv1.Evidence {
	out := make([]*insightsv1.Evidence, len(lines))
	for i, e := range lines {
		out[i] = &insightsv1.Evidence{Text: e.Text, SourceIds: e.Sources}
	}
	return out
}

func countMessages(counts []insight.Count) []*insightsv1.Count {
	out := make([]*insightsv1.Count, len(counts))
	for i, c := range counts {
		out[i] = &insightsv1.Count{Name: c.Name, People: int32(c.People)}
	}
	return out
}
