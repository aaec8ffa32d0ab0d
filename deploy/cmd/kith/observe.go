package main

import (
	"crypto/tls"
	"errors"
	"time"

	edge "github.com/kith-crm/kith/edge/server"
	"github.com/kith-crm/kith/observability/metrics"
	"github.com/kith-crm/kith/proto/catalog"
)

// backendMetrics returns the registry for the backend; nil in a build without metrics.
func (r *process) backendMetrics() *metrics.Registry {
	if !observed {
		return nil
	}
	return r.registry
}

// observeEdge sets the edge's collectors.
func (r *process) observeEdge(c *edge.Config) error {
	if !observed {
		return nil
	}
	tools, err := catalog.Load()
	if err != nil {
		return err
	}
	calls, callsErr := metrics.NewTools(r.registry, tools.AllToolNames())
	requests, requestsErr := metrics.NewHTTP(r.registry, edge.RouteNames())
	rates, ratesErr := metrics.NewRateLimits(r.registry, edge.RatePolicies())
	batches, batchesErr := metrics.NewBatches(r.registry)
	upstream, upstreamErr := metrics.NewBackend(r.registry)
	c.Tools, c.Requests, c.Rates, c.Batches, c.Backend = calls, requests, rates, batches, upstream
	return errors.Join(callsErr, requestsErr, ratesErr, batchesErr, upstreamErr)
}

// watchEdge registers the edge's state, which is read at each scrape.
func (r *process) watchEdge(front *edge.Server, listener, toBackend *tls.Config) error {
	return errors.Join(
		metrics.NewPlacement(r.registry, front.Backends),
		metrics.NewConcurrencyLimit(r.registry, front.Concurrency().Bound, front.Concurrency().Refused),
		r.watchCertificate("edge", listener), r.watchCertificate("backend_client", toBackend),
	)
}

// watchCertificate registers the expiry of a configuration's certificate, if it has one.
func (r *process) watchCertificate(use string, config *tls.Config) error {
	if config == nil || config.GetCertificate == nil {
		return nil
	}
	return metrics.NewCertificate(r.registry, use, func() time.Time {
		pair, err := config.GetCertificate(nil)
		if err != nil { // with KITH_ACME there may be none yet
			return time.Now()
		}
		return pair.Leaf.NotAfter
	})
}
