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
// Rows are in the order of moved, and within a table in that of the primary key, with every column:
// the same account has the same lines on both databases. Texts, numbers and flags are those of JSON,
// times RFC 3339 in UTC, bytes base64. The digest is of all lines before the last, with their newlines:
// a file that was cut or changed is refused.
//
// Credentials stay behind, and what is unfinished: leftOut says which tables, and why. A file comes
// from outside, so that an import trusts no name of a table or column in it, binds every row to the one
// member of the file, and writes everything in one transaction or nothing.
package move
