package network

import (
	"net/http"
	"net/url"
	"time"

	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/insights"
	"github.com/kith-crm/kith/backend/internal/web/page"
	insightsv1 "github.com/kith-crm/kith/proto/gen/kith/insights/v1"
)

// content is the content of the page.
type content struct {
	*insightsv1.GetNetworkStatsResponse

	// Empty is set if the member has no people.
	Empty           bool
	Facets          []facet
	Recency         recency
	Closest, Fading ties
	Way             way
	Introductions   []*insightsv1.Introduction
	// Recent and Overdue are lists of people that the lead names.
	Recent, Overdue link
}

// link is a number of people, and the address of the list of them.
type link struct {
	People int
	Path   string
}

// facet counts people by a property.
type facet struct {
	ID, Title, Column string
	// Note says what else the lists have; it may be empty.
	Note string
	bars

	// Missing says what to do if no person has the property, and Path leads to them.
	Missing, Path string
	// Ways is set if the page looks for introductions to a row.
	Ways bool
}

// recency counts people by the time of the last contact.
type recency struct {
	Columns        []column
	Height         int
	Earlier, Never link
}

// person is a person in a chart or a list.
type person struct{ Name, Path, Headline string }

const (
	// months is how many months the chart of last contacts has, and courseMonths how many months
	// back the lines of ties go.
	months       = 12
	courseMonths = 24
	// recentDays is the number of days for which a contact counts as recent.
	recentDays = 30
	// suggested is how many introductions are suggested.
	suggested = 5
)

func (v *request) show() error {
	stats, _, err := page.Read(v.Member, &insightsv1.GetNetworkStatsRequest{}, v.Insights.GetNetworkStats)
	if err != nil {
		return err
	}
	c := content{GetNetworkStatsResponse: stats, Empty: stats.GetPeople()+stats.GetArchived() == 0}
	if c.Empty {
		return v.Render(http.StatusOK, "network", page.Page{Title: "Network", Area: page.PathNetwork, Content: c})
	}
	c.Facets = v.facets(stats)
	if err := v.addRecency(&c); err != nil {
		return err
	}
	if err := v.addTies(&c); err != nil {
		return err
	}
	if err := v.addIntroductions(&c); err != nil {
		return err
	}
	wrong, err := v.addWay(&c)
	if err != nil {
		return err
	}
	return v.Render(page.StatusOf(wrong), "network", page.Page{Title: "Network", Area: page.PathNetwork, Errors: wrong, Content: c})
}

// list returns the address of the list of people with parameters, given as names and values.
func (v *request) list(parameters ...string) string {
	given := url.Values{}
	for i := 0; i+1 < len(parameters); i += 2 {
		given.Set(parameters[i], parameters[i+1])
	}
	return page.Address(v.To(page.PathPeople), given)
}

func (v *request) facets(stats *insightsv1.GetNetworkStatsResponse) []facet {
	of := func(parameter string, counts []*insightsv1.Count) bars {
		rows := make([]bar, len(counts))
		for i, n := range counts {
			rows[i] = bar{Name: n.GetName(), Path: v.list(parameter, n.GetName()), People: int(n.GetPeople())}
		}
		return barsOf(rows)
	}
	return []facet{
		{
			ID: "organisations", Title: "By organisation", Column: "Organisation", bars: of("company", stats.GetOrganizations()),
			Note: "People who work there now. The lists also have those who left.", Ways: true,
			Missing: "Nobody has an organisation. Add where they work.", Path: v.list("missing", "organization"),
		},
		{
			ID: "places", Title: "By place", Column: "Place", bars: of("location", stats.GetPlaces()),
			Missing: "Nobody has a place. Add where they live.", Path: v.list("missing", "location"),
		},
		{
			ID: "tags", Title: "By tag", Column: "Tag", bars: of("tag", stats.GetTags()),
			Missing: "Nobody has a tag. Choose some people and tag them.", Path: v.To(page.PathPeople),
		},
	}
}

// addRecency adds how many people had their last contact in each of the last months.
func (v *request) addRecency(c *content) error {
	ix, err := v.Insights.Index.OfCaller(v.Ctx)
	if err != nil {
		return err
	}
	found := insights.GetRecency(ix, v.Today(), v.Zone, months)
	day := func(t time.Time) string { return t.Format(time.DateOnly) }
	columns := make([]column, len(found.Months))
	for i, m := range found.Months {
		next := m.First.AddDate(0, 1, 0)
		parameters := []string{"last_contact_after", day(m.First)}
		if i+1 < len(found.Months) {
			parameters = append(parameters, "last_contact_before", day(next))
		}
		columns[i] = column{Label: v.Text(m.First.Format("Jan")), Year: m.First.Format("2006"), Name: v.Format().Month(m.First), Path: v.list(parameters...), People: m.People}
	}
	c.Recency = recency{
		Columns: columnsOf(columns), Height: columnHeight,
		Earlier: link{found.Earlier, v.list("last_contact_before", day(found.Months[0].First), "never_contacted", "false")},
		Never:   link{found.Never, v.list("never_contacted", "true")},
	}
	since := v.Today().AddDate(0, 0, -recentDays)
	c.Recent = link{ix.Summary().ContactedSince(civil.Start(since, v.Zone)), v.list("last_contact_after", day(since), "sort", "last_contact")}
	c.Overdue = link{int(c.GetOverdue()), v.list("cadence_overdue", "true", "sort", "next_due")}
	return nil
}

// addIntroductions adds pairs of people who may gain from meeting.
func (v *request) addIntroductions(c *content) error {
	found, _, err := page.Read(v.Member, &insightsv1.SuggestIntroductionsRequest{Limit: new(int32(suggested))}, v.Insights.SuggestIntroductions)
	c.Introductions = found.GetIntroductions()
	return err
}

func (v *request) person(p *insightsv1.Person) person {
	return person{Name: p.GetName(), Headline: p.GetHeadline(), Path: v.To(page.PathPeople + "/" + url.PathEscape(p.GetId()))}
}
