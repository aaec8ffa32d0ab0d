// Package e2e tests Kith from outside: the real binary, over real sockets, on
// each way to run it.
//
//	sqlite    kith serve on a SQLite file
//	postgres  kith serve on PostgreSQL
//	split     kith backend + kith edge, two processes on PostgreSQL
//
// A test gets its own processes and its own database, so all of them run in
// parallel. Outside judges (the official MCP SDK, the conformance suite, the
// inspector) are npm packages; `npm ci` in this folder installs them. `make test`
// provides both, PostgreSQL and the packages; `go test -short` leaves both out.
//
// Nothing here knows how the service is built: what is asserted is in the
// specification, in the rulings, or is what a caller would expect.
package e2e
