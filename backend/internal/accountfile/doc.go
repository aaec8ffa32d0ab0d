// Package accountfile writes everything that a member keeps as one ZIP, for the
// member to take along.
//
//	README.txt               what is in it
//	account.json             everything on file, with the account itself
//	contacts.json            people, notes, interactions, reminders and groups; imports read it back
//	contacts-2.json, …       those who do not fit into it
//	contacts.csv             for spreadsheets
//	contacts.vcf             vCard 4.0
//	contacts.jscontact.json  JSContact 1.0
//
// Each document is whole by itself: notes of people in two are in both, and come on
// file once. Of two people in different ones who share an address, an import takes
// the second for the first, as with any two files; within one it does not.
//
// The files of contacts are internal/cardfile's. The ZIP is written as the data is
// read, a page at a time: its size does not matter to memory.
package accountfile
