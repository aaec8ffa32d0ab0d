package server

import (
	"slices"

	"github.com/kith-crm/kith/edge/internal/agentidentity"
	"github.com/kith-crm/kith/edge/internal/batch"
	"github.com/kith-crm/kith/edge/internal/discovery"
	"github.com/kith-crm/kith/edge/internal/mcp"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/sandbox"
)

// routes returns every public path, in the order of the documentation. Each package returns its
// routes with their handlers; a new path is a new Route in its package.
func (p *parts) routes() []route.Route {
	all := slices.Concat(
		p.public.Routes(),
		batch.Routes(batch.Options{
			Limiter: p.limiter, Problems: p.problems, Logger: p.Logger, BaseURL: p.BaseURL, Preload: p.public.Preload, Observe: p.observeBatch(),
		}),
		p.mcp.Routes(),
		p.jobs.Routes(),
		sandbox.Routes(sandbox.Options{
			Backend: p.backend, Problems: p.problems, Logger: p.Logger, BaseURL: p.BaseURL,
			Username: p.SandboxUsername, Requests: p.SandboxRequests, Policies: p.policies,
		}),
		discovery.ResourceRoutes(p.BaseURL, p.catalog),
		discovery.WellKnownRoutes(discovery.SecurityOptions{
			BaseURL: p.BaseURL, Contacts: p.SecurityContacts, Expires: p.SecurityExpires, Problems: p.problems, Now: p.Now,
		}),
		agentidentity.Routes(agentidentity.Options{Catalog: p.catalog, Backend: p.backend, Problems: p.problems, Logger: p.Logger, BaseURL: p.BaseURL}),
		discovery.Routes(discovery.Options{
			BaseURL: p.BaseURL, Version: p.Version, Catalog: p.catalog, Protocols: mcp.Versions(), Problems: p.problems,
			Policies: p.policies, Requests: p.SandboxRequests, SignUpOpen: p.SignUpOpen, Manuals: p.Manuals, DemoUsername: p.SandboxUsername,
		}),
		p.proxy.Routes(),
	)
	if !p.DAV {
		all = slices.DeleteFunc(all, func(r route.Route) bool { return r.DAVOnly })
	}
	return all
}

// Routes returns every public path, for documents and tests. The handlers cannot be called.
func Routes() []route.Route {
	p := new(parts)
	p.DAV = true
	return p.routes()
}

// RouteNames returns the names of routes in metrics and logs.
func RouteNames() []string { return route.Names(route.Mounted(Routes(), true)) }
