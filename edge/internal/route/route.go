package route

import (
	"slices"
	"strings"
	"time"
)

// State says where a path is in its life (RFC 9745).
type State string

// The states of a path. One that is past its sunset answers 410.
const (
	Current    State = "current"
	Deprecated State = "deprecated"
)

// Protocol says which shape the HTTP-level errors of a path have.
type Protocol string

// The protocols. Paths that match nothing speak HTTP.
const (
	// HTTP errors are RFC 9457 problems.
	HTTP Protocol = "http"
	// MCP errors are JSON-RPC error objects.
	MCP Protocol = "mcp"
	// OAuth errors are the JSON objects of RFC 6749, section 5.2.
	OAuth Protocol = "oauth"
	// Page errors are pages for people.
	Page Protocol = "page"
)

// Route is one row of the table. Its zero value is not a usable row.
type Route struct {
	// Name is unique and stands for the path in metrics and logs.
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
	// RatePolicy is the name of the rate policy that applies; "" for none.
	RatePolicy string
	// Protocol is the shape of HTTP-level errors.
	Protocol Protocol
	// Proxied paths are served by the backend; the edge hands them on.
	Proxied bool
	// SandboxOnly paths exist for the demo account and go when the sandbox is off.
	SandboxOnly bool
	// Summary is one sentence for documentation.
	Summary string
	// SameAs is the name of the row whose handler this one shares. Only Mounted sets it.
	SameAs string
}

// HandlerName is the name under which the row's handler is registered.
func (r Route) HandlerName() string {
	if r.SameAs != "" {
		return r.SameAs
	}
	return r.Name
}

// SandboxPrefix is where the sandbox is mounted.
const SandboxPrefix = "/sandbox"

// Mounted returns the rows that a server serves: the table itself and, with the
// sandbox, a copy under /sandbox of each row that needs no credential; without it,
// not even the sandbox's own.
func Mounted(table []Route, sandbox bool) []Route {
	var mounted []Route
	for _, r := range table {
		if r.SandboxOnly && !sandbox {
			continue
		}
		mounted = append(mounted, r)
		if sandbox && repeats(r) {
			mounted = append(mounted, underSandbox(r))
		}
	}
	return mounted
}

// repeats tells whether a row has a copy under /sandbox. The authorization server
// and the people's pages have none, nor has metadata that would make a client sign
// in, nor what is under /sandbox already. In place of the landing page, /sandbox
// describes itself.
func repeats(r Route) bool {
	return r.Anonymous && (r.Protocol == HTTP || r.Protocol == MCP) && !r.Proxied && r.Pattern != "/" &&
		!strings.HasPrefix(r.Pattern, ResourcePrefix) && !strings.HasPrefix(r.Pattern, SandboxPrefix)
}

func underSandbox(r Route) Route {
	r.SameAs = r.Name
	r.Name = "sandbox-" + r.Name
	r.Pattern = SandboxPrefix + r.Pattern
	r.SandboxOnly = true
	return r
}

// WithSunsets returns the rows with the removal dates, by the names of deprecated
// rows.
func WithSunsets(table []Route, dates map[string]time.Time) []Route {
	rows := slices.Clone(table)
	for i := range rows {
		rows[i].Sunset = dates[rows[i].Name]
	}
	return rows
}

// LiveAt returns the rows that are not removed by then.
func LiveAt(rows []Route, then time.Time) []Route {
	return slices.DeleteFunc(slices.Clone(rows), func(r Route) bool { return !r.Sunset.IsZero() && !then.Before(r.Sunset) })
}

// Names returns the names of the rows, in their order.
func Names(rows []Route) []string {
	names := make([]string, 0, len(rows))
	for _, r := range rows {
		names = append(names, r.Name)
	}
	return names
}
