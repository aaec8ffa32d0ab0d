package contacts

import (
	"net/url"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/web/page"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
)

// filter is an input of the form with all filters.
type filter struct {
	page.Field

	// Shape says which input it is.
	Shape filterShape
	// Options are what to choose from, of a choice or a set.
	Options []page.Option
	// Values are the inputs of a list or a pair.
	Values []string
	// text is the chip of a value; nil for the label with the value.
	text func(value string) string
}

// filterShape is a kind of input.
type filterShape string

const (
	shapeText   filterShape = "text"
	shapeChoice filterShape = "choice" // one of the options, or none
	shapeSet    filterShape = "set"    // any of the options
	shapeList   filterShape = "list"   // any number of texts
	shapePair   filterShape = "pair"   // two texts
)

// filterGroup is a part of the form with a title.
type filterGroup struct {
	Title   string
	Filters []filter
}

// The parameters of the list that are not filters.
const (
	queryParameter = "q"
	sortParameter  = "sort"
	orderParameter = "order"
)

// filterGroups returns every filter of search_connections.
func filterGroups(format page.Format) []filterGroup {
	return []filterGroup{
		{"Who", []filter{
			textFilter("company", "Organisation", ""), textFilter("title", "Job title", ""), textFilter("location", "Place", "A city or a region."), textFilter("country", "Country", ""),
			listFilter("tag", "Tag"), textFilter("group", "Group", ""),
			choiceFilter(format, "starred", "Starred", "Starred", "Not starred"), choiceFilter(format, "archived", "Archived", "Archived people", ""),
		}},
		{"In touch", []filter{
			dayFilter(format, "last_contact_before", "Last contact before"), dayFilter(format, "last_contact_after", "Last contact since"),
			choiceFilter(format, "never_contacted", "Ever in touch", "Never in touch", "In touch before"),
			choiceFilter(format, "cadence_overdue", "Keeping in touch", "Overdue to be in touch", "Not overdue"),
		}},
		{"How you met", []filter{
			textFilter("met_how", "How you met", ""), partialDayFilter(format, "met_on_after", "Met after"), partialDayFilter(format, "met_on_before", "Met before"),
			dayFilter(format, "created_after", "Added after"),
		}},
		{"What you know", []filter{
			birthdayFilter(format), setFilter(format, "has", "Has", "Has: %s"), setFilter(format, "missing", "Is missing", "Has no %s"),
		}},
	}
}

func textFilter(name, label, hint string) filter {
	return filter{Field: page.Field{Name: name, Label: label, Hint: hint}, Shape: shapeText}
}

func listFilter(name, label string) filter {
	return filter{Field: page.Field{Name: name, Label: label}, Shape: shapeList}
}

func dayFilter(format page.Format, name, label string) filter {
	return filter{Field: page.Field{Name: name, Label: label, Kind: "date"}, Shape: shapeText, text: func(value string) string {
		return format.Text(label) + " " + format.PartialDay(value)
	}}
}

func partialDayFilter(format page.Format, name, label string) filter {
	return filter{
		Field: page.Field{Name: name, Label: label, Hint: "Such as 2024 or 2024-05-17."}, Shape: shapeText,
		text: func(value string) string { return format.Text(label) + " " + value },
	}
}

// choiceFilter returns a filter of true and false. Without a text for false it offers only true.
func choiceFilter(format page.Format, name, label, yes, no string) filter {
	f := filter{Field: page.Field{Name: name, Label: label}, Shape: shapeChoice, Options: []page.Option{{Value: "", Label: "Any"}, {Value: "true", Label: yes}}}
	if no != "" {
		f.Options = append(f.Options, page.Option{Value: "false", Label: no})
	}
	f.text = func(value string) string { return format.Text(f.optionText(value)) }
	return f
}

// setFilter returns a filter for what people have or lack; said is what its chips say.
func setFilter(format page.Format, name, label, said string) filter {
	f := filter{Field: page.Field{Name: name, Label: label}, Shape: shapeSet, Options: []page.Option{
		{Value: "email", Label: "e-mail address"}, {Value: "phone", Label: "phone number"}, {Value: "url", Label: "web address"},
		{Value: "note", Label: "note"}, {Value: "interaction", Label: "interaction"}, {Value: "birthday", Label: "birthday"},
		{Value: "location", Label: "place"}, {Value: "organization", Label: "organisation"}, {Value: "tag", Label: "tag"},
		{Value: "group", Label: "group"}, {Value: "cadence", Label: "keep-in-touch interval"}, {Value: "met_how", Label: "how you met"},
	}}
	f.text = func(value string) string { return format.Text(said, format.Text(f.optionText(value))) }
	return f
}

func birthdayFilter(format page.Format) filter {
	return filter{
		Field: page.Field{Name: "birthday_between", Label: "Birthday between", Hint: "Month and day, such as 12-01 and 12-31."}, Shape: shapePair,
		Values: []string{"", ""}, text: func(value string) string {
			return format.PartialDay("--" + value)
		},
	}
}

// optionText returns the label of an option, or the value if there is no such option.
func (f filter) optionText(value string) string {
	for _, o := range f.Options {
		if o.Value == value {
			return o.Label
		}
	}
	return value
}

// fill sets the filter's values from the address of the list. It returns a chip for each value,
// which links to the list without it.
func (f *filter) fill(format page.Format, path string, address url.Values) []chip {
	given := address[f.Name]
	var chips []chip
	switch f.Shape {
	case shapePair:
		if len(given) == 0 {
			return nil
		}
		copy(f.Values, given)
		text := format.Text("%s %s and %s", format.Text(f.Label), f.text(f.Values[0]), f.text(f.Values[1]))
		return []chip{{Text: text, Remove: withoutAll(path, address, f.Name)}}
	case shapeList:
		f.Values = append(slices.Clone(given), "")
	case shapeSet, shapeChoice:
		for i := range f.Options {
			f.Options[i].Selected = slices.Contains(given, f.Options[i].Value)
		}
	case shapeText:
		if len(given) > 0 {
			f.Value, given = given[0], given[:1]
		}
	}
	for _, value := range given {
		text := format.Text(f.Label) + ": " + value
		if f.text != nil {
			text = f.text(value)
		}
		chips = append(chips, chip{Text: text, Remove: without(path, address, f.Name, value)})
	}
	return chips
}

// check returns what is wrong with values that a request of the contract cannot hold.
func (f *filter) check(address url.Values) []page.FieldError {
	given := address[f.Name]
	if f.Shape == shapeChoice && (len(given) > 1 || len(given) == 1 && f.optionText(given[0]) == given[0]) {
		return []page.FieldError{{Name: f.Name, Message: "Choose one of the answers."}}
	}
	return nil
}

// markWrong puts errors at their filters.
func markWrong(groups []filterGroup, wrong []page.FieldError) {
	for _, group := range groups {
		for i := range group.Filters {
			for _, w := range wrong {
				if w.Name == group.Filters[i].Name && group.Filters[i].Error == "" {
					group.Filters[i].Error = w.Message
				}
			}
		}
	}
}

// fieldOf returns the name of a field without the index in it.
func fieldOf(name string) string {
	field, _, _ := strings.Cut(name, "[")
	return field
}

// searchIn returns the parameters of an address that select and order people. It leaves out empty
// ones, the page of the list, and those that search_connections does not know.
func searchIn(address url.Values) url.Values {
	fields := (&connectionsv1.SearchConnectionsRequest{}).ProtoReflect().Descriptor().Fields()
	search := url.Values{}
	for i := range fields.Len() {
		name := string(fields.Get(i).Name())
		switch name {
		case cursorParameter, "limit", "include", "min_score":
			continue
		case "query":
			name = queryParameter
		}
		values := slices.DeleteFunc(slices.Clone(address[name]), func(s string) bool { return strings.TrimSpace(s) == "" })
		if len(values) > 0 {
			search[name] = values
		}
	}
	for name, values := range address {
		if strings.HasPrefix(name, fieldFilterPrefix) && strings.TrimSpace(values[0]) != "" {
			search[name] = values[:1]
		}
	}
	return search
}

// withoutAll returns the address of a path without a parameter.
func withoutAll(path string, address url.Values, name string) string {
	kept := url.Values{}
	for key, values := range address {
		if key != name {
			kept[key] = values
		}
	}
	return page.Address(path, kept)
}

func sorts(selected string, fields []people.Field) []page.Option {
	options := []page.Option{
		{Value: "", Label: "Best match, or name"}, {Value: "name", Label: "Name"}, {Value: "family_name", Label: "Family name"}, {Value: "last_contact", Label: "Last contact"},
		{Value: "created", Label: "When added"}, {Value: "strength", Label: "How close"}, {Value: "next_due", Label: "Next due"},
	}
	for _, f := range fields {
		options = append(options, page.Option{Value: fieldSortPrefix + f.ID, Label: f.Name, Own: true})
	}
	return page.Choose(selected, options...)
}

func orders(selected string) []page.Option {
	return page.Choose(selected, []page.Option{
		{Value: "", Label: "As usual"}, {Value: "asc", Label: "A to Z, earliest or lowest first"}, {Value: "desc", Label: "Z to A, latest or highest first"},
	}...)
}
