package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/batch"
	"github.com/kith-crm/kith/edge/internal/compression"
	"github.com/kith-crm/kith/edge/internal/concurrency"
	"github.com/kith-crm/kith/edge/internal/content"
	"github.com/kith-crm/kith/edge/internal/cors"
	"github.com/kith-crm/kith/edge/internal/discovery"
	"github.com/kith-crm/kith/edge/internal/identity"
	"github.com/kith-crm/kith/edge/internal/jobsapi"
	"github.com/kith-crm/kith/edge/internal/manners"
	"github.com/kith-crm/kith/edge/internal/mcp"
	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/proxy"
	"github.com/kith-crm/kith/edge/internal/publicapi"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/sandboxmount"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// RouteNames returns the names under which requests are observed and logged.
func RouteNames() []string { return route.Names(route.Mounted(route.Table(), true)) }

// parts are what several handlers share.
type parts struct {
	resolved

	catalog  *catalog.Catalog
	backend  *upstream.Client
	problems *problem.Writer
	cors     *cors.Policy
	routes   []route.Route
	limits   *limits
	working  *concurrency.Limiter
	public   *publicapi.API
	// transport carries what is handed on to the backend as it is.
	transport http.RoundTripper
	pages     proxy.PageRefuser
}

func newParts(c resolved) (*parts, error) {
	tools, err := catalog.Load()
	if err != nil {
		return nil, fmt.Errorf("load tool catalogue: %w", err)
	}
	var procedures []string
	for _, rpc := range tools.Tools() {
		procedures = append(procedures, rpc.Procedure)
	}
	transport := c.Transport
	if transport == nil {
		transport = upstream.NewTransport(c.BackendTLS)
	}
	var observe func(string)
	if c.Backend != nil {
		observe = c.Backend.Observe
	}
	transport = upstream.Observe(transport, observe)
	backend, err := upstream.New(upstream.Options{
		BaseURL:      c.BackendURL,
		Transport:    transport,
		ServiceToken: c.ServiceToken,
		Procedures:   procedures,
		Tracer:       c.Tracer,
	})
	if err != nil {
		return nil, err
	}
	pages, err := proxy.NewPageRefuser()
	if err != nil {
		return nil, err
	}
	turnAway, err := newLimits(c)
	if err != nil {
		return nil, err
	}
	return &parts{
		transport: transport, pages: pages, limits: turnAway,
		resolved: c,
		working:  concurrency.New(c.MaxInFlight),
		catalog:  tools,
		backend:  backend,
		problems: problem.NewWriter(c.BaseURL),
		cors:     cors.NewPolicy(),
		routes:   route.Mounted(route.WithSunsets(route.Table(), c.sunsets), c.SandboxEnabled),
	}, nil
}

// handler builds the handler of the whole edge.
func (p *parts) handler() (http.Handler, error) {
	handlers := map[string]route.Handler{}
	for _, add := range []func(map[string]route.Handler) error{
		p.addPublicReads, p.addMCP, p.addResourceMetadata, p.addJobs, p.addProxied, p.addByLivePaths,
	} {
		if err := add(handlers); err != nil {
			return nil, err
		}
	}
	if err := p.compress(handlers); err != nil {
		return nil, err
	}
	router, err := route.New(p.routes, route.Options{
		BaseURL:     p.BaseURL,
		Host:        p.host,
		Handlers:    handlers,
		Refusers:    p.refusers(),
		CORS:        p.cors,
		Limiter:     p.limits.limiter,
		Concurrency: p.working,
		Now:         p.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("build route table: %w", err)
	}
	var routed http.Handler = router
	if p.RedisURL != "" { // whatever a request is counted under, Redis may delay it once
		routed = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			router.ServeHTTP(w, r.WithContext(ratelimit.WithBudget(r.Context())))
		})
	}
	return manners.New(routed, manners.Options{
		Logger: p.Logger, CORS: p.cors, Problems: p.problems, HTTPS: strings.HasPrefix(p.BaseURL, "https:"),
		Observer: p.Requests, Tracer: p.Tracer, Now: p.Now,
	}), nil
}

// compress has large answers compressed, but not the pages: what they hold beside
// a visitor's own input must not show in an answer's length.
func (p *parts) compress(handlers map[string]route.Handler) error {
	wrapper, err := compression.New()
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for _, r := range p.routes {
		if name := r.HandlerName(); !r.Proxied && !done[name] {
			handlers[name], done[name] = wrapper.Handler(handlers[name]), true
		}
	}
	return nil
}

// refusers write errors in the shape of each protocol.
func (p *parts) refusers() map[route.Protocol]route.Refuser {
	return map[route.Protocol]route.Refuser{
		route.HTTP: p.problems, route.MCP: mcp.Refuser{}, route.OAuth: proxy.OAuthRefuser{}, route.Page: p.pages,
	}
}

// addProxied hands the rows that the backend serves on to it.
func (p *parts) addProxied(handlers map[string]route.Handler) error {
	options := proxy.Options{
		BackendURL: p.BackendURL, Transport: p.transport, ServiceToken: p.ServiceToken, Refusers: p.refusers(), Logger: p.Logger,
		ClientAddress: func(r *http.Request) string { return p.limits.clients.Resolve(r).Bucket },
	}
	if p.Tracer != nil {
		options.Inject = p.Tracer.Inject
	}
	forward, err := proxy.New(options)
	if err != nil {
		return err
	}
	for _, r := range p.routes {
		if r.Proxied {
			handlers[r.HandlerName()] = forward.Handler(r.Protocol, checkOf(r.Name))
		}
	}
	return nil
}

// checkOf returns what a proxied row's bodies are held to besides their size. The
// backend reads registrations by a decoder that ignores what it doesn't know.
func checkOf(row string) func(*http.Request, []byte) *content.Refusal {
	if row != route.OAuthRegister {
		return nil
	}
	return func(r *http.Request, body []byte) *content.Refusal {
		if !content.IsJSON(r) {
			return nil // the backend refuses it
		}
		return content.CheckJSON(body, "client_name", "client_uri", "redirect_uris", "grant_types", "response_types", "token_endpoint_auth_method", "scope")
	}
}

func (p *parts) addPublicReads(handlers map[string]route.Handler) error {
	api, err := publicapi.New(publicapi.Options{
		Backend:  p.backend,
		Problems: p.problems,
		Logger:   p.Logger,
		BaseURL:  p.BaseURL,
		CacheTTL: p.ProfileCacheTTL,
		Now:      p.Now,
	})
	if err != nil {
		return err
	}
	handlers[route.Profile] = api.ServeJSON
	handlers[route.ProfileJSON] = api.ServeJSON
	handlers[route.ProfileMarkdown] = api.ServeMarkdown
	handlers[route.Members] = api.ServeMembers
	p.public = api
	return nil
}

func (p *parts) addBatch(handlers map[string]route.Handler) error {
	options := batch.Options{
		Rows: p.routes, Handlers: handlers, Limiter: p.limits.limiter, Problems: p.problems, Logger: p.Logger, BaseURL: p.BaseURL,
		Preload: p.public.Preload,
	}
	if p.Batches != nil {
		options.Observe = p.Batches.Observe
	}
	endpoint, err := batch.New(options)
	if err != nil {
		return err
	}
	handlers[route.Batch] = endpoint.Serve
	return nil
}

func (p *parts) addMCP(handlers map[string]route.Handler) error {
	options := mcp.Options{
		Catalog:        p.catalog,
		Backend:        p.backend,
		Logger:         p.Logger,
		BaseURL:        p.BaseURL,
		Version:        p.Version,
		AllowedOrigins: p.AllowedOrigins,
		Loopback:       p.loopback,
		ClientBucket:   func(r *http.Request) string { return p.limits.clients.Resolve(r).Bucket },
		Now:            p.Now,
	}
	if p.Tools != nil {
		options.Observe = p.Tools.Observe
	}
	server, err := mcp.New(options)
	if err != nil {
		return err
	}
	handlers[route.MCPCurrent] = server.Handler(mcp.Mount{Path: route.PathMCPCurrent, Policy: mcp.BearerForCalls})
	handlers[route.MCPDeprecated] = server.Handler(mcp.Mount{Path: route.PathMCPDeprecated, Policy: mcp.BearerAlways})
	if p.SandboxEnabled {
		demo := mcp.Mount{Path: route.PathMCPSandbox, Policy: mcp.DemoAccount, Token: p.SandboxToken}
		handlers[route.MCPSandbox] = server.Handler(demo)
		demo.Path = route.PathSandboxMCP
		handlers[route.SandboxMCP] = server.Handler(demo)
	}
	return nil
}

func (p *parts) addResourceMetadata(handlers map[string]route.Handler) error {
	for name, path := range map[string]string{
		route.ResourceRoot:  route.PathMCPDeprecated, // the specification names /mcp as the protected resource
		route.ResourceMCP:   route.PathMCPDeprecated,
		route.ResourceMCPV1: route.PathMCPCurrent,
	} {
		handler, err := discovery.ProtectedResource(p.BaseURL, path, p.catalog.Scopes())
		if err != nil {
			return err
		}
		handlers[name] = handler
	}
	return nil
}

func (p *parts) addIdentity(handlers map[string]route.Handler) error {
	endpoint := identity.New(identity.Options{
		Backend: p.backend, Problems: p.problems, Logger: p.Logger, BaseURL: p.BaseURL, Routes: p.routes,
	})
	handlers[route.Identity] = endpoint.Serve
	return nil
}

func (p *parts) addJobs(handlers map[string]route.Handler) error {
	api, err := jobsapi.New(jobsapi.Options{
		Catalog: p.catalog, Backend: p.backend, Problems: p.problems, Logger: p.Logger, BaseURL: p.BaseURL,
	})
	if err != nil {
		return err
	}
	handlers[route.StartJob], handlers[route.Job] = api.ServeStart, api.ServeJob
	return nil
}

func (p *parts) addSandbox(handlers map[string]route.Handler) error {
	if !p.SandboxEnabled {
		return nil
	}
	index, err := sandboxmount.New(sandboxmount.Options{
		Backend:  p.backend,
		Problems: p.problems,
		Logger:   p.Logger,
		BaseURL:  p.BaseURL,
		Username: p.SandboxUsername,
		Routes:   p.routes,
		Requests: p.SandboxRequests,
		Limits:   p.sandboxLimits(),
	})
	if err != nil {
		return err
	}
	handlers[route.SandboxIndex] = index.Serve
	return nil
}

func (p *parts) addDocuments(handlers map[string]route.Handler) error {
	documents, err := discovery.New(discovery.Options{
		BaseURL: p.BaseURL, Version: p.Version, Routes: p.routes, Catalog: p.catalog, Protocols: mcp.Versions(), Problems: p.problems,
		Policies: p.limits.policies, Requests: p.SandboxRequests, DemoUsername: p.SandboxUsername,
	})
	if err != nil {
		return err
	}
	handlers[route.Landing] = documents.Landing()
	handlers[route.AgentIndex] = documents.AgentIndex()
	handlers[route.LLMs] = documents.LLMs()
	handlers[route.DocsPeople] = documents.PeopleDocs()
	handlers[route.DocsAgents] = documents.AgentDocs()
	handlers[route.DocsErrors] = documents.ErrorList()
	handlers[route.DocsError] = documents.Error()
	handlers[route.APICatalog] = documents.APICatalog()
	handlers[route.OpenAPI] = documents.OpenAPI()
	for path, serve := range documents.Assets() {
		handlers[route.AssetName(path)] = serve
	}
	return nil
}

// sandboxLimits are the policies that bound the sandbox's paths.
func (p *parts) sandboxLimits() []sandboxmount.Limit {
	var out []sandboxmount.Limit
	for _, policy := range p.limits.policies {
		inSandbox := slices.ContainsFunc(p.routes, func(r route.Route) bool { return r.SandboxOnly && r.RatePolicy == policy.Name })
		if policy.Enabled() && inSandbox {
			out = append(out, sandboxmount.Limit{Policy: policy.Name, Quota: policy.Quota, Window: int(policy.Window / time.Second)})
		}
	}
	return out
}
