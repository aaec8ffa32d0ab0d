package route

import (
	"net/http"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
)

// The names of the rows, under which handlers are registered.
const (
	Profile         = "profile"
	ProfileJSON     = "profile-json"
	ProfileMarkdown = "profile-markdown"
	Members         = "members"
	Batch           = "batch"
	MCPCurrent      = "mcp-v1"
	MCPDeprecated   = "mcp"
	MCPSandbox      = "mcp-sandbox"
	SandboxMCP      = "sandbox-mcp-v1"
	SandboxIndex    = "sandbox"
	ResourceRoot    = "protected-resource"
	ResourceMCP     = "protected-resource-mcp"
	ResourceMCPV1   = "protected-resource-mcp-v1"
	Identity        = "agent-identity"
	StartJob        = "jobs"
	Job             = "job"
)

// ResourcePrefix is where RFC 9728, section 3.1, has the metadata of a resource:
// its path follows.
const ResourcePrefix = "/.well-known/oauth-protected-resource"

// Paths that are named outside their row too.
const (
	PathMCPCurrent    = "/mcp/v1"
	PathMCPDeprecated = "/mcp"
	PathMCPSandbox    = "/mcp/sandbox"
	PathSandboxMCP    = SandboxPrefix + "/mcp/v1"
)

// Table returns every public path of the service, in the order in which they are
// documented. A new path is a new row here and a handler of the same name.
func Table() []Route {
	var table []Route
	table = append(table, publicReads()...)
	table = append(table, batch())
	table = append(table, mcpServers()...)
	table = append(table, jobs()...)
	table = append(table, sandboxIndex())
	table = append(table, resourceMetadata()...)
	table = append(table, identity())
	table = append(table, documents()...)
	table = append(table, authorizationServer()...)
	return append(table, pages()...)
}

func publicReads() []Route {
	read := Route{
		Methods: []string{http.MethodGet}, State: Current, Protocol: HTTP,
		Anonymous: true, Batchable: true, RatePolicy: ratelimit.PolicyProfile,
	}
	profile, asJSON, asMarkdown, members := read, read, read, read
	profile.Name, profile.Pattern = Profile, "/api/human/{username}"
	profile.Summary = "A member's public profile as JSON."
	asJSON.Name, asJSON.Pattern = ProfileJSON, "/api/human/{username}.json"
	asJSON.Summary = "The same profile, with an explicit extension."
	asMarkdown.Name, asMarkdown.Pattern = ProfileMarkdown, "/api/human/{username}.md"
	asMarkdown.Summary = "The same profile as Markdown."
	members.Name, members.Pattern = Members, "/api/network/members"
	members.RatePolicy, members.Query = ratelimit.PolicyDirectory, []string{"q", "per_page", "cursor"}
	members.Summary = "A page of the public member directory; parameters q, per_page and cursor."
	return []Route{profile, asJSON, asMarkdown, members}
}

func batch() Route {
	return Route{
		Name: Batch, Methods: []string{http.MethodPost}, Pattern: "/api/batch", State: Current, Protocol: HTTP,
		Anonymous: true, RatePolicy: ratelimit.PolicyBatch,
		Summary: "Up to 20 of the batchable reads in one request; each item has its own status.",
	}
}

func mcpServers() []Route {
	server := Route{
		Methods: []string{http.MethodPost}, State: Current, Protocol: MCP, RatePolicy: ratelimit.PolicyMCP,
	}
	current, deprecated, short, long := server, server, server, server
	current.Name, current.Pattern = MCPCurrent, PathMCPCurrent
	current.Summary = "The MCP server. Tool calls need a bearer token; initialize, ping and tools/list do not."
	deprecated.Name, deprecated.Pattern = MCPDeprecated, PathMCPDeprecated
	deprecated.State, deprecated.Successor = Deprecated, PathMCPCurrent
	deprecated.Summary = "The MCP server under its old path. Every method needs a bearer token."
	short.Name, short.Pattern = MCPSandbox, PathMCPSandbox
	long.Name, long.Pattern = SandboxMCP, PathSandboxMCP
	for _, r := range []*Route{&short, &long} {
		r.Anonymous, r.SandboxOnly, r.RatePolicy = true, true, ratelimit.PolicyMCPSandbox
		r.Summary = "The MCP server of the demo account: no credential, and every writing tool is refused."
	}
	return []Route{current, deprecated, short, long}
}

func sandboxIndex() Route {
	return Route{
		Name: SandboxIndex, Methods: []string{http.MethodGet}, Pattern: SandboxPrefix,
		State: Current, Protocol: HTTP, Anonymous: true, SandboxOnly: true,
		Summary: "What the sandbox is, whether it is seeded, and requests to try.",
	}
}

func resourceMetadata() []Route {
	doc := Route{
		Methods: []string{http.MethodGet}, State: Current, Protocol: HTTP, Anonymous: true,
		Summary: "Protected-resource metadata (RFC 9728).",
	}
	root, old, current := doc, doc, doc
	root.Name, root.Pattern = ResourceRoot, ResourcePrefix
	old.Name, old.Pattern = ResourceMCP, ResourcePrefix+PathMCPDeprecated
	current.Name, current.Pattern = ResourceMCPV1, ResourcePrefix+PathMCPCurrent
	return []Route{root, old, current}
}
