package discovery

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
)

// argument describes one argument of a tool, or one field of its answer.
type argument struct {
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

// argumentsOf returns the arguments in a schema of the catalogue: the required ones first, then by
// name. The parts of an object follow it. It fails unless the schema is an object and every reference
// leads to a definition. Definitions must not refer to themselves.
func argumentsOf(text []byte) ([]argument, error) {
	var root jsonschema.Schema
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	if root.Type != "object" {
		return nil, fmt.Errorf("parse schema: the root is of the type %q, not an object", root.Type)
	}
	for _, part := range append(slices.Collect(maps.Values(root.Defs)), &root) {
		if _, err := inline(part, root.Defs); err != nil {
			return nil, err
		}
	}
	return listArguments(&root, ""), nil
}

// inline replaces the references in a schema by the definitions.
func inline(s *jsonschema.Schema, definitions map[string]*jsonschema.Schema) (_ *jsonschema.Schema, err error) {
	if s == nil {
		return nil, nil
	}
	if s.Ref != "" {
		target := definitions[strings.TrimPrefix(s.Ref, "#/$defs/")]
		if target == nil {
			return nil, fmt.Errorf("parse schema: there is no definition %q", s.Ref)
		}
		return inline(target, definitions)
	}
	for name, property := range s.Properties {
		if s.Properties[name], err = inline(property, definitions); err != nil {
			return nil, err
		}
	}
	s.Items, err = inline(s.Items, definitions)
	return s, err
}

func listArguments(object *jsonschema.Schema, prefix string) []argument {
	required, optional := []argument{}, []argument{}
	for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
		property := object.Properties[name]
		list := &optional
		if slices.Contains(object.Required, name) {
			list = &required
		}
		part, path, pattern := property, ".", property.Pattern
		if property.Items != nil {
			part, path, pattern = property.Items, "[].", property.Items.Pattern
		}
		*list = append(*list, argument{
			Name: prefix + name, Type: typeName(property), Required: list == &required, Bounds: bounds(property), Pattern: pattern, Description: property.Description,
		})
		*list = append(*list, listArguments(part, prefix+name+path)...)
	}
	return append(required, optional...)
}

func typeName(s *jsonschema.Schema) string {
	switch {
	case s.Type == "":
		return "any"
	case s.Items != nil:
		return "array of " + typeName(s.Items)
	case s.Format != "":
		return s.Type + " (" + s.Format + ")"
	default:
		return s.Type
	}
}

func bounds(s *jsonschema.Schema) []string {
	var all []string
	add := func(bound string) {
		if bound != "" {
			all = append(all, bound)
		}
	}
	if len(s.Enum) > 0 {
		var choices []string
		for _, value := range s.Enum {
			choices = append(choices, fmt.Sprint(value))
		}
		add("one of " + strings.Join(choices, ", "))
	} else if s.Type == "string" {
		add(span(s.MinLength, s.MaxLength, "character"))
	}
	add(interval(s))
	add(span(s.MinItems, s.MaxItems, "item"))
	if s.UniqueItems {
		add("no two alike")
	}
	if s.Items != nil && s.Items.Type != "object" {
		for _, bound := range bounds(s.Items) {
			add("each " + bound)
		}
	}
	return all
}

// span describes the bounds of a count. A least count of 0 is not a bound.
func span(least, most *int, what string) string {
	many := func(n int) string {
		if n == 1 {
			return "1 " + what
		}
		return strconv.Itoa(n) + " " + what + "s"
	}
	atLeast := least != nil && *least > 0
	switch {
	case most == nil && !atLeast:
		return ""
	case most == nil:
		return "at least " + many(*least)
	case !atLeast:
		return "at most " + many(*most)
	case *least == *most:
		return "exactly " + many(*most)
	default:
		return strconv.Itoa(*least) + " to " + many(*most)
	}
}

// interval describes the bounds of a number.
func interval(s *jsonschema.Schema) string {
	if s.Minimum != nil && s.Maximum != nil {
		return number(*s.Minimum) + " to " + number(*s.Maximum)
	}
	var all []string
	for _, b := range []struct {
		words string
		bound *float64
	}{{"at least ", s.Minimum}, {"more than ", s.ExclusiveMinimum}, {"at most ", s.Maximum}, {"less than ", s.ExclusiveMaximum}} {
		if b.bound != nil {
			all = append(all, b.words+number(*b.bound))
		}
	}
	return strings.Join(all, ", ")
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
