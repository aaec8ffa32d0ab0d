// Package discovery tells new clients, agents and people how to use the service. Its
// documents are made once, when the process starts, from Markdown files and from
// what the code runs on:
//
//	pages/*.md, templates/ ┐         ┌ /v1, /llms.txt, /.well-known/api-catalog,
//	                       │         │ /.well-known/ai-catalog.json, /mcp/v1/server-card
//	routes, rate policies  │         ├ /mcp/docs, /docs/mcp
//	tool catalogue         ├→ site ──┼ /docs/errors, /docs/errors/{code}
//	error codes, requests  ┘         ├ /, its script and its stylesheet
//	openapi/                         └ /openapi.json
//
// A text that is served in two forms is one Markdown file; goldmark renders its
// HTML. A link is shown only where a route serves its path, so that a server
// without a sandbox has documents without it.
//
// The package also serves the metadata of protected resources (RFC 9728): one
// document for each path that a client may know, because clients expect "resource"
// to be exactly that address. The sandbox has none, because it needs no login. The
// backend serves the metadata of the authorization server.
package discovery
