// Package cardfile writes people out in formats that other programs read.
//
//	json       everything on file, with notes and interactions; see Document in json.go
//	csv        RFC 4180, one row for each person; see Columns
//	vcard      vCard 4.0, RFC 6350
//	jscontact  an array of cards of JSContact 1.0, RFC 9553
//
// Only json is lossless. What the others leave out: notes, interactions, starred,
// the source, keep-in-touch intervals, and past positions (all but json); dates that
// are neither birthday nor anniversary (vcard, jscontact). The package writes and
// never reads; imports have readers of their own.
package cardfile
