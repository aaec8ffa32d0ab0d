// Package accountfile writes all that a member has as one ZIP to download.
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
// does not.
//
// internal/cardfile writes the contacts, and its records are those of account.json. The
// ZIP is written page by page while the data is read, so memory does not grow with it.
package accountfile
