// Package discovery serves the documents that tell clients, agents and people how to use
// the service. They are made once, when the process starts, from Markdown files and from
// the tables that the code itself uses:
//
//	pages/*.md, templates/ ┐         ┌ /v1, /llms.txt, /.well-known/api-catalog,
//	                       │         │ /.well-known/ai-catalog.json, /mcp/v1/server-card
//	routes, rate policies  │         ├ /mcp/docs, /docs/mcp
//	tool catalogue         ├→ site ──┼ /docs and all below it
//	error codes, requests  ┘         ├ /, the scripts and the stylesheet
//	openapi/                         └ /openapi.json
//
// A text that is served as HTML and as Markdown is one Markdown file; goldmark renders
// the HTML. Each tool and each error has a page, made from the catalogue and from the list
// of errors. Only search results and the documentation's 404 pages are made per request.
// A link is shown only if a route serves its path, so a server without a sandbox does not
// mention one.
//
// The package also serves the metadata of protected resources (RFC 9728): one
// document for each path that a client may know, because clients expect "resource"
// to be exactly that address. The sandbox has none, because it needs no login. The
// backend serves the metadata of the authorization server.
package discovery
