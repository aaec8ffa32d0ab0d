package contacts

import (
	"maps"
	"net/url"
	"time"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// listContent is the content of the page that lists people.
type listContent struct {
	*connectionsv1.SearchConnectionsResponse
	page.Avatars

	Query         string
	Chips         []chip
	Presets       []preset
	Columns       listColumns
	Filters       []filterGroup
	Sorts, Orders []page.Option
	// Next and First are addresses of pages; empty if there is no such page.
	Next, First string
	// Plain is the address of the list without any filter, Back its parameters.
	Plain, Back string
	// Acts are what can be done with the people who are chosen.
	Acts []act
	// Views are the saved views, and MayView is set if the filters may become one.
	Views   []viewLink
	MayView bool
}

// preset is a list of people that one click shows.
type preset struct{ Text, Path string }

// presets returns the lists that members look at most often. Days are those of the member.
func (v *request) presets() []preset {
	today := v.Today()
	const silent = 6 // months
	month := time.Date(today.Year(), today.Month(), 1, 0, 0, 0, 0, time.UTC)
	shown := []struct {
		text   string
		search url.Values
	}{
		{"Not in touch for 6 months", url.Values{"last_contact_before": {today.AddDate(0, -silent, 0).Format(time.DateOnly)}, "never_contacted": {"false"}, sortParameter: {"last_contact"}, orderParameter: {"asc"}}},
		{"Birthday this month", url.Values{"birthday_between": {month.Format("01-02"), month.AddDate(0, 1, -1).Format("01-02")}}},
		{"No group", url.Values{"missing": {"group"}}},
		{"Starred", url.Values{"starred": {"true"}}},
		{"Met this year", url.Values{"met_on_after": {today.Format("2006")}}},
	}
	var all []preset
	for _, p := range shown {
		all = append(all, preset{p.text, page.Address(v.To(page.PathPeople), p.search)})
	}
	return all
}

// listColumns are the addresses of the list in the order of a column.
type listColumns struct{ Name, FamilyName, LastContact string }

func (v *request) columns(search url.Values) listColumns {
	by := func(sort, order string) string {
		sorted := maps.Clone(search)
		sorted[sortParameter] = []string{sort}
		delete(sorted, orderParameter)
		if search.Get(sortParameter) == sort && search.Get(orderParameter) == "" {
			sorted[orderParameter] = []string{order} // the other way round
		}
		return page.Address(v.To(page.PathPeople), sorted)
	}
	return listColumns{Name: by("name", "desc"), FamilyName: by("family_name", "desc"), LastContact: by("last_contact", "asc")}
}

// chip is a filter that is set, with the address of the list without it.
type chip struct{ Text, Remove string }

// pageSize is how many people one page lists.
const pageSize = 50

func (v *request) showList() error {
	search := searchIn(v.R.URL.Query())
	fields, err := people.ListFields(v.Ctx, v.Data())
	if err != nil {
		return err
	}
	content := listContent{
		Query: search.Get(queryParameter), Plain: v.To(page.PathPeople), Filters: append(filterGroups(v.Format()), fieldFilters(fields)...), Back: search.Encode(),
		Sorts: sorts(search.Get(sortParameter), fields), Orders: orders(search.Get(orderParameter)), Columns: v.columns(search),
	}
	if content.Back == "" {
		content.Presets = v.presets()
	}
	if err := v.addViews(&content); err != nil {
		return err
	}
	wrong := content.fill(v.Format(), search)
	if len(wrong) == 0 {
		if wrong, err = v.find(search, fields, &content); err != nil {
			return err
		}
	}
	markWrong(content.Filters, wrong)
	return v.Render(page.StatusOf(wrong), "people", page.Page{Title: "People", Area: page.PathPeople, Errors: wrong, Script: page.ScriptPeople, Content: content})
}

// fill sets the filters and their chips from the address. It returns the errors of filters.
func (c *listContent) fill(format page.Format, search url.Values) []page.FieldError {
	var wrong []page.FieldError
	for _, group := range c.Filters {
		for i := range group.Filters {
			f := &group.Filters[i]
			c.Chips = append(c.Chips, f.fill(format, c.Plain, search)...)
			wrong = append(wrong, f.check(search)...)
		}
	}
	return wrong
}

// find adds the people who match. It returns the errors of filters.
func (v *request) find(search url.Values, fields []people.Field, content *listContent) ([]page.FieldError, error) {
	req := &connectionsv1.SearchConnectionsRequest{Limit: new(int32(pageSize))}
	page.Fill(req, search)
	setFields(req, search, fields)
	page.Fill(req, url.Values{cursorParameter: v.R.URL.Query()[cursorParameter]})
	found, wrong, err := page.Read(v.Member, req, v.Search.SearchConnections)
	if err != nil || len(wrong) > 0 {
		for i := range wrong {
			wrong[i].Name = fieldOf(filterOfField(wrong[i].Name, fields))
		}
		return wrong, err
	}
	content.SearchConnectionsResponse, content.Acts = found, actsFor(req.GetArchived())
	if found.GetHasMore() {
		content.Next = withCursor(v.To(page.PathPeople), search, found.GetNextCursor())
	}
	if req.Cursor != nil {
		content.First = withCursor(v.To(page.PathPeople), search, "")
	}
	content.Avatars, err = v.Avatars(people.IDs(found.GetHits(), (*connectionsv1.ConnectionHit).GetId))
	return nil, err
}
