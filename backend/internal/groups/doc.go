// Package groups owns how a member arranges their people: groups, which have a
// keep-in-touch interval, tags, and who is in which.
//
// Groups are few (MaxGroups) and have names of their own; a tag is a word. Writer
// and Reader are what the package needs of a store, bound to one tenant and, for
// Writer, to one transaction. What follows from an interval is in
// internal/connection.
package groups
