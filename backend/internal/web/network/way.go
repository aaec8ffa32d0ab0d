package network

import (
	"net/url"
	"slices"

	"github.com/kith-crm/kith/backend/internal/insights"
	"github.com/kith-crm/kith/backend/internal/web/page"
	insightsv1 "github.com/kith-crm/kith/proto/gen/kith/insights/v1"
)

// way is the form that asks for introductions to an organisation, and the paths to it.
type way struct {
	Field page.Field
	// Asked is set if the form was sent without an error.
	Asked  bool
	Height int
	Paths  []pathRow
	// People lists who is or was there.
	People string
	More   bool
}

// pathRow is one path from the member to an organisation: by Through, if that is set, to There.
type pathRow struct {
	Through *stop
	There   stop
	// Top is in pixels.
	Top int
}

// stop is a person on a path.
type stop struct {
	person

	Score int32
	// Past is set if the person left the organisation.
	Past bool
	// Reasons say what ties the person to the organisation or to the next person.
	Reasons []string
}

// Weight returns the class of the line to the person.
func (s stop) Weight() string { return weight(s.Score) }

const (
	organization = "organization"
	// atMost is how many people are asked for, and shownPaths how many paths are shown.
	atMost     = 20
	shownPaths = 12
)

// addWay adds the form, and if an organisation is given, the paths to it. It returns the errors of
// the form.
func (v *request) addWay(c *content) ([]page.FieldError, error) {
	query := v.R.URL.Query()
	c.Way = way{
		Field: page.Field{Name: organization, Label: "Organisation", Hint: "Its name, or its web address such as helios.example.", Value: query.Get(organization), Required: true, Plain: true},
	}
	req := &insightsv1.FindPeopleAtRequest{Limit: new(int32(atMost))}
	page.Fill(req, url.Values{organization: query[organization]})
	if req.GetOrganization() == "" {
		return nil, nil
	}
	found, wrong, err := page.Read(v.Member, req, v.Insights.FindPeopleAt)
	if err != nil || len(wrong) > 0 {
		if len(wrong) > 0 {
			c.Way.Field.Error = wrong[0].Message
		}
		return wrong, err
	}
	c.Way.Asked, c.Way.People = true, v.list("company", req.GetOrganization())
	paths := v.paths(found.GetPeople())
	c.Way.More = found.GetHasMore() || len(paths) > shownPaths
	c.Way.Paths = paths[:min(len(paths), shownPaths)]
	for i := range c.Way.Paths {
		c.Way.Paths[i].Top = i * pathHeight
	}
	c.Way.Height = len(c.Way.Paths) * pathHeight
	return nil, nil
}

// paths returns the paths to people at an organisation, in their order.
func (v *request) paths(people []*insightsv1.PersonAt) []pathRow {
	there := map[string]stop{}
	var out []pathRow
	for _, at := range people {
		p := at.GetPerson()
		s := stop{person: v.person(p), Score: p.GetStrength().GetScore(), Past: at.GetTie() == insights.TiePast}
		for _, e := range at.GetEvidence() {
			s.Reasons = append(s.Reasons, e.GetText())
		}
		if at.GetTie() != insights.TieOneStep {
			there[p.GetId()] = s
			out = append(out, pathRow{There: s})
			continue
		}
		for i, e := range at.GetEvidence() {
			next := slices.IndexFunc(e.GetSourceIds(), func(id string) bool { _, ok := there[id]; return ok })
			if next < 0 {
				continue
			}
			through := s
			through.Reasons = s.Reasons[i : i+1]
			out = append(out, pathRow{Through: &through, There: there[e.GetSourceIds()[next]]})
		}
	}
	return out
}
