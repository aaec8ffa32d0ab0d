// Package imports guards the import rule between the modules of the workspace:
//
//	deploy ──▶ backend/server, edge/server
//	   │           │              │
//	   └───────────┴──────┬───────┘
//	                      ▼
//	        sandbox, observability, proto
//
// Those at the bottom import nothing of ours, backend and edge never meet, and
// nobody imports deploy. Tests keep to the same rule. There is no code here but
// the test; what each module may import is the table in rule_test.go.
package imports
