package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/clientip"
	"github.com/kith-crm/kith/edge/internal/discovery"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/jobsapi"
	"github.com/kith-crm/kith/edge/internal/mcp"
	"github.com/kith-crm/kith/edge/internal/middleware"
	"github.com/kith-crm/kith/edge/internal/page"
	"github.com/kith-crm/kith/edge/internal/placement"
	"github.com/kith-crm/kith/edge/internal/proxy"
	"github.com/kith-crm/kith/edge/internal/publicapi"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// parts are the components of the edge.
type parts struct {
	resolved

	catalog      *catalog.Catalog
	backend      *upstream.Client
	placement    *placement.Placement // nil if Config.Transport is set
	pages        *page.Pages
	problems     *httpapi.Problems
	errorWriters map[route.Protocol]httpapi.ErrorWriter

	policies    []ratelimit.Policy
	store       ratelimit.Store
	clients     *clientip.Resolver
	limiter     *ratelimit.Limiter
	concurrency *middleware.ConcurrencyLimiter
	compress    func(http.Handler) http.Handler

	public *publicapi.API
	mcp    *mcp.Dispatcher
	jobs   *jobsapi.API
	proxy  *proxy.Proxy
}

// newParts builds everything but the routes and the pipeline.
func newParts(c resolved) (*parts, error) {
	p := &parts{resolved: c, concurrency: middleware.NewConcurrencyLimiter(c.MaxInFlight)}
	stylesheet, err := discovery.Stylesheet()
	if err != nil {
		return nil, fmt.Errorf("read stylesheet: %w", err)
	}
	if p.pages, err = page.New(c.BaseURL, stylesheet); err != nil {
		return nil, err
	}
	p.problems = httpapi.NewProblems(c.BaseURL).WithPages(p.pages)
	p.errorWriters = map[route.Protocol]httpapi.ErrorWriter{
		route.HTTP: p.problems, route.MCP: p.pages.Or(mcp.Errors{}), route.OAuth: proxy.OAuthErrors{}, route.Page: p.pages, route.DAV: p.problems,
	}
	if p.catalog, err = catalog.Load(); err != nil {
		return nil, fmt.Errorf("load tool catalogue: %w", err)
	}
	for _, build := range []func() error{p.buildLimits, p.buildBackend, p.buildPublic, p.buildMCP, p.buildJobs} {
		if err := build(); err != nil {
			return nil, err
		}
	}
	p.compress, err = middleware.NewCompression()
	return p, err
}

// buildBackend makes the components that call the backend: the RPC client and the proxy.
func (p *parts) buildBackend() error {
	transport, known, err := p.transport()
	if err != nil {
		return err
	}
	var observe func(string)
	if p.Backend != nil {
		observe = p.Backend.Observe
	}
	transport = upstream.Observe(transport, observe)
	var procedures []string
	for _, rpc := range p.catalog.AllTools() {
		procedures = append(procedures, rpc.Procedure)
	}
	p.backend, err = upstream.New(upstream.Options{
		BaseURL: p.BackendURLs[0], Transport: transport, ServiceToken: p.ServiceToken, Procedures: procedures, Tracer: p.Tracer,
		Known: known,
	})
	if err != nil {
		return err
	}
	options := proxy.Options{
		BackendURL: p.BackendURLs[0], Transport: transport, ServiceToken: p.ServiceToken, ErrorWriters: p.errorWriters, Logger: p.Logger,
		ClientAddress: p.clientBucket,
	}
	if p.Tracer != nil {
		options.Inject = p.Tracer.Inject
	}
	p.proxy, err = proxy.New(options)
	return err
}

// transport returns the transport to the backends. known reports whether it knows which backend
// serves a bearer; it is nil with Config.Transport.
func (p *parts) transport() (transport http.RoundTripper, known func(bearer string) bool, err error) {
	if p.Transport != nil {
		return p.Transport, nil, nil
	}
	p.placement, err = placement.New(placement.Options{
		URLs: p.BackendURLs, TLS: p.BackendTLS, NewTransport: upstream.NewTransport, SessionCookie: route.SessionCookie(p.BaseURL),
		Reads: func(path string) bool {
			rpc, ok := p.catalog.Procedure(path)
			return ok && !rpc.Writes
		},
		Chosen: func(ctx context.Context, backend string) { requestlog.FromContext(ctx).SetBackend(backend) },
		Logger: p.Logger, Now: p.Now,
	})
	if err != nil {
		return nil, nil, err
	}
	return p.placement, p.placement.Knows, nil
}

func (p *parts) buildPublic() (err error) {
	p.public, err = publicapi.New(publicapi.Options{
		Backend: p.backend, Problems: p.problems, Pages: p.pages, Logger: p.Logger, BaseURL: p.BaseURL, CacheTTL: p.ProfileCacheTTL, Now: p.Now,
	})
	return err
}

func (p *parts) buildMCP() (err error) {
	options := mcp.Options{
		Catalog: p.catalog, Backend: p.backend, Logger: p.Logger, BaseURL: p.BaseURL, Version: p.Version, DemoToken: p.SandboxToken,
		AllowedOrigins: p.AllowedOrigins, Loopback: p.loopback, ClientBucket: p.clientBucket, Now: p.Now,
	}
	if p.Tools != nil {
		options.Observe = p.Tools.Observe
	}
	p.mcp, err = mcp.New(options)
	return err
}

func (p *parts) buildJobs() (err error) {
	p.jobs, err = jobsapi.New(jobsapi.Options{
		Catalog: p.catalog, Backend: p.backend, Problems: p.problems, Logger: p.Logger, BaseURL: p.BaseURL,
	})
	return err
}

func (p *parts) observeBatch() func(map[int]int) {
	if p.Batches == nil {
		return nil
	}
	return p.Batches.Observe
}

// clientBucket returns the caller's key in limits by address.
func (p *parts) clientBucket(r *http.Request) string { return p.clients.Resolve(r).Bucket }
