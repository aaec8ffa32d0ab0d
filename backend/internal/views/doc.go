// Package views owns the saved views of a member: names for filters of the list of people.
// Writes to them are not recorded as changes, since they change nothing about people.
package views
