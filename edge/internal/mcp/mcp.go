// Package mcp is the MCP endpoint: a stateless JSON-RPC 2.0 dispatcher over streamable HTTP (MCP
// 2025-06-18 and 2025-03-26).
//
// A request passes these steps; the first step that refuses it answers:
//
//	access        Host and Origin, media type                  (request.go)
//	decode        one strict parse; arguments stay raw bytes   (request.go)
//	version       MCP-Protocol-Version                         (request.go)
//	narrow        the tools that the headers select            (narrowing.go)
//	authenticate  by the policy of the path; the backend decides (endpoint.go)
//	dispatch      to the methods of tools, prompts, resources  (endpoint.go)
//
// Duplicate keys, keys that differ from known ones only in case, and values that parsers may
// interpret differently are refused before anything uses them.
//
// It does not decode the arguments or answers of tools. The catalogue maps tools to procedures; the
// arguments are the procedure's JSON body, and the answer is structuredContent, preceded by the
// member text_by_others.
package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/kith-crm/kith/edge/internal/bearer"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/upstream"
	"github.com/kith-crm/kith/observability/metrics"
	"github.com/kith-crm/kith/proto/catalog"
)

// Supported protocol versions of MCP.
const (
	version20250618 = "2025-06-18"
	version20250326 = "2025-03-26"
)

// Versions returns the supported protocol versions, the default first.
func Versions() []string { return []string{version20250618, version20250326} }

// Methods of JSON-RPC requests.
const (
	methodInitialize    = "initialize"
	methodPing          = "ping"
	methodListTools     = "tools/list"
	methodCallTool      = "tools/call"
	methodListPrompts   = "prompts/list"
	methodGetPrompt     = "prompts/get"
	methodComplete      = "completion/complete"
	methodListResources = "resources/list"
	methodListTemplates = "resources/templates/list"
	methodReadResource  = "resources/read"
)

// Error codes: those of JSON-RPC 2.0, section 5.1, and this service's own in the range for
// servers. MCP reserves -32020 to -32099 since 2026-07-28.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeUnknownMethod  = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	// codeUnauthorized is the code of a 401; the challenge is in the header.
	codeUnauthorized = -32000
	// codeRefused is for a valid credential that may not do this. A retry cannot help.
	codeRefused = -32001
	// codeNoResource is MCP's code for a resource that does not exist.
	codeNoResource = -32002
	// codeRateLimited is the code of a 429.
	codeRateLimited = -32003
)

// Limits of a request.
const (
	maxBodyBytes = 2 << 20 // an inline import is at most 1 MiB of text
)

// Options configure the MCP server. Catalog, Backend, BaseURL, Logger and ClientBucket are
// required.
type Options struct {
	Catalog *catalog.Catalog
	Backend *upstream.Client
	Logger  *slog.Logger
	// BaseURL is the public address, without a slash at the end.
	BaseURL string
	// DemoToken is the demo account's token; "" without a sandbox.
	DemoToken string
	// Version of the service, which initialize returns.
	Version string
	// AllowedOrigins are the web origins that may call, besides the service's own; "*" allows all.
	AllowedOrigins []string
	// Loopback is set if the listener is reachable only from this machine. Then Host is checked,
	// against DNS rebinding.
	Loopback bool
	// ClientBucket returns the address bucket of a request (clientip.Client.Bucket). It
	// distinguishes callers of the sandbox, who share a credential.
	ClientBucket func(r *http.Request) string
	// Observe, if set, is called once for each tool call. An unknown tool has no name.
	Observe func(ctx context.Context, tool string, outcome metrics.Outcome, d time.Duration)
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// credentialPolicy is the credential that an endpoint requires.
type credentialPolicy uint8

const (
	// bearerForCalls requires a bearer for tools/call and resources/read. A bearer that is sent with another
	// method must be valid too.
	bearerForCalls credentialPolicy = iota
	// bearerAlways requires a bearer for every method.
	bearerAlways
	// demoAccount calls with the demo account's token. The caller's token is ignored.
	demoAccount
)

// The names of routes, which are also part of a request's fingerprint.
const (
	RouteCurrent = "mcp-v1"
	routeSandbox = "mcp-sandbox"
)

// Dispatcher is the MCP server. It is safe for concurrent use.
type Dispatcher struct {
	options Options
	tools   []renderedTool
	// listSize is at least the size of tools/list with all tools, in bytes.
	listSize int
	others   map[string]othersText // by the tool's name
	access   accessCheck

	endpoints map[string]*endpoint // by path
}

// New returns a dispatcher. It fails if a required option is missing.
func New(o Options) (*Dispatcher, error) {
	if o.Catalog == nil || o.Backend == nil || o.Logger == nil || o.BaseURL == "" || o.ClientBucket == nil {
		return nil, errors.New("build MCP server: catalogue, backend, logger, base URL and client bucket are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Observe == nil {
		o.Observe = func(context.Context, string, metrics.Outcome, time.Duration) {}
	}
	tools, err := newToolList(o.Catalog)
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{options: o, tools: tools, others: newOthersText(o.Catalog), access: newAccessCheck(o)}
	for _, tool := range tools {
		d.listSize += len(tool.refused) + len(", ")
	}
	d.endpoints = map[string]*endpoint{
		route.PathMCPCurrent: d.mount(route.PathMCPCurrent, bearerForCalls), route.PathMCPMember: d.mount(route.PathMCPMember, bearerAlways),
		route.PathMCPDeprecated: d.mount(route.PathMCPDeprecated, bearerAlways), route.PathMCPSandbox: d.mount(route.PathMCPSandbox, demoAccount),
		route.PathMCPResearch: d.mount(route.PathMCPResearch, bearerAlways),
	}
	d.endpoints[route.PathMCPResearch].research = true
	return d, nil
}

// Routes returns the routes of the server.
func (d *Dispatcher) Routes() []route.Route {
	server := func(name, path, summary string) route.Route {
		return route.Route{
			Name: name, Methods: []string{http.MethodPost}, Pattern: path, State: route.Current, Protocol: route.MCP, RatePolicy: ratelimit.PolicyMCP, Summary: summary,
			Handle: func(w http.ResponseWriter, r *http.Request, _ string) { d.endpoints[path].serve(w, r) },
		}
	}
	guard := func(path string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool { return d.endpoints[path].guard(w, r) }
	}
	current := server(RouteCurrent, route.PathMCPCurrent, "The MCP server. Tool calls need a bearer token; initialize, ping and tools/list do not.")
	member := server("mcp-v1-me", route.PathMCPMember, "The same MCP server for clients that sign in when they connect: every request needs a bearer token.")
	member.Guard = guard(route.PathMCPMember)
	research := server("mcp-v1-research", route.PathMCPResearch, "The MCP server with the tools search and fetch alone, which clients for research expect: every request needs a bearer token.")
	research.Guard = guard(route.PathMCPResearch)
	deprecated := server("mcp", route.PathMCPDeprecated, "The MCP server under its old path. Every method needs a bearer token.")
	deprecated.State, deprecated.Successor = route.Deprecated, route.PathMCPCurrent
	short := server(routeSandbox, route.PathMCPSandbox, "The MCP server of the demo account: no credential, and every writing tool is refused.")
	short.Anonymous, short.SandboxOnly, short.RatePolicy = true, true, ratelimit.PolicyMCPSandbox
	long := short
	long.Name, long.Pattern = "sandbox-mcp-v1", route.SandboxPrefix+route.PathMCPCurrent
	return []route.Route{current, member, research, deprecated, short, long}
}

// mount returns the server at one path. The path also determines the address of the resource
// metadata.
func (d *Dispatcher) mount(path string, policy credentialPolicy) *endpoint {
	return &endpoint{
		Dispatcher: d,
		policy:     policy,
		challenge:  bearer.NewChallenge(d.options.BaseURL+route.ResourcePrefix+path, d.options.Catalog.Scopes()),
	}
}
