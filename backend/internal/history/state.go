package history

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

// volatile lists the fields that change without a change of the object, and the keys of
// the rows that lists are stored in. An undo does not compare them.
func volatile(field string) bool {
	switch field {
	case "ID", "Version", "CreatedAt", "UpdatedAt", "LastInteractionAt", "Ordinal", "SourceKeys":
		return true
	}
	return false
}

// state is a decoded state; nil when the object did not exist.
type state map[string]any

func decode(data json.RawMessage) (state, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read recorded state: %w", err)
	}
	return s, nil
}

// encodeState returns an object's state as JSON; null for one that does not exist.
func encodeState(object any) (json.RawMessage, error) {
	if v := reflect.ValueOf(object); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return json.RawMessage("null"), nil
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode state: %w", err)
	}
	return data, nil
}

// differing returns the fields of recorded that have another value in present, in
// alphabetical order, without the volatile ones.
func differing(recorded, present state) []string {
	var fields []string
	for name, value := range recorded {
		switch {
		case volatile(name), equal(value, present[name]):
		default:
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	return fields
}

// equal compares two JSON values by meaning: a missing value equals an empty one, times
// are compared as instants, lists of strings as sets.
func equal(a, b any) bool {
	if empty(a) || empty(b) {
		return empty(a) && empty(b)
	}
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && len(differing(x, y)) == 0 && len(differing(y, x)) == 0
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		return slices.EqualFunc(sorted(x), sorted(y), equal)
	case string:
		y, ok := b.(string)
		return ok && (x == y || sameInstant(x, y))
	default:
		return a == b
	}
}

func empty(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case string:
		return x == "" || x == zeroTime
	case bool:
		return !x
	case float64:
		return x == 0
	case []any:
		return len(x) == 0
	}
	return false
}

// zeroTime is how encoding/json writes the zero time.
const zeroTime = "0001-01-01T00:00:00Z"

func sameInstant(a, b string) bool {
	x, errX := time.Parse(time.RFC3339Nano, a)
	y, errY := time.Parse(time.RFC3339Nano, b)
	return errX == nil && errY == nil && x.Equal(y)
}

// sorted returns a list of strings in sorted order; the order of other lists matters.
func sorted(list []any) []any {
	for _, v := range list {
		if _, ok := v.(string); !ok {
			return list
		}
	}
	out := slices.Clone(list)
	slices.SortFunc(out, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return out
}

// overlay returns present with its fields replaced by the recorded ones; null when
// nothing is recorded.
func overlay(present, recorded state) (json.RawMessage, error) {
	if recorded == nil {
		return encodeState(nil)
	}
	out := make(state, len(present)+len(recorded))
	maps.Copy(out, present)
	maps.Copy(out, recorded)
	return encodeState(out)
}

// restrict returns the fields of whole that occur in one of the others.
func restrict(whole state, others ...state) state {
	out := state{}
	for _, other := range others {
		for name := range other {
			if value, ok := whole[name]; ok {
				out[name] = value
			}
		}
	}
	return out
}

// wireName is a field's name as tools spell it: MetOn is met_on.
func wireName(field string) string {
	var b strings.Builder
	runes := []rune(field)
	for i, r := range runes {
		upper := unicode.IsUpper(r)
		if upper && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+2 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
