// Package export writes a member's data in formats that other programs read.
//
//	json       lossless, with notes, interactions, reminders and groups; see Document
//	csv        RFC 4180, one row for each person; see Columns
//	vcard      vCard 4.0, RFC 6350
//	jscontact  an array of cards of JSContact 1.0, RFC 9553
//
// Only json is lossless; its list left_out names what it omits. Files in json and vcard have the
// photos; answers of export_connections leave them out. The others omit notes,
// interactions, reminders, descriptions and intervals of groups, starred, the source,
// keep-in-touch intervals and past positions; vcard and jscontact also omit dates other
// than birthdays and anniversaries.
//
// WriteAccount writes all of an account as one ZIP:
//
//	README.txt               what is in it
//	account.json             everything, with the account itself
//	contacts.json            people, notes, interactions, reminders and groups, for imports
//	contacts-2.json, …       further people, when contacts.json would be too large
//	contacts.csv             for spreadsheets
//	contacts.vcf             vCard 4.0
//	contacts.jscontact.json  JSContact 1.0
//
// Each contacts.json can be imported by itself. A note about people in two of them is in
// both; importing both keeps it once. If two people in different files share an address,
// an import of the second file merges them, as with any two files; within one file it
// does not. The ZIP is written page by page while the data is read, so memory does not
// grow with it.
//
// The records of the JSON format are also those of account.json, and those that
// importer/source decodes. The sandbox module, which cannot import this one, writes the
// same format for the demo account.
package export
