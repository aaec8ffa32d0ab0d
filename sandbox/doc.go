// Package sandbox has the demo account: an invented member with an invented network
// that anyone may read without signing in.
//
// It owns the demo data, the sample import files and the ready-made requests of the
// sandbox page. It owns no storage and no HTTP, and imports the standard library alone.
// The network is a [Document] in the format of Kith's lossless JSON export; the backend
// imports it.
//
// # Dates
//
// members.json and account.json hold the data, one record a line. In place of dates they
// have placeholders such as ${-3} for three days ago, which [Build] replaces:
//
//	members.json ─┐
//	account.json ─┼─ Build ─→ Dataset
//	day ──────────┘
//
// So the same day gives the same bytes, and another day gives the same people, ids and
// texts with every date moved. "Due this week", "birthday today" and "losing touch" are
// never empty. To change the demo account, edit the files; the tests check that they are
// consistent on every day.
//
// # No real people
//
// Names combine common given and family names; organizations are invented; every domain
// ends in .example (RFC 2606); phone numbers come from the ranges reserved for fiction
// (+1 NXX 555-0100 to 0199 and +44 20 7946 0000 to 0999).
//
// One note tries to instruct the model that reads it. It is test text: an assistant must tell
// the member about it and not follow it.
package sandbox
