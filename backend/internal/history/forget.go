package history

import (
	"errors"
	"slices"
)

// The summaries that replace summaries that may name a person.
const (
	summaryForgotten = "About a person who was deleted for good"
	summaryPartly    = "About several people, one of whom was deleted for good"
)

// peopleFields are the fields of states that hold the id of one person, peopleLists
// those that hold several.
var (
	peopleFields = []string{"connection_id", "from_id", "to_id", "first_id", "second_id"}
	peopleLists  = []string{connectionIDs}
)

// connectionIDs is the field of a state with the people whom a note or an interaction is about.
const connectionIDs = "connection_ids"

// Forget removes permanently deleted people from the record. The states of these people,
// and of every object that was only about them, become null. A change with nothing left
// becomes final. A summary that may name the people is replaced. Forget reports whether
// it changed c.
func (c *Change) Forget(people map[string]bool) (bool, error) {
	var changed, emptied bool
	left := 0
	for i := range c.Effects {
		e := &c.Effects[i]
		if e.empty() {
			continue
		}
		touched, err := e.forget(people)
		if err != nil {
			return false, err
		}
		changed = changed || touched
		if e.empty() {
			emptied = true
		} else {
			left++
		}
	}
	if !changed {
		return false, nil
	}
	c.Final = c.Final || left == 0
	switch {
	case c.ImportID != "" || !emptied: // the summary names no person
	case c.Final:
		c.Summary = summaryForgotten
	default:
		c.Summary = summaryPartly
	}
	return true, nil
}

// empty reports whether the effect's object was permanently deleted.
func (e *Effect) empty() bool { return missing(e.Before) && missing(e.After) }

// forget removes people from the effect's states, or both states.
func (e *Effect) forget(people map[string]bool) (changed bool, err error) {
	before, after, err := e.states()
	if err != nil {
		return false, err
	}
	gone := people[e.ID]
	for _, s := range []state{before, after} {
		touched, alone := s.forget(people)
		changed, gone = changed || touched, gone || alone
	}
	if changed && before != nil && after != nil && len(changedFields(before, after)) == 0 {
		gone = true // the effect changed nothing else
	}
	switch {
	case gone:
		before, after = nil, nil
	case !changed:
		return false, nil
	}
	var errBefore, errAfter error
	e.Before, errBefore = before.encode()
	e.After, errAfter = after.encode()
	return true, errors.Join(errBefore, errAfter)
}

// forget removes people from the lists of a state. alone reports whether the state was
// about no one else.
func (s state) forget(people map[string]bool) (changed, alone bool) {
	for _, field := range peopleFields {
		id, _ := s[field].(string)
		alone = alone || people[id]
	}
	for _, field := range peopleLists {
		ids, _ := s[field].([]any)
		left := slices.DeleteFunc(slices.Clone(ids), func(one any) bool {
			id, _ := one.(string)
			return people[id]
		})
		if len(left) < len(ids) {
			s[field], changed = left, true
			alone = alone || len(left) == 0
		}
	}
	return changed, alone
}

// people returns the ids of the people whom a state is about, each once.
func (s state) people() (ids []string) {
	for _, field := range peopleFields {
		if id, _ := s[field].(string); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, field := range peopleLists {
		list, _ := s[field].([]any)
		for _, item := range list {
			if id, _ := item.(string); id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
