// Package discovery tells strangers, agents and people, how to use the service. All of
// it is made once, when the process starts, from the tables that the code runs on:
//
//	rows of the route table ┐            ┌ /v1, /llms.txt, /.well-known/api-catalog
//	tool catalogue          ├→ site ─────┼ /mcp/docs, /docs/mcp
//	rate policies           │            ├ /docs/errors, /docs/errors/{code}
//	error codes, requests   ┘            └ / with its script and its stylesheet
//
// A link is shown only where a row serves it, so that a server without a sandbox
// or without pages has documents without them. Texts that are read in two forms
// are written once and rendered as HTML and as Markdown (package markup).
//
// It owns the words about errors, protocols and tools. It does not own what is
// told: the catalogue describes the tools, the table the paths.
package discovery
