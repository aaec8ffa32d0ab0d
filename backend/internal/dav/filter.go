package dav

import (
	"encoding/xml"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/content"
	"github.com/kith-crm/kith/backend/internal/text"
)

// maxConditions is how many conditions a filter can have: each is compared with the values of each card.
const maxConditions = 50

// filter is the filter of an addressbook-query (RFC 6352, section 10.5).
type filter struct {
	all   bool
	props []propFilter
}

// propFilter is a condition on the properties of a name.
type propFilter struct {
	name   string
	absent bool
	all    bool
	texts  []textMatch
	params []paramFilter
}

// paramFilter is a condition on the parameters of a property.
type paramFilter struct {
	name   string
	absent bool
	text   *textMatch
}

// textMatch is a condition on a text; sought is folded as its collation says.
type textMatch struct {
	sought, match, collation string
	negate                   bool
}

// collations is the value of supported-collation-set.
func collations() (out string) {
	for _, name := range knownCollations {
		out += tag(cardName("supported-collation"), name)
	}
	return out
}

//nolint:gochecknoglobals // a constant
var knownCollations = []string{"i;ascii-casemap", "i;unicode-casemap", "i;octet"}

// filterOf reads a filter. Without one, every card matches.
func filterOf(e *element) (f filter, err error) {
	if e == nil {
		return filter{all: true}, nil
	}
	if f.all, err = testOf(e); err != nil {
		return f, err
	}
	if e.count() > maxConditions {
		return f, refuse(http.StatusForbidden, spaceCardDAV, "supported-filter", "The filter has more than "+strconv.Itoa(maxConditions)+" conditions.")
	}
	for _, c := range e.children {
		if !c.is(spaceCardDAV, "prop-filter") {
			return f, badFilter(c.name)
		}
		p, err := propFilterOf(c)
		if err != nil {
			return f, err
		}
		f.props = append(f.props, p)
	}
	f.all = f.all || len(f.props) == 0
	return f, nil
}

// testOf reports whether an element asks that all of its conditions hold, not any of them.
func testOf(e *element) (all bool, err error) {
	switch e.attribute("test") {
	case "", "anyof":
		return false, nil
	case "allof":
		return true, nil
	}
	return false, badFilter(e.name)
}

func badFilter(name xml.Name) error {
	return refuse(http.StatusForbidden, spaceCardDAV, "supported-filter", "The filter has "+name.Local+" in a form that is not known here.")
}

func propFilterOf(e *element) (p propFilter, err error) {
	p.name = strings.ToUpper(e.attribute("name"))
	if p.all, err = testOf(e); err != nil || p.name == "" {
		return p, badFilter(e.name)
	}
	for _, c := range e.children {
		switch {
		case c.is(spaceCardDAV, "is-not-defined"):
			p.absent = true
		case c.is(spaceCardDAV, "text-match"):
			t, err := textMatchOf(c)
			if err != nil {
				return p, err
			}
			p.texts = append(p.texts, t)
		case c.is(spaceCardDAV, "param-filter") && c.attribute("name") != "":
			f := paramFilter{name: c.attribute("name"), absent: c.child(spaceCardDAV, "is-not-defined") != nil}
			if m := c.child(spaceCardDAV, "text-match"); m != nil {
				t, err := textMatchOf(m)
				if err != nil {
					return p, err
				}
				f.text = &t
			}
			p.params = append(p.params, f)
		default:
			return p, badFilter(c.name)
		}
	}
	return p, nil
}

func textMatchOf(e *element) (t textMatch, err error) {
	t = textMatch{sought: e.text, match: e.attribute("match-type"), collation: e.attribute("collation"), negate: e.attribute("negate-condition") == "yes"}
	if t.collation == "" || t.collation == "default" {
		t.collation = "i;unicode-casemap"
	}
	if !slices.Contains(knownCollations, t.collation) {
		return t, refuse(http.StatusForbidden, spaceCardDAV, "supported-collation", "There is no such collation here.")
	}
	if !slices.Contains([]string{"", "contains", "equals", "starts-with", "ends-with"}, t.match) {
		return t, badFilter(e.name)
	}
	t.sought = t.fold(t.sought)
	return t, nil
}

// fold returns a text in the form in which the collation compares it.
func (t textMatch) fold(s string) string {
	switch t.collation {
	case "i;ascii-casemap":
		return lowerASCII(s)
	case "i;unicode-casemap":
		return text.Fold(s)
	}
	return s
}

func (t textMatch) matches(value string) bool {
	value = t.fold(value)
	var found bool
	switch t.match {
	case "equals":
		found = value == t.sought
	case "starts-with":
		found = strings.HasPrefix(value, t.sought)
	case "ends-with":
		found = strings.HasSuffix(value, t.sought)
	default:
		found = strings.Contains(value, t.sought)
	}
	return found != t.negate
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// matches reports whether a card meets the filter.
func (f filter) matches(c *card) (bool, error) {
	if len(f.props) == 0 {
		return true, nil
	}
	lines, err := content.Parse(c.text(true))
	if err != nil {
		return false, err
	}
	return holds(f.all, f.props, func(p propFilter) bool { return p.matches(lines) }), nil
}

// holds reports whether all conditions hold, or any of them.
func holds[T any](all bool, conditions []T, holds func(T) bool) bool {
	if all {
		return !slices.ContainsFunc(conditions, func(c T) bool { return !holds(c) })
	}
	return slices.ContainsFunc(conditions, holds)
}

func (p propFilter) matches(lines []content.Line) bool {
	named := func(l content.Line) bool { return strings.EqualFold(l.Name, p.name) }
	if p.absent {
		return !slices.ContainsFunc(lines, named)
	}
	return slices.ContainsFunc(lines, func(l content.Line) bool {
		if !named(l) {
			return false
		}
		var tests []bool
		for _, t := range p.texts {
			tests = append(tests, t.matches(content.Unescape(l.Value)))
		}
		for _, f := range p.params {
			tests = append(tests, f.matches(l))
		}
		return len(tests) == 0 || holds(p.all, tests, func(ok bool) bool { return ok })
	})
}

func (f paramFilter) matches(l content.Line) bool {
	values, found := l.Values(f.name)
	if f.absent || f.text == nil {
		return found != f.absent
	}
	return slices.ContainsFunc(values, f.text.matches)
}

// only returns a card with the properties of some names, in capital letters.
func only(whole string, names []string) string {
	return keepLines(whole, func(property string) bool { return property == "VERSION" || slices.Contains(names, property) })
}

// keepLines returns a card with the properties to keep; the names have capital letters.
func keepLines(whole string, keep func(property string) bool) string {
	lines, err := content.Parse(whole)
	if err != nil {
		return whole
	}
	var b strings.Builder
	for i, l := range lines {
		if i == 0 || i == len(lines)-1 || keep(strings.ToUpper(l.Name)) {
			content.WriteLine(&b, l.String())
		}
	}
	return b.String()
}
