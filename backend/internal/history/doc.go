// Package history records what writes did, and undoes it.
//
// A write reports itself as a Draft: one line for people, and an Effect for each
// object that it touched, with the object's state before and after. The record
// is kept in the write's own transaction, and undo works from it alone.
//
// # States
//
// A state is the JSON of the domain's struct, or of some of its fields, with snake_case
// names that stay the same when a Go field is renamed. Each effect carries the version of
// the form of its states (StateVersion); states of a newer version are not read. The write did not
// touch the fields that are left out: an undo neither compares nor changes them. Null
// means that the object did not exist. A state that moves a note to another person is
// just {"connection_ids": […]}.
//
// The table change_objects has the objects of each change, and the people whom their states
// name. It finds the changes of a person or of another object.
//
// # Undo
//
//	change C ──undo──▶ change U (Undoes C)      C.UndoneBy = U
//	           undo──▶ change V (Undoes U)      U.UndoneBy = V, C is in force again
//
// The effects are undone from the last to the first. Fields are compared one by one: each
// field that the effect changed must still be as the effect left it, apart from fields that
// change by themselves (versions, times, the last contact). Other fields may have changed and
// stay as they are. Addresses are compared by kind, and lists of texts, such as tags, entry by
// entry. A field that was changed since makes a Conflict, which names the field and the
// later change; with any conflict nothing is undone.
// A dry run of up to 500 objects tries the undo and rolls it back. That of a larger change compares
// states in a transaction that only reads, so that no write waits for it.
// An undo is a change like any other. If nothing else was changed since, an object gets all of
// its recorded fields back, its times too, but its version grows, so that a write that names an
// earlier version conflicts.
//
// # Deletions
//
// A deletion is a change like any other, with the states of everything that it removed.
// Until its FinalAt, 30 days later, it is in the bin: undoing it restores everything.
// After that, or when the member empties the bin, Forget removes the people from this
// change and from all others, so that no copy stays. Changes with nothing left become
// final and can't be undone. What is left of other changes can be undone. An undo that
// removes people, such as the undo of a creation or an import, is a deletion too.
//
// # Imports
//
// The changes of an import are undone one by one, and object by object (TakeBack). An
// object with a conflict stays as it is and its change stays in force; the rest is
// undone. Undoing the import again tries what is left.
//
// # A new kind of object
//
// 1. Record it with a kind of its own (its name in list_changes) and the struct,
// or some fields of it, as state. Rows that belong to it, like the people of a
// note, are part of its struct.
//
// 2. Write a Restorer for it in its feature, in the file of its noun, and enter it in
// package kinds. The Restorer always gets whole states: this package first fills the
// fields that were not recorded with their current values.
//
// This package names the kinds and knows nothing else about them. It does not decide who
// may undo what: a caller of undo_change can undo all of the tenant's changes.
package history
