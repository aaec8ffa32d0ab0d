// Package move exports a whole account to a file and imports it into another installation, on
// SQLite or PostgreSQL, with its ids, history and ledger. The member's own export is package export.
//
// The file is gzip'd JSON, an object on each line:
//
//	{"kith_account":1,"schema":"20261122000000","member":"mem_…","username":"ada",…}
//	{"table":"members","row":{"id":"mem_…","username":"ada",…}}
//	…
//	{"end":{"rows":1234,"sha256":"…"}}
//
// The tables are in the order of moved, the rows of a table in the order of its primary key, and each
// row has every column: the same account has the same lines on both databases. Texts, numbers and
// flags are JSON strings, numbers and booleans. Times are RFC 3339 in UTC, bytes are base64. The
// digest covers all lines before the last, with their newlines: an import refuses a file that was cut
// or changed.
//
// Credentials and unfinished work are not exported: leftOut lists these tables, with the reasons. A
// file is untrusted input. An import accepts only known names of tables and columns, refuses rows of
// any other member, and writes everything in one transaction, or nothing.
package move
