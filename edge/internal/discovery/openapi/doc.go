// Package openapi makes GET /openapi.json, the OpenAPI 3.1 description of what this
// server serves, once, when the process starts.
//
//	source/*.yaml ─▶ facts ─▶ problems ─▶ rows ─▶ unused ─▶ JSON
//	written by hand  (facts.go)           (rows.go, answers.go)  (unused.go, encode.go)
//
// The source says what a handler does: parameters, bodies, answers, examples. What
// other code decides is not written there but filled in, so that it is nowhere
// twice:
//
//   - ${name} stands for a fact: the base URL, scopes, tool names, error codes,
//     limits (facts.go);
//   - an example with $problem: code is that code's problem (problems.go);
//   - the route table says which paths there are, their summaries, their copies
//     under /sandbox, what is deprecated and which rate policy applies. What the
//     router does with every row, it is told for every row: 400 for a query that
//     is not accepted, 429, 503, and the headers that go with them (answers.go).
//
// A path of the source that no row has is left out; a row that the source does not
// describe is an error.
package openapi
