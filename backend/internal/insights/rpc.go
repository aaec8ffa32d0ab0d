package insights

import (
	"context"
	"slices"
	"time"

	"github.com/kith-crm/kith/backend/internal/call"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/people/names"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	insightsv1 "github.com/kith-crm/kith/proto/gen/kith/insights/v1"
)

// ResolvePeople implements the RPC. It takes three statements, one more for the people
// found, and searches in memory for the names that are not stored as written.
func (h *RPC) ResolvePeople(ctx context.Context, req *connectionsv1.ResolvePeopleRequest) (*connectionsv1.ResolvePeopleResponse, error) {
	p := tenant.PrincipalFrom(ctx)
	data := h.DB.Tenant(p.Tenant, p.ReadOnly)
	headlines := map[string]*connectionsv1.ResolvedPerson{}
	answers, err := people.All(ctx, data, h.similarBySearch(p, headlines), req.GetEntries())
	if err != nil {
		return nil, err
	}
	var exact []string
	for _, a := range answers {
		for _, m := range a.People {
			if headlines[m.ID] == nil {
				exact = append(exact, m.ID)
			}
		}
	}
	persons, err := ListHeadlines(ctx, data, exact)
	if err != nil {
		return nil, err
	}
	for id, found := range persons {
		headlines[id] = &connectionsv1.ResolvedPerson{Id: id, Name: found.Name, Headline: found.Headline()}
	}
	res := &connectionsv1.ResolvePeopleResponse{}
	for i, a := range answers {
		out := &connectionsv1.ResolvedEntry{Entry: req.GetEntries()[i], Outcome: a.Outcome}
		for _, m := range a.People {
			if of := headlines[m.ID]; of != nil {
				out.People = append(out.People, &connectionsv1.ResolvedPerson{Id: m.ID, Name: of.GetName(), Headline: of.GetHeadline(), MatchedBy: m.By})
			}
		}
		if len(out.People) == 0 {
			out.Outcome = people.None
			if out.Why, err = h.whyNone(ctx, out.GetEntry()); err != nil {
				return nil, err
			}
		}
		res.Entries = append(res.Entries, out)
	}
	return res, nil
}

// similarBySearch searches in memory, and adds the people it finds to headlines. It ignores hits
// that did not match a name or a number.
func (h *RPC) similarBySearch(p *tenant.Principal, headlines map[string]*connectionsv1.ResolvedPerson) people.Search {
	return func(ctx context.Context, words, kind string) ([]people.Resolved, error) {
		result, err := h.Index.Search(ctx, p.Tenant, p.DataVersion, index.Query{Text: words, Limit: people.MaxPeople + 1})
		if err != nil {
			return nil, err
		}
		var persons []people.Resolved
		for _, hit := range result.Hits {
			if !matchedOnly(kind, hit.Matched) {
				continue
			}
			persons = append(persons, people.Resolved{ID: hit.ID, Names: names.Names{Full: hit.Doc.Name, Nickname: hit.Doc.Nickname}})
			headlines[hit.ID] = &connectionsv1.ResolvedPerson{Id: hit.ID, Name: hit.Doc.Name, Headline: hit.Doc.Headline}
		}
		return persons, nil
	}
}

// whyNone returns a sentence that says why an entry matches no one, or nothing.
func (h *RPC) whyNone(ctx context.Context, entry string) (string, error) {
	ix, err := h.Index.OfCaller(ctx)
	if err != nil {
		return "", err
	}
	forms := people.EntryForms(entry)
	for _, kind := range []string{people.KindEmail, people.KindPhone, people.KindName} {
		hits := ix.Search(index.Query{Text: forms[kind], Archived: true, Limit: maxArchived}).Hits
		hits = slices.DeleteFunc(hits, func(hit index.Hit) bool { return !matchedOnly(kind, hit.Matched) })
		if forms[kind] != "" && len(hits) > 0 {
			return "Archived: " + index.Named(hits) + ".", nil
		}
	}
	name := index.Query{Text: forms[people.KindName]}
	if name.Text == "" {
		return "", nil
	}
	if ix.Search(name).Total > 0 {
		return "In no name; search_connections finds it.", nil
	}
	return search.WhyNoMatch(ix, name), nil
}

// maxArchived is how many archived people a reason names.
const maxArchived = 3

// matchedOnly reports whether a hit matched in fields of that kind alone.
func matchedOnly(kind string, fields []string) bool {
	allowed := []string{kind}
	if kind == people.KindName {
		allowed = append(allowed, "nickname")
	}
	return len(fields) > 0 && !slices.ContainsFunc(fields, func(f string) bool { return !slices.Contains(allowed, f) })
}

// defaultIntroductions is the number of suggested pairs when the caller gives none.
const defaultIntroductions = 5

// insights implements InsightService.
type RPC struct {
	DB     *db.DB
	Index  *search.IndexCache
	Search *search.Searcher
	Now    func() time.Time
}

// data returns the caller's tenant, and the current time.
func (h *RPC) data(ctx context.Context) (*db.Tenant, time.Time) {
	p := tenant.PrincipalFrom(ctx)
	return h.DB.Tenant(p.Tenant, p.ReadOnly), h.Now().UTC()
}

// network returns the caller's network in memory, as of a time.
func (h *RPC) network(ctx context.Context, now time.Time) (*network, error) {
	p := tenant.PrincipalFrom(ctx)
	ix, err := h.Index.Index(ctx, p.Tenant, p.DataVersion)
	if err != nil {
		return nil, err
	}
	return newNetwork(ix, now), nil
}

func (h *RPC) FindPeopleAt(ctx context.Context, req *insightsv1.FindPeopleAtRequest) (*insightsv1.FindPeopleAtResponse, error) {
	data, now := h.data(ctx)
	place := ParsePlace(req.GetOrganization())
	if place.Normal == "" {
		return nil, fault.InvalidField("organization", "must be the name or the web domain of an organisation")
	}
	past, oneStep := req.IncludePast == nil || req.GetIncludePast(), req.IncludeOneStep == nil || req.GetIncludeOneStep()
	ix, err := h.Index.OfCaller(ctx)
	if err != nil {
		return nil, err
	}
	limit := call.LimitOf(req.Limit, call.DefaultLimit)
	rows, err := ListPeopleAt(ctx, data, ix, place, AtOptions{Past: past, OneStep: oneStep, Limit: limit + 1}, now) // one more shows whether there are others
	if err != nil {
		return nil, err
	}
	found := PeopleAt(rows)
	if len(found) == 0 && len(rows.Organizations) == 0 {
		return nil, search.UnknownOrganization(ctx, ix, "organization", req.GetOrganization())
	}
	res := &insightsv1.FindPeopleAtResponse{Organizations: rows.Organizations, HasMore: len(found) > limit}
	for _, at := range found[:min(limit, len(found))] {
		res.People = append(res.People, &insightsv1.PersonAt{
			Person: personMessage(at.Person), Tie: at.Tie, Evidence: evidenceMessages(at.Evidence),
		})
	}
	if rows.Organization == nil {
		return res, nil
	}
	details, err := rows.Organization.Details(ctx, data)
	if err != nil {
		return nil, err
	}
	res.Organization = details.Message(call.ZoneOf(ctx))
	return res, nil
}

func (h *RPC) PrepareMeeting(ctx context.Context, req *insightsv1.PrepareMeetingRequest) (*insightsv1.PrepareMeetingResponse, error) {
	data, now := h.data(ctx)
	rows, err := LoadMeeting(ctx, data, req.GetConnectionIds(), now)
	if err != nil {
		return nil, err
	}
	briefing := Prepare(rows, req.GetTopic(), now, call.ZoneOf(ctx))
	res := &insightsv1.PrepareMeetingResponse{Common: evidenceMessages(briefing.Common)}
	for _, b := range briefing.People {
		res.People = append(res.People, &insightsv1.PersonBriefing{
			Person: personMessage(b.Person), Background: evidenceMessages(b.Background), Recent: evidenceMessages(b.Recent),
			Notes: evidenceMessages(b.Notes), Due: evidenceMessages(b.Due),
		})
	}
	return res, nil
}

func (h *RPC) SuggestIntroductions(ctx context.Context, req *insightsv1.SuggestIntroductionsRequest) (*insightsv1.SuggestIntroductionsResponse, error) {
	data, now := h.data(ctx)
	n, err := h.network(ctx, now)
	if err != nil {
		return nil, err
	}
	candidates, ok := n.candidates(req.GetConnectionId())
	if !ok {
		return nil, people.NoConnection(ctx, data, req.GetConnectionId())
	}
	known := func(some []Pair) (Acquainted, error) { return ListAcquainted(ctx, data, some) }
	suggested, err := SuggestIntroductions(candidates, known, call.LimitOf(req.Limit, defaultIntroductions))
	if err != nil {
		return nil, err
	}
	res := &insightsv1.SuggestIntroductionsResponse{}
	for _, i := range suggested {
		res.Introductions = append(res.Introductions, &insightsv1.Introduction{
			First: personMessage(i.First), Second: personMessage(i.Second), Score: i.Score, Reasons: evidenceMessages(i.Reasons),
		})
	}
	return res, nil
}

func (h *RPC) FindSimilarConnections(ctx context.Context, req *insightsv1.FindSimilarConnectionsRequest) (*insightsv1.FindSimilarConnectionsResponse, error) {
	alike, err := h.Search.Alike(ctx, tenant.PrincipalFrom(ctx), req.GetConnectionId())
	if err != nil {
		return nil, err
	}
	data, now := h.data(ctx)
	n, err := h.network(ctx, now)
	if err != nil {
		return nil, err
	}
	of, others, ok := n.similarTo(req.GetConnectionId(), alike.IDs)
	if !ok {
		return nil, people.NoConnection(ctx, data, req.GetConnectionId())
	}
	res := &insightsv1.FindSimilarConnectionsResponse{ModeUsed: search.ModeKeyword}
	if alike.Used {
		res.ModeUsed = search.ModeHybrid
	}
	like := Likeness{IDs: alike.IDs, Weight: alike.Weight}
	for _, s := range FindSimilar(of, others, like, call.LimitOf(req.Limit, call.DefaultLimit)) {
		res.People = append(res.People, &insightsv1.SimilarPerson{
			Person: personMessage(s.Person), Score: s.Score, Reasons: evidenceMessages(s.Reasons),
		})
	}
	return res, nil
}

func (h *RPC) GetNetworkStats(ctx context.Context, _ *insightsv1.GetNetworkStatsRequest) (*insightsv1.GetNetworkStatsResponse, error) {
	data, now := h.data(ctx)
	ix, err := h.Index.OfCaller(ctx)
	if err != nil {
		return nil, err
	}
	s, err := GetStats(ctx, data, ix, now, call.ZoneOf(ctx))
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

func personMessage(p Person) *insightsv1.Person {
	s := p.Strength
	return &insightsv1.Person{
		Id: p.ID, Name: p.Name, Headline: p.Headline(),
		Strength: &insightsv1.Strength{
			Score: int32(s.Score), Meetings: int32(s.Meetings), Calls: int32(s.Calls), Messages: int32(s.Messages),
			LastInteractionAt: call.Timestamp(s.LastInteractionAt),
		},
	}
}

func personMessages(people []Person) []*insightsv1.Person {
	out := make([]*insightsv1.Person, len(people))
	for i, p := range people {
		out[i] = personMessage(p)
	}
	return out
}

func evidenceMessages(lines []Evidence) []*insightsv1.Evidence {
	out := make([]*insightsv1.Evidence, len(lines))
	for i, e := range lines {
		out[i] = &insightsv1.Evidence{Text: e.Text, SourceIds: e.Sources}
	}
	return out
}

func countMessages(counts []Count) []*insightsv1.Count {
	out := make([]*insightsv1.Count, len(counts))
	for i, c := range counts {
		out[i] = &insightsv1.Count{Name: c.Name, People: int32(c.People)}
	}
	return out
}
