// Package tree tests the rules of the source tree. It has no code but tests:
//
//   - The modules import each other only as the table in rule_test.go allows, in tests, too.
//     The order of packages within the backend is tested in backend/server.
//   - docs/dependencies.md lists the modules that go.mod files require.
//   - No name has a banned word; words_test.go lists the words.
//   - Functions, files and types of production code stay small: size_test.go.
//
// What the modules import:
//
//	deploy ──▶ backend/server, edge/server
//	   │           │              │
//	   └───────────┴──────┬───────┘
//	                      ▼
//	        sandbox, observability, proto
//
// The modules at the bottom import no other module of the workspace, backend and edge do
// not import each other, and nothing imports deploy.
package tree
