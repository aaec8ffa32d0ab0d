// Package cardfile writes people out in formats that other programs read.
//
//	json       everything on file, with notes, interactions, reminders and groups; see Document in json.go
//	csv        RFC 4180, one row for each person; see Columns
//	vcard      vCard 4.0, RFC 6350
//	jscontact  an array of cards of JSContact 1.0, RFC 9553
//
// Only json is lossless; what it leaves out it says in its list left_out. What the
// others leave out: notes, interactions, reminders, descriptions and intervals of groups, starred,
// the source, keep-in-touch intervals, and past positions (all but json); dates that
// are neither birthday nor anniversary (vcard, jscontact). The package writes and
// never reads; imports have readers of their own.
package cardfile
