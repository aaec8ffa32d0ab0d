// Package cardfile writes connections in formats that other programs read.
//
//	json       lossless, with notes, interactions, reminders and groups; see Document
//	csv        RFC 4180, one row for each person; see Columns
//	vcard      vCard 4.0, RFC 6350
//	jscontact  an array of cards of JSContact 1.0, RFC 9553
//
// Only json is lossless; its list left_out names what it omits. The others omit notes,
// interactions, reminders, descriptions and intervals of groups, starred, the source,
// keep-in-touch intervals and past positions; vcard and jscontact also omit dates other
// than birthdays and anniversaries.
//
// The records of the JSON format are also those of account.json (internal/accountfile),
// and those that internal/importer/source decodes. The sandbox module, which cannot import
// this one, writes the same format for the demo account.
package cardfile
