package contacts

import (
	"net/http"
	"net/url"
	"time"

	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// listContent is the content of the page that lists people.
type listContent struct {
	Query   string
	Chips   []chip
	Filters []filter
	Sorts   []option
	// Given are the filters that the search box must keep.
	Given  []parameterValue
	People []personRow
	Count  int32
	Note   string
	// Next and First are addresses of pages; empty if there is no such page.
	Next, First string
	// Plain is the address of the list without any filter.
	Plain string
}

type parameterValue struct{ Name, Value string }

// chip is a filter that is set, with the address of the list without it.
type chip struct{ Text, Remove string }

// filter is an input of the form with all filters.
type filter struct {
	page.Field

	// Check makes it a box to tick.
	Check, Checked bool
}

type option struct {
	Value, Label string
	Selected     bool
}

// personRow is a person in a list.
type personRow struct {
	Avatar

	Path, Name, Headline, Location, Email, Snippet string
	LastContact                                    time.Time
	Strength                                       int32
}

// pageSize is how many people one page lists.
const pageSize = 50

func (v *request) showList() error {
	address := v.R.URL.Query()
	req := &connectionsv1.SearchConnectionsRequest{Limit: new(int32(pageSize))}
	page.Fill(req, address)
	content := listContent{Query: req.GetQuery(), Plain: v.To(page.PathPeople), Sorts: sorts(req.GetSort())}
	for _, f := range filters() {
		content.addFilter(f, v.To(page.PathPeople), address)
	}
	wrong, err := v.find(req, &content)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if len(wrong) > 0 {
		status = http.StatusBadRequest
		content.mark(wrong)
	}
	v.Render(status, "people", page.Page{Title: "People", Area: page.PathPeople, Errors: wrong, Script: page.ScriptPeople, Content: content})
	return nil
}

// find adds the people who match. It returns the errors of filters.
func (v *request) find(req *connectionsv1.SearchConnectionsRequest, content *listContent) ([]page.FieldError, error) {
	found, wrong, err := page.Read(v.Member, req, v.Search.SearchConnections)
	if err != nil || len(wrong) > 0 {
		return wrong, err
	}
	address := v.R.URL.Query()
	content.Count, content.Note = found.GetCount(), found.GetNote()
	for _, hit := range found.GetHits() {
		row := personRow{
			Avatar: avatarOf(hit.GetId(), hit.GetName()), Path: v.To(page.PathPeople + "/" + hit.GetId()), Name: hit.GetName(),
			Headline: hit.GetHeadline(), Location: hit.GetLocation(), Email: hit.GetEmail(), Snippet: hit.GetSnippet(), Strength: hit.GetStrength(),
		}
		row.LastContact, _ = time.Parse(time.DateOnly, hit.GetLastContactOn()) // zero if there was none
		content.People = append(content.People, row)
	}
	if found.GetHasMore() {
		content.Next = withCursor(v.To(page.PathPeople), address, found.GetNextCursor())
	}
	if req.Cursor != nil {
		content.First = withCursor(v.To(page.PathPeople), address, "")
	}
	return nil, nil
}

// filters returns the filters that the form offers; the tool has more, which addresses may
// name.
func filters() []filter {
	text := func(name, label, hint string) filter {
		return filter{Field: page.Field{Name: name, Label: label, Hint: hint}}
	}
	day := func(name, label string) filter {
		return filter{Field: page.Field{Name: name, Label: label, Kind: "date"}}
	}
	tick := func(name, label string) filter {
		return filter{Field: page.Field{Name: name, Label: label}, Check: true}
	}
	return []filter{
		text("tag", "Tag", ""), text("group", "Group", ""), text("company", "Organisation", ""), text("title", "Job title", ""),
		text("location", "Place", "A city or a region."), text("country", "Country", ""),
		day("last_contact_before", "No contact since"), day("created_after", "Added after"),
		tick("never_contacted", "Never in touch"), tick("cadence_overdue", "Overdue to be in touch"),
		tick("starred", "Starred"), tick("archived", "Archived people"),
	}
}

// addFilter adds a filter of the form with its values of the address of the list, and their
// chips.
func (c *listContent) addFilter(f filter, list string, address url.Values) {
	for _, value := range address[f.Name] {
		if value == "" || f.Check && value != "true" {
			continue
		}
		f.Value, f.Checked = value, f.Check
		c.Given = append(c.Given, parameterValue{f.Name, value})
		text := f.Label
		if !f.Check {
			text += ": " + value
		}
		c.Chips = append(c.Chips, chip{Text: text, Remove: without(list, address, f.Name, value)})
	}
	c.Filters = append(c.Filters, f)
}

// mark puts errors at their filters.
func (c *listContent) mark(wrong []page.FieldError) {
	for i := range c.Filters {
		for _, w := range wrong {
			if w.Name == c.Filters[i].Name {
				c.Filters[i].Error = w.Message
			}
		}
	}
}

func sorts(selected string) []option {
	list := []option{
		{Value: "", Label: "Best match, or name"}, {Value: "name", Label: "Name"}, {Value: "last_contact", Label: "Last contact"},
		{Value: "created", Label: "Newest"}, {Value: "strength", Label: "Closest"}, {Value: "next_due", Label: "Next due"},
	}
	for i := range list {
		list[i].Selected = list[i].Value == selected
	}
	return list
}
