// Package openapi makes GET /openapi.json, the OpenAPI 3.1 description of what this
// server serves, in two steps:
//
//	make gen (Assemble)   source/*.yaml + variables + problems + routes → openapi.json
//	start (New)           openapi.json + what the deployment decides    → the document
//
// The source says what a handler does: parameters, bodies, answers, examples. What
// other code decides is filled in, so that it is written only once:
//
//   - ${name} stands for a variable: scopes, tool names, error codes (variables.go);
//   - an example with $problem: code is the problem with that code (problems.go);
//   - the routes say which paths there are, their summaries, their copies under
//     /sandbox and what is deprecated (routes.go). Every route gets the answers of
//     the router: 400, 405, 408, 413, 415, 431 and 503 (answers.go).
//
// openapi.json is committed; a test fails when it is stale. An operator decides the
// address, the sandbox, the rate limits and the removal dates. These are added when
// the process starts (deployment.go), and paths that are not served are left out.
package openapi
