// Package openapi makes GET /openapi.json, the OpenAPI 3.1 description of this server,
// in two steps:
//
//	make gen (Assemble)   source/*.yaml + variables + problems + routes → openapi.json
//	start (New)           openapi.json + settings of the deployment     → the document
//
// The source describes what a handler does: parameters, bodies, answers, examples. Values
// that other code defines are filled in, so that they are written only once:
//
//   - ${name} stands for a variable: scopes, tool names, error codes (variables.go);
//   - an example with $problem: code is the problem with that code (problems.go);
//   - the routes define the paths, their summaries, their copies under /sandbox and
//     which are deprecated (routes.go). Every route gets the answers of the router:
//     400, 405, 408, 413, 415, 431 and 503 (answers.go).
//
// openapi.json is committed; a test fails when it is stale. The address, the sandbox, the
// rate limits and the removal dates depend on the deployment. They are added when the
// process starts (deployment.go), and paths that are not served are left out.
package openapi
