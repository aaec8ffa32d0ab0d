package discovery

import (
	"net/http"
	"path"
	"strings"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/route"
)

// Routes returns the routes of the documents. It ignores o.Routes: each route is built
// with the live routes.
func Routes(o Options) []route.Route {
	built := map[*route.Route]Documents{} // by the address of the first live route, which identifies the table
	documents := func(live []route.Route) (d Documents, err error) {
		if built[&live[0]] == nil {
			o.Routes = live
			built[&live[0]], err = New(o)
		}
		return built[&live[0]], err
	}
	routes := []route.Route{
		{Name: "landing", Pattern: pathHome, SignedIn: "today", Summary: "The landing page, with requests to try in the browser."},
		{Name: "agent-index", Pattern: pathIndex, Summary: "The agent index: addresses, limits and deprecations as JSON."},
		{Name: "openapi", Pattern: pathOpenAPI, Summary: "The OpenAPI 3.1 description of the live API."},
		{Name: "llms", Pattern: pathLLMs, Summary: "A site index for agents."},
		{Name: "docs-mcp", Pattern: pathPeopleDocs, Summary: "The documentation of the MCP server, for people."},
		{Name: "mcp-docs", Pattern: pathAgentDocs, Summary: "The documentation of the MCP server, for agents."},
		{Name: "docs", Pattern: pathDocs, Query: []string{"q"}, Summary: "The documentation, with a search."},
		{Name: "docs-guide", Pattern: pathGuide, Summary: "A guide of the documentation."},
		{Name: "docs-tools", Pattern: pathTools, Summary: "All tools, by group."},
		{Name: "docs-tool", Pattern: pathTool, Summary: "A tool: its arguments, answer, price, scopes, errors and an example."},
		{Name: "docs-errors", Pattern: pathErrors, Summary: "All error codes."},
		{Name: "docs-error", Pattern: pathError, Summary: "What an error means and what to do about it."},
		{Name: "api-catalog", Pattern: pathAPICatalog, Summary: "The API catalogue (RFC 9727)."},
		{Name: "mcp-server-card", Pattern: route.PathServerCard, Summary: "The card of the MCP server (experimental, SEP-2127)."},
		{Name: "sandbox-mcp-server-card", Pattern: route.PathSandboxCard, SandboxOnly: true, Summary: "The card of the sandbox's MCP server (experimental, SEP-2127)."},
		{Name: "ai-catalog", Pattern: pathAICatalog, Summary: "The AI catalogue, which names the server card (experimental)."},
		{Name: assetName(pathStylesheet), Pattern: pathStylesheet, Summary: "The stylesheet of the documents."},
		{Name: assetName(pathPictureLight), Pattern: pathPictureLight, Summary: "A picture of the demo, for light screens."},
		{Name: assetName(pathPictureDark), Pattern: pathPictureDark, Summary: "A picture of the demo, for dark screens."},
		{Name: assetName(pathTry), Pattern: pathTry, Summary: "The script of the landing page."},
		{Name: assetName(pathSearch), Pattern: pathSearch, Summary: "The script of the documentation's search."},
	}
	for i := range routes {
		r := &routes[i]
		r.Methods, r.State, r.Protocol, r.Anonymous = []string{http.MethodGet}, route.Current, route.HTTP, true
		r.Build = func(live []route.Route) (route.Handler, error) {
			d, err := documents(live)
			return d[r.Pattern], err
		}
	}
	return routes
}

// assetName is the name of the route of a file that pages load.
func assetName(address string) string {
	return "asset-" + strings.ReplaceAll(path.Base(address), ".", "-")
}

// ResourceRoutes returns the routes of the protected-resource metadata (RFC 9728), one
// for each path that a client may have been given.
func ResourceRoutes(baseURL string, tools *catalog.Catalog) []route.Route {
	metadata := func(name, at, resource string) route.Route {
		return route.Route{
			Name: name, Methods: []string{http.MethodGet}, Pattern: at, State: route.Current, Protocol: route.HTTP, Anonymous: true,
			Summary: "Protected-resource metadata (RFC 9728).",
			Build: func([]route.Route) (route.Handler, error) {
				return ProtectedResource(baseURL, resource, tools.Scopes())
			},
		}
	}
	return []route.Route{
		// The specification names /mcp as the protected resource.
		metadata("protected-resource", route.ResourcePrefix, route.PathMCPDeprecated),
		metadata("protected-resource-mcp", route.ResourcePrefix+route.PathMCPDeprecated, route.PathMCPDeprecated),
		metadata("protected-resource-mcp-v1", route.ResourcePrefix+route.PathMCPCurrent, route.PathMCPCurrent),
		metadata("protected-resource-mcp-v1-me", route.ResourcePrefix+route.PathMCPMember, route.PathMCPMember),
		metadata("protected-resource-mcp-v1-research", route.ResourcePrefix+route.PathMCPResearch, route.PathMCPResearch),
	}
}
