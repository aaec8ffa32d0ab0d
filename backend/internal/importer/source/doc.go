// Package source reads people out of files.
//
//	bytes ─▶ unpack (ZIP) ─▶ character set ─▶ format ─▶ reader ─▶ records
//
// Open finds out what a file is and reads it through once, so that it can tell
// what is wrong with the file as a whole, how many people are in it and what it
// holds that has no place here. Records then reads it again, a record at a time:
// what one record breaks, no other one pays for.
//
// The formats, and the files that read them:
//
//	linkedin_csv  LinkedIn's Connections.csv, or the ZIP of the whole export (table.go, layout.go)
//	google_csv    Google Contacts, both headers (table.go, google.go)
//	outlook_csv   Outlook, both headers (table.go, layout.go)
//	csv           any table whose header has words that headerwords.go knows, ours too (table.go)
//	vcard         vCard 2.1, 3.0 and 4.0 (cards.go, card.go, cardlines.go)
//	jscontact     JSContact 1.0 and 2.0 (RFC 9553, RFC 9982; jscontact.go, jscard.go)
//	json          our own lossless export (document.go)
//
// What comes out keeps to the bounds of the contract: a text that is too long is
// cut, an address that cannot be one is left out, and a warning of the record says
// so. A record without anybody in it has an error instead.
//
// The package holds no state, opens no files and knows nothing of who is on file
// already: matching and writing are the importer's.
package source
