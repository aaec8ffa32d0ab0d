package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/kith-crm/kith/backend/internal/credit"
	"github.com/kith-crm/kith/backend/internal/demo"
	"github.com/kith-crm/kith/backend/internal/rpc"
	"github.com/kith-crm/kith/backend/internal/store"
	"github.com/kith-crm/kith/backend/internal/token"
	"github.com/kith-crm/kith/observability/shutdown"
	"github.com/kith-crm/kith/proto/catalog"
)

// Server is a backend. New opens its store, Start begins its work, Stop ends it.
type Server struct {
	config   Config
	store    *store.Store
	handler  http.Handler
	people   *people // nil without a public address
	seeder   *demo.Seeder
	recorder *token.Recorder
	jobs     *jobs
	search   held
	http     *http.Server
	drainer  *shutdown.Drainer
	listener net.Listener
	served   chan error
}

// recordEvery is how long uses of credentials are gathered before they are written.
const recordEvery = 10 * time.Second

// New opens the store, whose schema must be the binary's, and composes the
// handler. Stop gives the store back.
func New(ctx context.Context, c Config) (*Server, error) {
	c, err := c.resolved()
	if err != nil {
		return nil, err
	}
	rpcs, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	plans, err := credit.NewPlans(c.Credits)
	if err != nil {
		return nil, err
	}
	provider, err := c.Embeddings.provider()
	if err != nil {
		return nil, err
	}
	opening := c.storeConfig()
	opening.Plans = plans
	data, err := store.Open(ctx, opening)
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: c, store: data, seeder: demo.NewSeeder(data, rpcs, c.Now, c.Logger),
		recorder: token.NewRecorder(data.MarkUsed, recordEvery, c.Logger), jobs: newJobs(c, data, provider),
	}
	find, recalls := newSearch(c, data, provider)
	s.search = held{find, recalls}
	service := rpc.NewServiceCredential(c.ServiceToken)
	options := rpc.Options{
		Catalog: rpcs, Store: data, Finder: find, Recall: recalls, Service: service,
		Used: s.recorder.Used, Jobs: s.jobs, BaseURL: c.BaseURL, Now: c.Now, Metrics: c.Metrics, Tracer: c.Tracer, Logger: c.Logger,
	}
	if c.Observers.Calls != nil {
		options.Keyed = c.Observers.Calls.Keyed
	}
	calls, err := rpc.NewHandler(options)
	if err == nil {
		err = s.compose(rpcs, provider, calls, service)
	}
	if err != nil {
		return nil, errors.Join(err, data.Close())
	}
	return s, nil
}

// Handler serves every RPC, health, reflection, the authorization server and the
// people's pages, to an edge in this process.
func (s *Server) Handler() http.Handler { return rpc.InProcess(s.handler) }

// Ready fails while the store cannot be reached.
func (s *Server) Ready(ctx context.Context) error { return s.store.Ping(ctx) }

// PoolStats returns the state of each pool of database connections, by name.
func (s *Server) PoolStats() map[string]func() sql.DBStats { return s.store.PoolStats() }

// Start seeds the sandbox, begins the background work and, where an address is
// set, listens. It returns once calls are answered.
func (s *Server) Start(ctx context.Context) error {
	if s.config.Sandbox {
		if err := s.seeder.Start(ctx); err != nil {
			return err
		}
	}
	s.recorder.Start(ctx)
	s.jobs.runner.Start(ctx)
	if s.people != nil {
		s.people.start(ctx)
	}
	if s.config.Addr == "" {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.config.Addr)
	if err != nil {
		return fmt.Errorf("the backend cannot listen on %s: %w", s.config.Addr, err)
	}
	s.listener = listener
	s.http = newHTTPServer(s.handler, s.config)
	s.drainer = shutdown.New(s.http)
	s.drainer.MaxAge = s.config.ConnectionMaxAge
	s.served = make(chan error, 1)
	go func() {
		if s.config.TLS != nil {
			s.served <- s.http.ServeTLS(listener, "", "")
			return
		}
		s.served <- s.http.Serve(listener)
	}()
	return nil
}

func newHTTPServer(handler http.Handler, c Config) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true) // gRPC callers without TLS
	return &http.Server{
		Handler: handler, TLSConfig: c.TLS, Protocols: protocols,
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 120 * time.Second, MaxHeaderBytes: 32 << 10,
	}
}

// Addr is where the server listens; nil when it does not.
func (s *Server) Addr() net.Addr {
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// Stop tells callers to go, lets calls in flight finish until ctx ends, then closes the store. It may
// be called without Start.
func (s *Server) Stop(ctx context.Context) error {
	var errs []error
	if s.http != nil {
		errs = append(errs, s.drainer.Drain(ctx, s.listener))
		if err := <-s.served; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	s.jobs.runner.Stop(ctx)
	if s.people != nil {
		s.people.stop(ctx)
	}
	s.seeder.Stop()
	s.recorder.Stop(ctx)
	return errors.Join(append(errs, s.store.Close())...)
}
