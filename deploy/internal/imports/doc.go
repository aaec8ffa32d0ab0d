// Package imports guards the import rule between the modules of the workspace:
//
//	deploy ──▶ backend/server, edge/server
//	   │           │              │
//	   └───────────┴──────┬───────┘
//	                      ▼
//	        sandbox, observability, proto
//
// The modules at the bottom import no other module of the workspace, backend and edge
// do not import each other, and nothing imports deploy. The rule holds for tests, too.
// This package has no code but its tests; the table in rule_test.go says what each
// module may import. The order of packages within the backend is tested in
// backend/server.
package imports
