// Package discovery tells new clients, agents and people how to use the service. Its
// documents are made once, when the process starts, from Markdown files and from
// what the code runs on:
//
//	pages/*.md, templates/ ┐         ┌ /v1, /llms.txt, /.well-known/api-catalog,
//	                       │         │ /.well-known/ai-catalog.json, /mcp/v1/server-card
//	routes, rate policies  │         ├ /mcp/docs, /docs/mcp
//	tool catalogue         ├→ site ──┼ /docs and all below it
//	error codes, requests  ┘         ├ /, the scripts and the stylesheet
//	openapi/                         └ /openapi.json
//
// A text that is served in two forms is Markdown from one file; goldmark renders its
// HTML. Each tool and each error has a page, from the catalogue and from the list of
// errors. Only a search and a 404 of the documentation are made while they are asked for. A link is shown only where a route serves its path, so that a server
// without a sandbox has documents without it.
//
// The package also serves the metadata of protected resources (RFC 9728): one
// document for each path that a client may know, because clients expect "resource"
// to be exactly that address. The sandbox has none, because it needs no login. The
// backend serves the metadata of the authorization server.
package discovery
