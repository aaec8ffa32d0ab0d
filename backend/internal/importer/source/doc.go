// Package source reads people from files.
//
//	bytes ─▶ unpack (ZIP) ─▶ character set ─▶ format ─▶ reader ─▶ records
//
// Open detects the format of a file and reads it once, to report what is wrong with the
// file as a whole, how many people it has and which of its fields are not imported.
// Records then reads it again, one record at a time: an error of a record does not affect
// the others. A person is an export.PersonRecord whatever the format of the file.
//
// The formats, and the files that read them:
//
//	linkedin_csv  LinkedIn's Connections.csv, or the ZIP of the whole export (table.go, layout.go)
//	google_csv    Google Contacts, both headers (table.go, layout.go)
//	outlook_csv   Outlook, both headers (table.go, layout.go)
//	csv           any table with a header that words/headers.txt has, ours too (table.go)
//	vcard         vCard 2.1, 3.0 and 4.0 (vcard.go splits a file, vcard_card.go reads a card)
//	jscontact     JSContact 1.0 and 2.0 (RFC 9553, RFC 9982; jscontact.go)
//	monica        Monica 4's export (monica.go), also as SQL (monica_dump.go)
//	whatsapp      a chat that WhatsApp exports, without its texts (whatsapp.go)
//	json          Kith's lossless export (document.go)
//
// Every reader fills a draft, which enforces the limits of the contract: it cuts a text
// that is too long and leaves out an invalid address, with a warning of the record. A
// record without a person has an error instead.
//
// The package has no state, opens no files and does not know the stored people: matching
// and writing are in package importer.
package source
