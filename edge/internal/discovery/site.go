package discovery

import (
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
)

// Paths that documents name. The routes say which of them are served.
const (
	pathHome       = "/"
	pathIndex      = "/v1"
	pathLLMs       = "/llms.txt"
	pathOpenAPI    = "/openapi.json"
	pathAPICatalog = "/.well-known/api-catalog"
	pathAICatalog  = "/.well-known/ai-catalog.json"
	pathPeopleDocs = "/docs/mcp"
	pathAgentDocs  = "/mcp/docs"
	pathDocs       = "/docs"
	pathTools      = "/docs/tools"
	pathErrors     = "/docs/errors"
	pathGuide      = "/docs/{guide}"
	pathTool       = "/docs/tools/{name}"
	pathError      = "/docs/errors/{code}"
	pathIcon       = "/assets/kith.svg"
	pathBatch      = "/api/batch"
	pathIdentity   = "/agent/identity"
	pathSignIn     = "/sign-in"
	pathSignUp     = "/sign-up"
	pathSettings   = "/settings/mcp"
	pathMembers    = "/members"
	pathMetadata   = "/.well-known/oauth-authorization-server"
	pathRegister   = "/oauth/register"
	pathAuthorize  = "/oauth/authorize"
	pathToken      = "/oauth/token"
	pathRevoke     = "/oauth/revoke"
)

// summary says in one sentence what the service is.
const summary = "Kith is a personal CRM made for AI agents: one person's network, with who people are, how they met and what " +
	"they talked about, behind MCP tools that an agent uses with that person's consent."

// site has the methods that the templates in pageFiles call, and others that depend on the
// options.
type site struct {
	Options

	matcher *route.Matcher
	pages   *template.Template
	tools   func() ([]toolDoc, error)
}

func newSite(o Options) (*site, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	matcher, err := route.NewMatcher(o.Routes)
	if err != nil {
		return nil, err
	}
	s := &site{Options: o, matcher: matcher}
	s.tools = sync.OnceValues(s.documentTools)
	s.pages, err = s.parsePages()
	return s, err
}

// Summary says in one sentence what the service is.
func (s *site) Summary() string { return summary }

// routeAt returns the route that serves a path; its query and fragment are ignored.
func (s *site) routeAt(path string) (route.Route, bool) {
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	r, _, ok := s.matcher.Find(path)
	return r, ok
}

// serves reports whether a route serves the path.
func (s *site) serves(path string) bool {
	_, ok := s.routeAt(path)
	return ok
}

// served returns the path if a route serves it, else "".
func (s *site) served(path string) string {
	if !s.serves(path) {
		return ""
	}
	return path
}

// address returns the absolute address of a path, or "" if no route serves it.
func (s *site) address(path string) string {
	if !s.serves(path) {
		return ""
	}
	return s.BaseURL + path
}

// OAuth reports whether a person can give agents access with OAuth here.
func (s *site) OAuth() bool { return s.serves(pathToken) && s.serves(pathAuthorize) }

// mcpServers returns the routes of MCP servers: the current one, then those that
// are deprecated, then those of the sandbox.
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

// policies returns the rate policies that are on.
func (s *site) policies() []ratelimit.Policy {
	var on []ratelimit.Policy
	for _, p := range s.Policies {
		if p.Enabled() {
			on = append(on, p)
		}
	}
	return on
}

// policy returns the rate policy of a route, unless it has none or it is off.
func (s *site) policy(r route.Route) (ratelimit.Policy, bool) {
	for _, p := range s.policies() {
		if p.Name == r.RatePolicy {
			return p, true
		}
	}
	return ratelimit.Policy{}, false
}

// example returns a path that matches a route and exists, or "".
func (s *site) example(r route.Route) string {
	if !strings.Contains(r.Pattern, "{") {
		return r.Pattern
	}
	if s.DemoUsername == "" || !strings.Contains(r.Pattern, "{username}") {
		return ""
	}
	return strings.Replace(r.Pattern, "{username}", s.DemoUsername, 1)
}
