package history

import (
	"slices"
)

// Blocking tells whether a change may be what stands in the way of undoing an
// older one at an object, so that undoing it first may clear the way: it came
// later, is in force, can be undone, and changed one of the fields, or whether the
// object is there at all. Without fields any change of the object may be.
//
// An undo of something that is newer than the older change is left out: together
// the two come to nothing, and taking the undo back would bring the other again.
func (c *Change) Blocking(older, object string, fields []string) bool {
	if c.ID <= older || !c.Undoable() || c.Undoes > older {
		return false
	}
	return slices.ContainsFunc(c.Objects(), func(o Object) bool {
		return o.ID == object && (len(fields) == 0 || o.Action != ActionUpdated || meet(o.Fields, fields))
	})
}

// meet tells whether a change of some fields is seen in others. A conflict knows
// a person's addresses as one field, a change as several.
func meet(changed, others []string) bool {
	return slices.ContainsFunc(changed, func(name string) bool {
		if name == "emails" || name == "phones" || name == "urls" {
			name = "handles"
		}
		return slices.Contains(others, name)
	})
}
