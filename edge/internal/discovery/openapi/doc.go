// Package openapi makes GET /openapi.json, the OpenAPI 3.1 description of this server.
//
// source/*.yaml describe what a handler does: parameters, bodies, answers, examples. The package
// adds the values that other code or the deployment defines, so that they are written only once:
//
//   - ${name} stands for a variable: scopes, tool names, the public address (variables.go);
//   - an example with $problem: code is the problem with that code (variables.go);
//   - the routes define the paths, their summaries, their copies under /sandbox and which are
//     deprecated; a page that the source does not describe is like all pages (operations.go);
//   - every operation gets the answers of the router and of its rate limit (answers.go).
//
// testdata/openapi.json is the document of a server with every path and the default rate limits.
// `make update` writes it.
package openapi
