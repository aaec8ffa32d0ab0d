package history

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/uptrace/bun"
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
	before, after, err := e.states()
	switch {
	case missing(e.After):
		o.Action = ActionRemoved
	case missing(e.Before):
		o.Action = ActionCreated
	case err != nil:
	case empty(before["merged_into"]) && !empty(after["merged_into"]):
		o.Action = ActionMerged
	case empty(before["archived_at"]) && !empty(after["archived_at"]):
		o.Action = ActionArchived
	case !empty(before["archived_at"]) && empty(after["archived_at"]):
		o.Action = ActionRestored
	default:
		o.Fields = changedFields(before, after)
	}
	return o
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
	before, after, err := e.states()
	if err != nil {
		return true
	}
	for _, name := range differing(before, after) {
		if !progress(name) && loses(e.Kind, name, before[name], after[name]) {
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
		return len(is) < len(was)
	case map[string]any:
		is, _ := after.(map[string]any)
		for name, value := range was {
			if loses(kind, name, value, is[name]) {
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
	before, after, err := e.states()
	if err != nil {
		return nil
	}
	var out []FieldChange
	for _, name := range changedFields(before, after) {
		out = append(out, FieldChange{Name: name, Before: valueOf(before[name]), After: valueOf(after[name])})
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

// namedParticipants is how many people a summary names.
const namedParticipants = 2

// participants returns the people that a change of notes, interactions or reminders is about, and of
// nothing else. Stored summaries do not have their names, so that no name is left when a person is
// deleted for good.
func (c *Change) participants() (ids []string) {
	for i := range c.Effects {
		e := &c.Effects[i]
		if !slices.Contains([]string{Note, Interaction, Reminder}, e.Kind) {
			return nil
		}
		before, after, err := e.states()
		if err != nil {
			return nil
		}
		if after == nil {
			after = before
		}
		for _, id := range after.people() {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// namesIn returns the names of the people whom changes are about, by id, without people who are no
// longer stored. It takes at most one statement.
func namesIn(ctx context.Context, q db.Reader, changes []Change) (map[string]string, error) {
	var ids []string
	for _, c := range changes {
		about := c.participants()
		ids = append(ids, about[:min(len(about), namedParticipants)]...)
	}
	names := map[string]string{}
	if len(ids) == 0 {
		return names, nil
	}
	var rows []struct{ ID, Name string }
	err := q.NewRaw("SELECT id, name FROM connections WHERE tenant_id = ? AND id IN (?)", q.TenantID(), bun.List(ids)).Scan(ctx, &rows)
	for _, row := range rows {
		names[row.ID] = row.Name
	}
	return names, err
}

// summaryFor returns the summary of a change as list_changes shows it to the caller.
func summaryFor(ctx context.Context, q db.Reader, c *Change) (string, error) {
	if !shows(ctx, c) {
		return hidden, nil
	}
	names, err := namesIn(ctx, q, []Change{*c})
	return c.line(names), err
}

// line returns the summary of a change with the names of the people whom it is about.
func (c *Change) line(names map[string]string) string {
	if about := peopleOf(c, names); about != "" {
		return c.Summary + " (" + about + ")"
	}
	return c.Summary
}

// peopleOf returns the names of the first people whom a change is about, and the number of the
// others.
func peopleOf(c *Change, names map[string]string) string {
	about := c.participants()
	var out []string
	for _, id := range about[:min(len(about), namedParticipants)] {
		if names[id] != "" {
			out = append(out, names[id])
		}
	}
	if len(out) > 0 && len(about) > namedParticipants {
		out = append(out, fmt.Sprintf("%d more", len(about)-namedParticipants))
	}
	return strings.Join(out, ", ")
}
