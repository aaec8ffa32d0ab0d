// Package reminders owns reminders, of which some recur, and the list of what is due. The
// list combines reminders with the dates that recur each year and the people who are due
// for a contact.
//
//	open ──complete──▶ done          one that recurs moves to its next day
//	  │                              instead and stays open
//	  └────dismiss───▶ dismissed     one that recurs, too: it does not come back
//
// Days are in the member's time zone; the caller passes the current day. Package people
// decides when a person is due for a contact.
package reminders
