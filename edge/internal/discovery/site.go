package discovery

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
)

// Paths that documents name. Whether they are served, the rows say.
const (
	pathHome       = "/"
	pathIndex      = "/v1"
	pathLLMs       = "/llms.txt"
	pathOpenAPI    = "/openapi.json"
	pathAPICatalog = "/.well-known/api-catalog"
	pathPeopleDocs = "/docs/mcp"
	pathAgentDocs  = "/mcp/docs"
	pathErrors     = "/docs/errors"
	pathStylesheet = "/assets/docs.css"
	pathScript     = "/assets/try.js"
	pathIcon       = "/assets/kith.svg"
	pathBatch      = "/api/batch"
	pathIdentity   = "/agent/identity"
	pathSignIn     = "/sign-in"
	pathSignUp     = "/sign-up"
	pathSettings   = "/settings/mcp"
	pathMetadata   = "/.well-known/oauth-authorization-server"
	pathRegister   = "/oauth/register"
	pathAuthorize  = "/oauth/authorize"
	pathToken      = "/oauth/token"
	pathRevoke     = "/oauth/revoke"
)

// site is what every document is made from: the options, and questions to them.
type site struct {
	Options

	finder *route.Finder
}

func newSite(o Options) (*site, error) {
	finder, err := route.NewFinder(o.Routes)
	if err != nil {
		return nil, fmt.Errorf("build documents: %w", err)
	}
	return &site{Options: o, finder: finder}, nil
}

// row returns the row that serves a path; its query and its fragment do not count.
func (s *site) row(path string) (route.Route, bool) {
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	r, _, ok := s.finder.Find(path)
	return r, ok
}

// serves says whether some row serves the path.
func (s *site) serves(path string) bool {
	_, ok := s.row(path)
	return ok
}

// served returns the path if some row serves it, else "".
func (s *site) served(path string) string {
	if !s.serves(path) {
		return ""
	}
	return path
}

// address returns the whole address of a path that is served, "" of another.
func (s *site) address(path string) string {
	if !s.serves(path) {
		return ""
	}
	return s.BaseURL + path
}

// relative and absolute resolve links, for pages and for what is read elsewhere.
func (s *site) relative(path string) (string, bool) { return path, s.serves(path) }
func (s *site) absolute(path string) (string, bool) { return s.BaseURL + path, s.serves(path) }

// sandbox says whether there is a demo account to try things on.
func (s *site) sandbox() bool { return s.serves(route.SandboxPrefix) }

// oauth says whether agents can be delegated access here.
func (s *site) oauth() bool { return s.serves(pathToken) && s.serves(pathAuthorize) }

// mcpServers returns the rows of MCP servers: the current one, then those that
// are deprecated, then the sandbox's.
func (s *site) mcpServers() []route.Route {
	var servers []route.Route
	for _, r := range s.Routes {
		if r.Protocol == route.MCP {
			servers = append(servers, r)
		}
	}
	rank := func(r route.Route) int {
		switch {
		case r.SandboxOnly:
			return 2
		case r.State == route.Deprecated:
			return 1
		default:
			return 0
		}
	}
	slices.SortStableFunc(servers, func(a, b route.Route) int { return rank(a) - rank(b) })
	return servers
}

// policies returns the rate policies that are not switched off.
func (s *site) policies() []ratelimit.Policy {
	var on []ratelimit.Policy
	for _, p := range s.Policies {
		if p.Enabled() {
			on = append(on, p)
		}
	}
	return on
}

// policy returns the rate policy of a row, unless it has none or it is off.
func (s *site) policy(r route.Route) (ratelimit.Policy, bool) {
	for _, p := range s.policies() {
		if p.Name == r.RatePolicy {
			return p, true
		}
	}
	return ratelimit.Policy{}, false
}

// example returns a path for a row's pattern that answers something, or "".
func (s *site) example(r route.Route) string {
	if !strings.Contains(r.Pattern, "{") {
		return r.Pattern
	}
	if s.DemoUsername == "" || !strings.Contains(r.Pattern, "{username}") {
		return ""
	}
	return strings.Replace(r.Pattern, "{username}", s.DemoUsername, 1)
}
