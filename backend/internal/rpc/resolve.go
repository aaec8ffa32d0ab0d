package rpc

import (
	"context"
	"slices"

	"github.com/kith-crm/kith/backend/internal/connection"
	"github.com/kith-crm/kith/backend/internal/personname"
	"github.com/kith-crm/kith/backend/internal/resolve"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/tenant"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// ResolvePeople implements the RPC: three statements, one more for the people
// found, and searches in memory for the names that are not on file as written.
func (h *connections) ResolvePeople(ctx context.Context, req *connectionsv1.ResolvePeopleRequest) (*connectionsv1.ResolvePeopleResponse, error) {
	p := tenant.PrincipalFrom(ctx)
	data := h.store.Tenant(p.Tenant, p.ReadOnly)
	headlines := map[string]*connectionsv1.ResolvedPerson{}
	answers, err := resolve.All(ctx, data, h.alike(p, headlines), req.GetEntries())
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
	people, err := data.ListHeadlines(ctx, exact)
	if err != nil {
		return nil, err
	}
	for id, found := range people {
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
			out.Outcome = resolve.None
		}
		res.Entries = append(res.Entries, out)
	}
	return res, nil
}

// alike searches in memory, and keeps what it learns of the people in headlines.
// What matched elsewhere than in a name or a number is nobody of that name.
func (h *connections) alike(p *tenant.Principal, headlines map[string]*connectionsv1.ResolvedPerson) resolve.Search {
	return func(ctx context.Context, words, kind string) ([]resolve.Person, error) {
		result, err := h.finder.Search(ctx, p.Tenant, p.DataVersion, search.Query{Text: words, Limit: resolve.MaxPeople + 1})
		if err != nil {
			return nil, err
		}
		var people []resolve.Person
		for _, hit := range result.Hits {
			if !matchedOnly(kind, hit.Matched) {
				continue
			}
			people = append(people, resolve.Person{ID: hit.ID, Names: personname.Names{Full: hit.Doc.Name, Nickname: hit.Doc.Nickname}})
			headlines[hit.ID] = &connectionsv1.ResolvedPerson{Id: hit.ID, Name: hit.Doc.Name, Headline: hit.Doc.Headline}
		}
		return people, nil
	}
}

func matchedOnly(kind string, fields []string) bool {
	allowed := []string{"name", "nickname"}
	if kind == connection.KindPhone {
		allowed = []string{"phone"}
	}
	return len(fields) > 0 && !slices.ContainsFunc(fields, func(f string) bool { return !slices.Contains(allowed, f) })
}
