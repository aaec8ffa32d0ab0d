// Package history records what writes did, and takes it back.
//
// A write reports itself as a Draft: one line for people, and an Effect for each
// object that it touched, with the object's state before and after. The record
// is kept in the write's own transaction, and undo works from it alone.
//
// # States
//
// A state is the JSON of the domain's struct, or of some of its fields: what a
// state leaves out did not matter to the write, is not compared by an undo and
// stays as it is. Null means that the object was not there. A state that moves a
// note to another person is {"ConnectionIDs": […]} and no more.
//
// # Undo
//
//	change C ──undo──▶ change U (Undoes C)      C.UndoneBy = U
//	           undo──▶ change V (Undoes U)      U.UndoneBy = V, C is in force again
//
// The effects are taken back from the last to the first. Each object must still
// be as the effect left it, apart from fields that change by themselves (versions,
// times, the last contact); an object that is not is a Conflict, and with any conflict nothing
// is undone. An undo is a change like any other. An object gets all of its recorded fields back, its times too; only its version
// grows, so that whoever holds an earlier one is told, and what an undo archives is
// archived from then on. Of being archived it counts that, not since when.
//
// # Deletions
//
// A deletion is a change like any other, with the states of all that it removed. Until
// its FinalAt, 30 days later, undoing it brings everything back: it is in the bin.
// After that, or when the member empties the bin, Forget removes the people from this
// change and from all others, so that no copy stays. Changes of which nothing is left
// become final: undoing them is refused. Of other changes the rest can be undone. An
// undo that removes people, as that of a creation or an import does, is a deletion too.
//
// # Imports
//
// The changes of an import are taken back one by one, and object by object (TakeBack):
// there a conflict leaves its object as it is, and the change in force, and the rest
// is undone. Undoing the import again tries what is left.
//
// # A new kind of object
//
// 1. Record it with a kind of its own (its name in list_changes) and the struct,
// or some fields of it, as state. Rows that hang on it, like the people of a
// note, are part of its struct.
//
// 2. Write a Restorer for it in its feature, restore_<kind>_sql.go, and enter it in
// package kinds. The Restorer gets whole states only: the recorded fields are laid over
// the present ones before.
//
// This package names the kinds and knows nothing else of them. It does not decide who may
// undo what: a caller of undo_change reaches all of the tenant's changes.
package history
