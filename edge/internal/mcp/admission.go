package mcp

import (
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/kith-crm/kith/edge/internal/content"
)

// gate decides from the headers whether a request may be read at all.
type gate struct {
	own      string // the service's own origin
	host     string // the host of the service's own address
	origins  []string
	anyone   bool // every origin is allowed
	loopback bool
}

func newGate(o Options) gate {
	g := gate{
		origins:  o.AllowedOrigins,
		anyone:   slices.Contains(o.AllowedOrigins, "*"),
		loopback: o.Loopback,
	}
	if u, err := url.Parse(o.BaseURL); err == nil {
		g.own, g.host = u.Scheme+"://"+u.Host, u.Hostname()
	}
	return g
}

func (g gate) admit(r *http.Request) *failure {
	switch {
	case g.loopback && !g.admitHost(r.Host):
		return refusal(http.StatusForbidden, "The Host header names another host than this server's.")
	case !g.admitOrigin(r.Header["Origin"]):
		return refusal(http.StatusForbidden, "Web pages of this origin may not call this server.")
	case !isJSON(r.Header["Content-Type"]):
		return refusal(http.StatusUnsupportedMediaType, "Content-Type must be application/json.")
	case content.Encoded(r.Header):
		return refusal(http.StatusUnsupportedMediaType, "The body must not be compressed.")
	default:
		return nil
	}
}

// admitHost compares names without ports: a proxy may have changed those.
func (g gate) admitHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	switch host = strings.ToLower(strings.Trim(host, "[]")); host {
	case "localhost", "127.0.0.1", "::1":
		return true
	default:
		return host != "" && strings.EqualFold(host, g.host)
	}
}

func (g gate) admitOrigin(lines []string) bool {
	switch {
	case len(lines) == 0 || g.anyone:
		return true
	case len(lines) > 1:
		return false
	case strings.EqualFold(lines[0], g.own):
		return true
	default:
		return slices.ContainsFunc(g.origins, func(o string) bool { return strings.EqualFold(o, lines[0]) })
	}
}

func isJSON(lines []string) bool {
	if len(lines) != 1 {
		return false
	}
	if lines[0] == "application/json" {
		return true
	}
	mediaType, _, err := mime.ParseMediaType(lines[0])
	return err == nil && mediaType == "application/json"
}

// admitVersion checks the MCP-Protocol-Version header. Without one the version is
// 2025-03-26; on initialize the version is still being agreed on.
func admitVersion(h http.Header, method string) *failure {
	lines := h["Mcp-Protocol-Version"]
	if len(lines) == 0 || method == methodInitialize || (len(lines) == 1 && supportedVersion(lines[0])) {
		return nil
	}
	return refusal(http.StatusBadRequest,
		"MCP-Protocol-Version must be "+version20250618+" or "+version20250326+".")
}
