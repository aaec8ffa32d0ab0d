// Package tree tests the rules of the source tree. It has no code but tests:
//
//   - The modules import each other only as the table in rule_test.go allows, in tests, too.
//     The order of packages within the backend is tested in backend/server.
//   - docs/dependencies.md lists the modules that go.mod files require.
//   - Files that package comments and documents name exist.
//   - Each row of the threat table names the test of its defence.
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
