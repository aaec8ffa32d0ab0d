// Package groups owns how a member organises their people: groups, which have a
// keep-in-touch interval, tags, and the members of each.
//
// Groups are few (MaxGroups) and have names of their own; a tag is a word. Package people
// applies the intervals, and owns the rows of group membership.
package groups
