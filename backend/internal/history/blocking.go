package history

import (
	"slices"
)

// Blocking reports whether a later change of an object may block the undo of an older
// change, so that undoing the later one first may help. The later change must be in
// force and undoable, and must have changed one of the fields, or created or deleted the
// object. Without fields, any change of the object counts.
//
// An undo of something newer than the older change does not count: the two cancel each
// other out, and undoing the undo would only put the other change in force again.
func (c *Change) Blocking(older, object string, fields []string) bool {
	if c.ID <= older || !c.Undoable() || c.Undoes > older {
		return false
	}
	return slices.ContainsFunc(c.Objects(), func(o Object) bool {
		return o.ID == object && (len(fields) == 0 || o.Action != ActionUpdated || meet(o.Fields, fields))
	})
}

// meet reports whether two lists of fields overlap.
func meet(changed, others []string) bool {
	return slices.ContainsFunc(changed, func(name string) bool { return slices.Contains(others, name) })
}
