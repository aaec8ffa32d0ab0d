package main

import (
	"crypto/tls"
	"errors"

	"connectrpc.com/connect"

	backend "github.com/kith-crm/kith/backend/server"
	edge "github.com/kith-crm/kith/edge/server"
	"github.com/kith-crm/kith/observability/metrics"
	"github.com/kith-crm/kith/proto/catalog"
)

// backendObservers are what counts what happens in the backend: its calls, and all
// else.
func (r *process) backendObservers() (connect.Interceptor, backend.Observers, error) {
	if !observed {
		return nil, backend.Observers{}, nil
	}
	tools, err := catalog.Load()
	if err != nil {
		return nil, backend.Observers{}, err
	}
	methods, methodsErr := metrics.NewConnect(r.registry)
	oauth, oauthErr := metrics.NewOAuth(r.registry, backend.OAuthKinds(), backend.OAuthResults())
	calls, callsErr := metrics.NewCalls(r.registry, tools.ToolNames())
	jobs, jobsErr := metrics.NewJobs(r.registry, backend.JobKinds())
	queries, queriesErr := metrics.NewQueries(r.registry)
	builds, buildsErr := metrics.NewBuilds(r.registry)
	return methods, backend.Observers{OAuth: oauth, Calls: calls, Jobs: jobs, Queries: queries, Builds: builds},
		errors.Join(methodsErr, oauthErr, callsErr, jobsErr, queriesErr, buildsErr)
}

// watchBackend has the backend's state read whenever metrics are scraped.
func (r *process) watchBackend(core *backend.Server) error {
	var errs []error
	for name, stats := range core.PoolStats() {
		_, err := metrics.NewDBPool(r.registry, name, stats)
		errs = append(errs, err)
	}
	if file := core.DatabaseFile(); file != "" {
		errs = append(errs, metrics.NewDisk(r.registry, file))
	}
	if r.settings.Sandbox {
		errs = append(errs, metrics.NewSandbox(r.registry, core.SandboxDay))
	}
	_, err := metrics.NewQueue(r.registry, backend.JobKinds(), core.Jobs)
	return errors.Join(append(errs, err,
		metrics.NewStoreUp(r.registry, core.Ready), metrics.NewSearch(r.registry, core.Search()))...)
}

// observeEdge fills in what counts what happens at the edge.
func (r *process) observeEdge(c *edge.Config) error {
	if !observed {
		return nil
	}
	tools, err := catalog.Load()
	if err != nil {
		return err
	}
	calls, callsErr := metrics.NewTools(r.registry, tools.ToolNames())
	requests, requestsErr := metrics.NewHTTP(r.registry, edge.RouteNames())
	rates, ratesErr := metrics.NewRateLimits(r.registry, edge.RatePolicies())
	batches, batchesErr := metrics.NewBatches(r.registry)
	upstream, upstreamErr := metrics.NewBackend(r.registry)
	c.Tools, c.Requests, c.Rates, c.Batches, c.Backend = calls, requests, rates, batches, upstream
	return errors.Join(callsErr, requestsErr, ratesErr, batchesErr, upstreamErr)
}

// watchEdge has the edge's state read whenever metrics are scraped.
func (r *process) watchEdge(front *edge.Server, listener, toBackend *tls.Config) error {
	return errors.Join(
		metrics.NewGate(r.registry, front.Gate()),
		r.watchCertificate("edge", listener), r.watchCertificate("backend_client", toBackend),
	)
}

// watchCertificate tells when the certificate of a configuration ends, if it has one.
func (r *process) watchCertificate(use string, config *tls.Config) error {
	if config == nil || len(config.Certificates) == 0 || config.Certificates[0].Leaf == nil {
		return nil
	}
	return metrics.NewCertificate(r.registry, use, config.Certificates[0].Leaf.NotAfter)
}
