package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Argument describes one argument of a tool, or one field of its answer.
type Argument struct {
	// Name of the argument, with its path if it is part of another: "fields[].label".
	Name string
	// Type is a type of JSON Schema: "string", "array of string".
	Type string
	// Required says that a call must have the argument, or that every answer has the field.
	Required bool
	// Bounds are the allowed values: "at most 5 items", "1 to 200 characters".
	Bounds []string
	// Pattern is the regular expression that a string, or each string of an array,
	// matches; "" for none.
	Pattern string
	// Description from the catalogue.
	Description string
}

// Arguments returns the arguments: the required ones first, then by name. The parts of
// an object follow it.
func (s *Schema) Arguments() []Argument { return s.root.arguments("") }

func (n *node) arguments(prefix string) []Argument {
	names := slices.SortedFunc(maps.Keys(n.Properties), func(a, b string) int {
		if x, y := n.requires(a), n.requires(b); x != y {
			if x {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	var all []Argument
	for _, name := range names {
		property := n.Properties[name]
		all = append(all, Argument{
			Name: prefix + name, Type: property.typeName(), Required: n.requires(name), Bounds: property.bounds(),
			Pattern: property.pattern(), Description: property.Description,
		})
		switch {
		case property.Type == typeObject:
			all = append(all, property.arguments(prefix+name+".")...)
		case property.Type == typeArray && property.Items != nil && property.Items.Type == typeObject:
			all = append(all, property.Items.arguments(prefix+name+"[].")...)
		}
	}
	return all
}

func (n *node) requires(name string) bool { return slices.Contains(n.Required, name) }

func (n *node) typeName() string {
	switch {
	case n.Type == "":
		return "any"
	case n.Type == typeArray && n.Items != nil:
		return "array of " + n.Items.typeName()
	case n.Format == "":
		return string(n.Type)
	default:
		return string(n.Type) + " (" + n.Format + ")"
	}
}

func (n *node) pattern() string {
	if n.Type == typeArray && n.Items != nil {
		return n.Items.Pattern
	}
	return n.Pattern
}

func (n *node) bounds() []string {
	var bounds []string
	if len(n.Enum) > 0 {
		bounds = append(bounds, "one of "+n.choices())
	}
	if text := span(n.MinLength, n.MaxLength, "character"); text != "" && len(n.Enum) == 0 && n.Type == typeString {
		bounds = append(bounds, text)
	}
	if text := n.interval(); text != "" {
		bounds = append(bounds, text)
	}
	if text := span(n.MinItems, n.MaxItems, "item"); text != "" {
		bounds = append(bounds, text)
	}
	if n.UniqueItems {
		bounds = append(bounds, "no two alike")
	}
	if n.Items != nil && n.Items.Type != typeObject {
		for _, bound := range n.Items.bounds() {
			bounds = append(bounds, "each "+bound)
		}
	}
	return bounds
}

func (n *node) choices() string {
	var choices []string
	for _, value := range n.Enum {
		choices = append(choices, shown(value))
	}
	return strings.Join(choices, ", ")
}

// shown returns a value for people: strings without quotes.
func shown(value jsontext.Value) string {
	var text string
	if err := json.Unmarshal(value, &text); err == nil {
		return text
	}
	return string(value)
}

// span describes the bounds of a count.
func span(least int, most *int, what string) string {
	many := func(n int) string {
		if n == 1 {
			return "1 " + what
		}
		return strconv.Itoa(n) + " " + what + "s"
	}
	switch {
	case most != nil && *most == least:
		return "exactly " + many(least)
	case most != nil && least > 0:
		return strconv.Itoa(least) + " to " + many(*most)
	case most != nil:
		return "at most " + many(*most)
	case least > 0:
		return "at least " + many(least)
	default:
		return ""
	}
}

// interval describes the bounds of a number.
func (n *node) interval() string {
	var low, high string
	switch {
	case n.Minimum != nil:
		low = number(*n.Minimum)
	case n.ExclusiveMinimum != nil:
		low = "more than " + number(*n.ExclusiveMinimum)
	}
	switch {
	case n.Maximum != nil && n.Minimum != nil:
		return low + " to " + number(*n.Maximum)
	case n.Maximum != nil:
		high = "at most " + number(*n.Maximum)
	case n.ExclusiveMaximum != nil:
		high = "less than " + number(*n.ExclusiveMaximum)
	}
	if n.Minimum != nil {
		low = "at least " + low
	}
	if low != "" && high != "" {
		return low + ", " + high
	}
	return low + high
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
