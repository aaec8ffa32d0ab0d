package route

import (
	"net/http"
	"path"
	"strings"
)

// The names of the rows of the documents.
const (
	Landing    = "landing"
	AgentIndex = "agent-index"
	LLMs       = "llms"
	DocsPeople = "docs-mcp"
	DocsAgents = "mcp-docs"
	DocsErrors = "docs-errors"
	DocsError  = "docs-error"
	APICatalog = "api-catalog"
	OpenAPI    = "openapi"
)

// AssetName is the name of the row that serves a file of the documents.
func AssetName(address string) string {
	return "asset-" + strings.ReplaceAll(path.Base(address), ".", "-")
}

// documents tell strangers how to use the service.
func documents() []Route {
	rows := []Route{
		{Name: Landing, Pattern: "/", Summary: "What this is, with the sandbox to try in the browser."},
		{Name: AgentIndex, Pattern: "/v1", Summary: "The agent index: where everything is, and what its limits are."},
		{Name: OpenAPI, Pattern: "/openapi.json", Summary: "The description of the live API, OpenAPI 3.1."},
		{Name: LLMs, Pattern: "/llms.txt", Summary: "A site index for agents."},
		{Name: DocsPeople, Pattern: "/docs/mcp", Summary: "The documentation of the MCP server, for people."},
		{Name: DocsAgents, Pattern: "/mcp/docs", Summary: "The documentation of the MCP server, for agents."},
		{Name: DocsErrors, Pattern: "/docs/errors", Summary: "All error codes."},
		{Name: DocsError, Pattern: "/docs/errors/{code}", Summary: "What an error means and what to do about it."},
		{Name: APICatalog, Pattern: "/.well-known/api-catalog", Summary: "The API catalogue (RFC 9727)."},
		{Name: AssetName("docs.css"), Pattern: "/assets/docs.css", Summary: "The stylesheet of the documents."},
		{Name: AssetName("try.js"), Pattern: "/assets/try.js", Summary: "What runs the landing page's requests."},
	}
	for i := range rows {
		rows[i].Methods, rows[i].State, rows[i].Protocol, rows[i].Anonymous = []string{http.MethodGet}, Current, HTTP, true
	}
	return rows
}
