package metrics

import (
	"fmt"
	"unicode/utf8"
)

// unknown is the label value of a name that is not in its closed set.
const unknown = "unknown"

// label is a label with the closed set of its values. Any other value counts as fallback.
type label struct {
	name, fallback string
	values         map[string]bool // nil if the caller guarantees that the values are a closed set
}

// closed returns a label with a closed set of values.
func closed(name, fallback string, values ...string) label {
	set := make(map[string]bool, len(values))
	for _, v := range values {
		set[v] = true
	}
	return label{name, fallback, set}
}

// namesOf returns the names of labels. It fails if a value is empty or not UTF-8.
func namesOf(labels []label) ([]string, error) {
	names := make([]string, len(labels))
	for i, l := range labels {
		names[i] = l.name
		for value := range l.values {
			if value == "" || !utf8.ValidString(value) {
				return nil, fmt.Errorf("check %s names: %q is empty or not UTF-8", l.name, value)
			}
		}
	}
	return names, nil
}
