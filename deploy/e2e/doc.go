// Package e2e tests Kith from outside: the real binary, over real sockets, on
// each way to run it.
//
//	sqlite    kith serve on a SQLite file
//	postgres  kith serve on PostgreSQL
//	split     kith backend + kith edge, two processes on PostgreSQL
//
// A test gets its own processes and its own database, so all of them run in
// parallel. Outside judges (the official MCP SDK, the conformance suite, the
// inspector, openid-client) are npm packages; `npm ci` in this folder installs
// them. What a person does, a real Chromium does; pictures of the pages are left
// in .tmp/screenshots. `make test` provides PostgreSQL, the packages and the
// browser; `go test -short` leaves out what needs them.
//
// Tests in JavaScript are files *.test.mjs by subject, each run by a Go test that
// starts the service and tells them of it by environment variables. The secrets
// that they meet they leave in a file, and every log and span is searched for them.
//
// Nothing here knows how the service is built: what is asserted is in the
// specification, in the rulings, or is what a caller would expect.
package e2e
