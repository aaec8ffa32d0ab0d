package cors

import "net/http"

const (
	allowedHeaders = "authorization, content-type, accept, mcp-protocol-version, mcp-session-id, mcp-method, " +
		"mcp-name, last-event-id, idempotency-key"
	exposedHeaders = "WWW-Authenticate, RateLimit, RateLimit-Policy, RateLimit-Limit, RateLimit-Remaining, " +
		"RateLimit-Reset, Retry-After, Idempotency-Replayed, Deprecation, Sunset, Link, ETag, Location, " +
		"MCP-Protocol-Version, X-Request-Id"
	// maxAge is how many seconds a browser may remember a preflight; browsers cap it at about this.
	maxAge = "7200"
)

// Policy holds the ready header values. It is safe for concurrent use.
type Policy struct {
	origin, expose, headers, maxAge []string
}

// NewPolicy returns the service's one policy.
func NewPolicy() *Policy {
	return &Policy{
		origin:  []string{"*"},
		expose:  []string{exposedHeaders},
		headers: []string{allowedHeaders},
		maxAge:  []string{maxAge},
	}
}

// Mark adds what every answer carries.
func (p *Policy) Mark(h http.Header) {
	h["Access-Control-Allow-Origin"] = p.origin
	h["Access-Control-Expose-Headers"] = p.expose
}

// Clear takes back what Mark added: pages are for the people who open them, and
// no other site's script has business there.
func (p *Policy) Clear(h http.Header) {
	delete(h, "Access-Control-Allow-Origin")
	delete(h, "Access-Control-Expose-Headers")
}

// Preflight adds what the answer to OPTIONS carries besides. methods is the
// value of Allow.
func (p *Policy) Preflight(h http.Header, methods []string) {
	h["Access-Control-Allow-Methods"] = methods
	h["Access-Control-Allow-Headers"] = p.headers
	h["Access-Control-Max-Age"] = p.maxAge
}
