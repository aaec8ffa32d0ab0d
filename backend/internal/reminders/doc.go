// Package reminders owns what a member wants to be reminded of: reminders, of which
// some recur, and the list of what is due, which gathers them with the dates that
// come round each year and the people to get back to.
//
//	open ──complete──▶ done          one that recurs moves to its next day
//	  │                              instead and stays open
//	  └────dismiss───▶ dismissed     one that recurs, too: it does not come back
//
// Days are the member's own; the caller says what day it is. Package people decides when
// a person is due for a contact.
package reminders
