package route

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// State says whether a path is deprecated (RFC 9745).
type State string

// The states of a path. One that is past its sunset answers 410.
const (
	Current    State = "current"
	Deprecated State = "deprecated"
)

// Protocol is the format of the HTTP-level errors of a path.
type Protocol string

// The protocols. Requests that match no route get HTTP errors.
const (
	// HTTP errors are RFC 9457 problems.
	HTTP Protocol = "http"
	// MCP errors are JSON-RPC error objects.
	MCP Protocol = "mcp"
	// OAuth errors are the JSON objects of RFC 6749, section 5.2.
	OAuth Protocol = "oauth"
	// Page errors are pages for people.
	Page Protocol = "page"
	// DAV errors are problems. A path of WebDAV includes all paths below it, also with escapes and a slash at the end, and its
	// handler answers OPTIONS too.
	DAV Protocol = "dav"
)

// Paths that several packages use.
const (
	// SandboxPrefix is the path of the sandbox.
	SandboxPrefix = "/sandbox"
	// DemoPrefix is the path below which the pages of the demo account are.
	DemoPrefix = "/demo"
	// AssetPrefix begins the paths of the files that pages load. They are the same for everyone.
	AssetPrefix = "/assets/"
	// ResourcePrefix begins the path of the metadata of a resource (RFC 9728, section 3.1);
	// the path of the resource follows.
	ResourcePrefix    = "/.well-known/oauth-protected-resource"
	PathMCPCurrent    = "/mcp/v1"
	PathMCPMember     = "/mcp/v1/me"
	PathMCPResearch   = "/mcp/v1/research"
	PathMCPDeprecated = "/mcp"
	PathMCPSandbox    = "/mcp/sandbox"
	// PathAgents is the page on which a member sees what each agent may do.
	PathAgents = "/settings/agents"
	// PathServerCard is the path of the current server's card (SEP-2127): the server's path
	// and "/server-card".
	PathServerCard = PathMCPCurrent + "/server-card"
	// PathSandboxCard is the path of the card of the sandbox's server.
	PathSandboxCard = SandboxPrefix + PathServerCard
	// PathSecurity has the contact for reports of vulnerabilities (RFC 9116).
	PathSecurity = "/.well-known/security.txt"
)

// Handler serves the requests of a route. argument is the value of the path's parameter, ""
// if the pattern has none. The method can be HEAD.
type Handler func(w http.ResponseWriter, r *http.Request, argument string)

// Route is one public path. Its zero value is not usable.
type Route struct {
	// Name is unique; metrics and logs show it in place of the path.
	Name string
	// Methods are the methods served. GET serves HEAD too; OPTIONS is always served.
	Methods []string
	// Pattern is the path, with at most one {parameter}. A parameter matches one
	// or more of A-Z, a-z, 0-9, "-", "_" and "~": within a segment, without dots.
	Pattern string
	// State is Current or Deprecated.
	State State
	// Successor is the path that replaces a deprecated one.
	Successor string
	// Sunset is when a deprecated path starts to answer 410 (RFC 8594). The zero
	// time stands for no date.
	Sunset time.Time
	// Anonymous paths need no credential.
	Anonymous bool
	// Batchable paths may be items of a batch.
	Batchable bool
	// Query names the query parameters that the path takes.
	Query []string
	// FormOnly paths receive a form. GET is served too: it redirects to the page with the form.
	FormOnly bool
	// RatePolicy is the name of the rate policy that applies; "" for none.
	RatePolicy string
	// SignedIn is the name of the route that serves the path to browsers with the cookie of a
	// login session; "" for none. The backend decides whether the session is valid.
	SignedIn string
	// Protocol is the shape of HTTP-level errors: it chooses the error writer.
	Protocol Protocol
	// Proxied paths are served by the backend; the edge forwards them.
	Proxied bool
	// SandboxOnly paths belong to the demo account and are not served when the sandbox is off.
	SandboxOnly bool
	// DAVOnly paths are about CardDAV and calendar feeds, and are not served when those are off.
	DAVOnly bool
	// Summary is one sentence for documentation.
	Summary string
	// CopyOf is the name of the route of which this one is the copy under /sandbox. Only Mounted
	// sets it.
	CopyOf string
	// Guard answers a request without the credential that every method of the path needs, and reports
	// whether it did. It is called before a method that the path does not have is refused; nil for
	// other paths.
	Guard func(w http.ResponseWriter, r *http.Request) bool
	// Handle serves the requests. A route has this or Build.
	Handle Handler
	// Build returns the handler of a route whose answers depend on which routes are live. It
	// is called once for each period between two sunsets.
	Build func(live []Route) (Handler, error)
}

// Original returns the name of the route of which this one is a copy, or its own name.
func (r Route) Original() string {
	if r.CopyOf != "" {
		return r.CopyOf
	}
	return r.Name
}

// Mounted returns the routes that a server serves. With the sandbox, these are the given ones and a
// copy under /sandbox of each that needs no credential. Without it, these are the given ones except
// the sandbox's own.
func Mounted(routes []Route, sandbox bool) []Route {
	var mounted []Route
	for _, r := range routes {
		if r.SandboxOnly && !sandbox {
			continue
		}
		mounted = append(mounted, r)
		if sandbox && r.inSandbox() {
			r.CopyOf, r.Name, r.Pattern, r.SandboxOnly = r.Name, "sandbox-"+r.Name, SandboxPrefix+r.Pattern, true
			mounted = append(mounted, r)
		}
	}
	return mounted
}

// inSandbox reports whether a route has a copy under /sandbox. These have none: the
// authorization server, the pages for people, metadata that would make a client sign in
// (such as the card of a server that requires it), the security contact, and paths that
// are already under /sandbox. The landing page has none because /sandbox describes itself.
func (r Route) inSandbox() bool {
	return r.Anonymous && (r.Protocol == HTTP || r.Protocol == MCP) && !r.Proxied && r.Pattern != "/" &&
		r.Pattern != PathServerCard && r.Pattern != PathSecurity && !strings.HasPrefix(r.Pattern, ResourcePrefix) && !strings.HasPrefix(r.Pattern, SandboxPrefix)
}

// WithSunsets returns the routes with the removal dates, by the names of deprecated
// routes.
func WithSunsets(routes []Route, dates map[string]time.Time) []Route {
	routes = slices.Clone(routes)
	for i := range routes {
		routes[i].Sunset = dates[routes[i].Name]
	}
	return routes
}

// LiveAt returns the routes that are not removed at a time.
func LiveAt(routes []Route, then time.Time) []Route {
	return slices.DeleteFunc(slices.Clone(routes), func(r Route) bool { return !r.Sunset.IsZero() && !then.Before(r.Sunset) })
}

// Names returns the names of the routes, in their order.
func Names(routes []Route) []string {
	names := make([]string, 0, len(routes))
	for _, r := range routes {
		names = append(names, r.Name)
	}
	return names
}
