package history

import (
	"slices"
	"strings"
)

// What a write did to an object.
const (
	ActionCreated  = "created"
	ActionUpdated  = "updated"
	ActionArchived = "archived"
	ActionRestored = "restored"
	ActionMerged   = "merged"
	ActionRemoved  = "removed"
)

// Undoable reports whether the change may be undone now. It does not check whether its
// objects were changed since; only the undo does.
func (c *Change) Undoable() bool { return !c.Final && c.UndoneBy == "" && len(c.Effects) > 0 }

// Object is an effect in the form that answers and pages show.
type Object struct {
	Kind, ID, Action string
	// Fields are the changed fields, as tools spell them; none for an object that was
	// created or deleted.
	Fields []string
}

// Objects returns what the change did, object by object.
func (c *Change) Objects() []Object { return describe(c.Effects, c.Undoes != "") }

// describe returns effects as objects. An undo restores what a change removed.
func describe(effects []Effect, undo bool) []Object {
	out := make([]Object, len(effects))
	for i, e := range effects {
		out[i] = e.describe()
		if undo && out[i].Action == ActionCreated {
			out[i].Action = ActionRestored
		}
	}
	return out
}

func (e Effect) describe() Object {
	o := Object{Kind: e.Kind, ID: e.ID, Action: ActionUpdated}
	before, errBefore := decode(e.Before)
	after, errAfter := decode(e.After)
	switch {
	case errBefore != nil || errAfter != nil:
	case before == nil && after == nil:
		o.Action = ActionRemoved
	case before == nil:
		o.Action = ActionCreated
	case after == nil:
		o.Action = ActionRemoved
	case empty(before["MergedInto"]) && !empty(after["MergedInto"]):
		o.Action = ActionMerged
	case empty(before["ArchivedAt"]) && !empty(after["ArchivedAt"]):
		o.Action = ActionArchived
	case !empty(before["ArchivedAt"]) && empty(after["ArchivedAt"]):
		o.Action = ActionRestored
	default:
		o.Fields = changedFields(before, after)
	}
	return o
}

// changedFields returns the names of the fields that differ.
func changedFields(before, after state) []string {
	var fields []string
	for _, name := range append(differing(before, after), differing(after, before)...) {
		if name == "Handles" {
			fields = append(fields, changedHandles(before[name], after[name])...)
			continue
		}
		fields = append(fields, wireName(name))
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// changedHandles splits the change of a person's addresses by kind: tools have them as
// separate lists of e-mails, phones and urls.
func changedHandles(before, after any) []string {
	var fields []string
	for list, kinds := range map[string][]string{"emails": {"email"}, "phones": {"phone"}, "urls": {"url", "social"}} {
		if !equal(handlesOf(before, kinds), handlesOf(after, kinds)) {
			fields = append(fields, list)
		}
	}
	return fields
}

func handlesOf(list any, kinds []string) any {
	var out []any
	all, _ := list.([]any)
	for _, item := range all {
		handle, _ := item.(map[string]any)
		if kind, _ := handle["Kind"].(string); slices.Contains(kinds, kind) {
			out = append(out, handle)
		}
	}
	return out
}

// Loses reports whether a write removed an object or something that it held: it archived a person,
// emptied a field, took entries off a list, or replaced the text of a note or an interaction by a
// text that does not contain it.
func (e Effect) Loses() bool {
	switch e.describe().Action {
	case ActionRemoved, ActionArchived:
		return true
	case ActionUpdated:
	default:
		return false
	}
	before, errBefore := decode(e.Before)
	after, errAfter := decode(e.After)
	if errBefore != nil || errAfter != nil {
		return true
	}
	for _, name := range differing(before, after) {
		if wire := wireName(name); !progress(wire) && loses(e.Kind, wire, before[name], after[name]) {
			return true
		}
	}
	return false
}

// progress reports whether a field says how far something got. Resetting it loses nothing.
func progress(field string) bool {
	return strings.HasSuffix(field, "_at") || strings.HasSuffix(field, "_until")
}

func loses(kind, field string, before, after any) bool {
	switch was := before.(type) {
	case bool, nil:
		return false
	case []any:
		is, _ := after.([]any)
		if field == "handles" {
			return slices.ContainsFunc([]string{"email", "phone", "url", "social"}, func(one string) bool {
				held, _ := handlesOf(was, []string{one}).([]any)
				left, _ := handlesOf(is, []string{one}).([]any)
				return len(left) < len(held)
			})
		}
		return len(is) < len(was)
	case map[string]any:
		is, _ := after.(map[string]any)
		for name, value := range was {
			if loses(kind, wireName(name), value, is[name]) {
				return true
			}
		}
		return false
	case string:
		is, _ := after.(string)
		if kind == Note && field == "body" || kind == Interaction && field == "summary" {
			return !strings.Contains(is, was)
		}
	}
	return !empty(before) && empty(after)
}

// FieldChange is a field that a write changed, with its recorded values; nil is no value.
type FieldChange struct {
	// Name is as tools spell it.
	Name          string
	Before, After any
}

// Changed returns the fields that a write changed, in alphabetical order, without those that
// change by themselves. For an object that was created or removed, these are all the fields
// that had a value.
func (e Effect) Changed() []FieldChange {
	before, errBefore := decode(e.Before)
	after, errAfter := decode(e.After)
	if errBefore != nil || errAfter != nil {
		return nil
	}
	names := append(differing(before, after), differing(after, before)...)
	slices.Sort(names)
	var out []FieldChange
	for _, name := range slices.Compact(names) {
		out = append(out, FieldChange{Name: wireName(name), Before: valueOf(before[name]), After: valueOf(after[name])})
	}
	return out
}

// valueOf returns a recorded value, or nil for an empty one.
func valueOf(v any) any {
	if empty(v) {
		return nil
	}
	return v
}
