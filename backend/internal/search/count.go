package search

import (
	"context"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/text"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// count answers a search with numbers of people, found by words and filters.
func (h *RPC) count(ctx context.Context, req *connectionsv1.SearchConnectionsRequest, q index.Query) (*connectionsv1.SearchConnectionsResponse, error) {
	if req.GetMode() == ModeSemantic {
		return nil, fault.InvalidField("mode", "semantic finds similar people, who cannot be counted: leave it out")
	}
	ix, err := h.Index.OfCaller(ctx)
	if err != nil {
		return nil, err
	}
	var found index.Grouped
	switch req.GetGroupBy() {
	case "":
		found.Total = ix.Total(q)
	case "tag":
		found = ix.Group(q, index.Tags)
	case "organization":
		found = ix.Group(q, index.Organizations)
	case "place":
		found = ix.Group(q, index.Locations)
	case "group":
		found = ix.Group(q, index.Groups)
	case "birth_month":
		found = ix.Group(q, index.BirthMonths)
	}
	res := &connectionsv1.SearchConnectionsResponse{Count: int32(found.Total), Without: int32(found.Without), HasMore: found.More}
	if found.Total == 0 {
		if res.Why, err = h.whyNone(ctx, q); err != nil {
			return nil, err
		}
	}
	for _, c := range found.Counts {
		res.Groups = append(res.Groups, &connectionsv1.PeopleCount{Name: c.Value, Count: int32(c.People)})
	}
	return res, nil
}

// dateRange reads a date, or two with .. between them, of which one may be left out. nil is no range.
func dateRange(field string, value *string) (index.DateRange, error) {
	if value == nil {
		return index.DateRange{}, nil
	}
	from, to, ranged := strings.Cut(*value, "..")
	if !ranged {
		to = from
	}
	var out index.DateRange
	for _, bound := range []struct {
		text string
		into *index.Date
	}{{from, &out.From}, {to, &out.To}} {
		on, known := partialDate(strings.TrimSpace(bound.text))
		if !known && (bound.text != "" || from+to == "") {
			return index.DateRange{}, fault.InvalidField(field, "%q is no date and no range; use 1976, 1976-05 or 1976-05-17, or two of them such as 1970..1979", *value)
		}
		*bound.into = on
	}
	if from != "" && to != "" && !out.Has(out.From) {
		return out, fault.InvalidField(field, "%q ends before it begins", *value)
	}
	return out, nil
}

// maxIntroducers is how many people of one name count as the person who introduced others.
const maxIntroducers = 50

// introducer finds the person of a name or an id, or all of one name, and whom they introduced. It fails with fault.Invalid, listing
// the nearest names, if there is none.
func (h *RPC) introducer(ctx context.Context, asked string) (*index.Introducer, error) {
	p := tenant.PrincipalFrom(ctx)
	data := h.DB.Tenant(p.Tenant, p.ReadOnly)
	out := &index.Introducer{Asked: asked}
	ids := []string{asked}
	if names, err := people.ListNames(ctx, data, ids); err != nil {
		return nil, err
	} else if names[asked] == "" {
		ix, err := h.Index.OfCaller(ctx)
		if err != nil {
			return nil, err
		}
		out.Name, ids = text.Fold(asked), nil
		for _, archived := range []bool{false, true} {
			for _, hit := range ix.Search(index.Query{Text: asked, Archived: archived, MinScore: &index.NamedScore, Limit: maxIntroducers}).Hits {
				ids = append(ids, hit.ID)
			}
		}
		named := ix.Names(func(d *index.Document) []string { return d.IntroducedBy })
		if len(ids) == 0 && !strings.Contains(text.Fold(strings.Join(named, "\n")), out.Name) {
			names := ix.Names(func(d *index.Document) []string { return []string{d.Name} })
			return nil, fault.InvalidField("met_through", "nobody is called %q%s", asked, text.Nearest(ctx, names, asked))
		}
	}
	introduced, err := people.ListIntroduced(ctx, data, ids)
	if err != nil {
		return nil, err
	}
	out.Introduced = make(map[string]bool, len(introduced))
	for _, id := range introduced {
		out.Introduced[id] = true
	}
	return out, nil
}
