// Package e2e holds the black-box tests of Kith: the real binary, over real sockets, for
// each way to run it.
//
//	sqlite    kith serve on a SQLite file
//	postgres  kith serve on PostgreSQL
//	split     kith backend + kith edge, two processes on PostgreSQL
//
// Each area is a package in its own folder; package harness has the shared code. To run
// one area, or one test:
//
//	deploy/e2e/with-services.sh go test ./deploy/e2e/mcp
//	deploy/e2e/with-services.sh go test ./deploy/e2e/mcp -run TestVersionHeader
//	go test -short ./deploy/e2e/mcp # SQLite only, and only Go is needed
//
// With KITH_TEST_RACE=1 services are built with the race detector, as in `make test`.
// The tests call services over the network, so `go test -race` would find nothing more.
//
// with-services.sh starts PostgreSQL and Redis for a command. The official MCP SDK,
// its conformance suite, the inspector and openid-client are npm packages, which
// `npm ci` in this folder installs. A real Chromium opens the pages; screenshots
// are left in .tmp/screenshots. `make test` provides all of these.
//
// Tests in JavaScript are files *.test.mjs beside the Go test that runs them: it
// starts the service and passes its address by environment variables. They write
// the secrets they meet to a file, and every log and span is searched for those.
//
// The tests don't know how the service is built: they check the specification, the
// rulings, or what a caller would expect.
package e2e
