package history

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// StateVersion is the version of the recorded form of states, which every effect carries.
// It grows when a kind of object gets, loses or renames a field: a process of an earlier
// release, which would drop a field that it does not know, then refuses to undo the change.
// The golden files of package kinds hold the form of every kind.
const StateVersion = 1

// volatile lists the fields that change without a change of the object, and the keys of
// the rows that lists are stored in. An undo does not compare them.
func volatile(field string) bool {
	switch field {
	case "id", "version", "created_at", "updated_at", "last_interaction_at", "ordinal", "source_keys":
		return true
	}
	return false
}

// state is a decoded state; nil when the object did not exist. A person's addresses are
// three fields, as tools have them, in place of handles.
type state map[string]any

// handlesField is the field of a recorded person that holds the addresses of all kinds.
const handlesField = "handles"

// handleFields are the fields of a decoded person that hold addresses, each with the kinds
// of its addresses.
var handleFields = []struct { //nolint:gochecknoglobals // a constant
	name  string
	kinds []string
}{{"emails", []string{"email"}}, {"phones", []string{"phone"}}, {"urls", []string{"url", "social"}}}

// states returns the states of the effect. It fails with fault.Unavailable when a newer
// version of Kith recorded them.
func (e *Effect) states() (before, after state, err error) {
	if e.Version > StateVersion {
		return nil, nil, fault.New(fault.Unavailable,
			"a newer version of Kith recorded this change: this server cannot undo it before it is upgraded too")
	}
	before, errBefore := decode(e.Before)
	after, errAfter := decode(e.After)
	return before, after, errors.Join(errBefore, errAfter)
}

func decode(data json.RawMessage) (state, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read recorded state: %w", err)
	}
	all, ok := s[handlesField]
	if !ok {
		return s, nil
	}
	delete(s, handlesField)
	list, _ := all.([]any)
	for _, field := range handleFields {
		some := []any{}
		for _, item := range list {
			handle, _ := item.(map[string]any)
			if kind, _ := handle["kind"].(string); slices.Contains(field.kinds, kind) {
				some = append(some, item)
			}
		}
		s[field.name] = some
	}
	return s, nil
}

// encode returns a state in its recorded form; null for nil. The addresses of a person are in
// their recorded order, in which their kinds may alternate.
func (s state) encode() (json.RawMessage, error) {
	if s == nil {
		return encodeState(nil)
	}
	out := make(state, len(s))
	maps.Copy(out, s)
	for _, field := range handleFields {
		some, ok := s[field.name].([]any)
		if !ok && s[field.name] != nil {
			continue // a field of this name that another kind has
		}
		if _, ok := s[field.name]; ok {
			all, _ := out[handlesField].([]any)
			out[handlesField] = append(all, some...)
			delete(out, field.name)
		}
	}
	if all, ok := out[handlesField].([]any); ok {
		slices.SortStableFunc(all, func(a, b any) int { return cmp.Compare(ordinal(a), ordinal(b)) })
	}
	return encodeState(out)
}

// ordinal returns the recorded place of an address among those of all kinds of its person.
func ordinal(item any) float64 {
	handle, _ := item.(map[string]any)
	place, _ := handle["ordinal"].(float64)
	return place
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
		if !volatile(name) && !equal(value, present[name]) {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	return fields
}

// changedFields returns the fields that differ between two states, in alphabetical order,
// without the volatile ones.
func changedFields(before, after state) []string {
	fields := append(differing(before, after), differing(after, before)...)
	slices.Sort(fields)
	return slices.Compact(fields)
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

// undoFields returns present with the fields that a change set as they were before it, and
// those of these fields that were changed since and so can't be set back. Fields that the
// change did not touch, or whose value before it is not recorded, stay as they are now. None of the states is nil.
func undoFields(before, after, present state) (target state, since []string) {
	target = maps.Clone(present)
	for _, name := range changedFields(before, after) {
		if equal(after[name], present[name]) {
			if was, recorded := before[name]; recorded {
				target[name] = was
			}
		} else if list, ok := undoList(name, before[name], after[name], present[name]); ok {
			target[name] = list
		} else {
			since = append(since, name)
		}
	}
	if len(differing(after, present)) == 0 { // nothing was changed since: the times are those of before, too
		maps.Copy(target, before)
	}
	return target, since
}

// undoList undoes what a change did to a list of texts, such as tags: it takes the entries
// that the change added out of the present list, and puts those that it removed back. ok is
// false for other values, when one of these entries was changed since, and when a note or an
// interaction would be about no one.
func undoList(name string, before, after, present any) (list []any, ok bool) {
	was, okBefore := texts(before)
	left, okAfter := texts(after)
	now, okPresent := texts(present)
	if !okBefore || !okAfter || !okPresent {
		return nil, false
	}
	for _, entry := range left {
		if !slices.Contains(was, entry) {
			at := slices.Index(now, entry)
			if at < 0 {
				return nil, false
			}
			now = slices.Delete(now, at, at+1)
		}
	}
	for _, entry := range was {
		if !slices.Contains(left, entry) {
			if slices.Contains(now, entry) {
				return nil, false
			}
			now = append(now, entry)
		}
	}
	list = make([]any, len(now))
	for i, entry := range now {
		list[i] = entry
	}
	return list, len(now) > 0 || name != connectionIDs
}

// texts returns a list of texts; ok is false for another value.
func texts(value any) (out []string, ok bool) {
	if value == nil {
		return nil, true
	}
	list, ok := value.([]any)
	for _, item := range list {
		one, isText := item.(string)
		if !isText {
			return nil, false
		}
		out = append(out, one)
	}
	return out, ok
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
