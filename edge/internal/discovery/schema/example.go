package schema

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// ErrNoExample says that no value was found that a schema allows.
var ErrNoExample = errors.New("no example can be made")

// Values are values for examples. With the zero value, examples are made from the
// schema alone.
type Values struct {
	// Named are plausible values by the name of the argument. The first one that the
	// schema allows is used, for the argument or for the items of an array.
	Named map[string][]any
	// Strings are tried for strings with a pattern: existing ids, dates.
	Strings []string
}

// Allows says whether the arguments, a JSON object, are valid under the keywords that
// this package knows.
func (s *Schema) Allows(arguments []byte) bool {
	var value map[string]any
	return json.Unmarshal(arguments, &value) == nil && s.root.allows(value)
}

// Example returns valid arguments: the required ones, and those that also names. It prefers
// examples of the schema to Values, and Values to generated values. It returns ErrNoExample if it
// finds no valid value.
func (s *Schema) Example(values Values, also ...string) (map[string]any, error) {
	arguments, err := s.root.object(values, also)
	if err != nil {
		return nil, err
	}
	if !s.root.allows(arguments) {
		return nil, ErrNoExample
	}
	return arguments, nil
}

func (n *node) object(values Values, also []string) (map[string]any, error) {
	made := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		if !n.requires(name) && !slices.Contains(also, name) {
			continue
		}
		value, err := n.Properties[name].example(values, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		made[name] = value
	}
	return made, nil
}

// example returns a value for the argument.
func (n *node) example(values Values, name string) (any, error) {
	for _, candidate := range n.candidates(values, name) {
		if n.allows(candidate) {
			return candidate, nil
		}
	}
	made, err := n.make(values, name)
	if err != nil {
		return nil, err
	}
	if !n.allows(made) {
		return nil, ErrNoExample
	}
	return made, nil
}

func (n *node) candidates(values Values, name string) []any {
	var candidates []any
	for _, text := range n.Examples {
		var value any
		if json.Unmarshal(text, &value) == nil {
			candidates = append(candidates, value)
		}
	}
	candidates = append(candidates, values.Named[name]...)
	if n.Type == typeString && n.Pattern != "" {
		for _, text := range values.Strings {
			candidates = append(candidates, text)
		}
	}
	return candidates
}

// make generates a value. The value may violate rules other than its type.
func (n *node) make(values Values, name string) (any, error) {
	if len(n.Enum) > 0 {
		var value any
		err := json.Unmarshal(n.Enum[0], &value)
		return value, err
	}
	switch n.Type {
	case typeString:
		return n.makeString()
	case typeInteger, typeNumber:
		return n.makeNumber(), nil
	case typeBoolean:
		return true, nil
	case typeArray:
		return n.makeArray(values, name)
	case typeObject:
		return n.object(values, nil)
	default:
		return nil, ErrNoExample
	}
}

func (n *node) makeString() (string, error) {
	switch {
	case n.Pattern != "":
		return matching(n.Pattern)
	case n.Format == "date-time":
		return "2026-01-31T09:00:00Z", nil
	case n.Format == "date":
		return "2026-01-31", nil
	case n.Format == "email":
		return "ada@example.com", nil
	case n.Format == "uri":
		return "https://example.com/", nil
	}
	text := "text"
	if n.MinLength > len(text) {
		text = strings.Repeat(text, n.MinLength/len(text)+1)[:n.MinLength]
	}
	if n.MaxLength != nil && *n.MaxLength < len(text) {
		text = text[:*n.MaxLength]
	}
	return text, nil
}

func (n *node) makeNumber() float64 {
	value := 1.0
	switch {
	case n.Minimum != nil:
		value = max(value, *n.Minimum)
	case n.ExclusiveMinimum != nil:
		value = max(value, *n.ExclusiveMinimum+1)
	}
	if n.Maximum != nil {
		value = min(value, *n.Maximum)
	}
	return value
}

func (n *node) makeArray(values Values, name string) ([]any, error) {
	items := []any{}
	if n.Items == nil {
		return items, nil
	}
	for range max(1, n.MinItems) {
		item, err := n.Items.example(values, name)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}
