// Package groups owns how a member arranges their people: groups, which have a
// keep-in-touch interval, tags, and who is in which.
//
// Groups are few (MaxGroups) and have names of their own; a tag is a word. Package
// people says what follows from an interval, and owns the rows that put people into
// groups.
package groups
