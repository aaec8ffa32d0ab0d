package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/billing"
	"github.com/kith-crm/kith/backend/internal/dav"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/demo"
	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/kinds"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/periodic"
	"github.com/kith-crm/kith/backend/internal/rpc"
	"github.com/kith-crm/kith/backend/internal/search"
	"github.com/kith-crm/kith/backend/internal/search/vector"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/observability/logging"
	"github.com/kith-crm/kith/observability/metrics"
	"github.com/kith-crm/kith/observability/shutdown"
	"github.com/kith-crm/kith/observability/tracing"
	"github.com/kith-crm/kith/proto/catalog"
)

// Server is a backend: New opens its database, Start begins its work, Stop ends it.
type Server struct {
	config   Config
	store    *db.DB
	ledger   *billing.Ledger
	keys     *idempotency.Keys
	handler  http.Handler
	pages    *pages // nil without a public address
	seeder   *demo.Seeder
	recorder *account.UseRecorder
	jobs     *jobs
	indexes  *search.IndexCache
	search   *search.Searcher
	counters *counters // nil without metrics
	http     *http.Server
	drainer  *shutdown.Drainer
	listener net.Listener
	served   chan error
	// commands calls logCommands, which has logged the events up to lastCommand.
	commands    periodic.Worker
	lastCommand int64
	// maintenance calls maintain; storeLogged bounds the lines of logStoreError.
	maintenance periodic.Worker
	storeLogged logging.Seldom
}

// recordEvery is the interval at which the last use of credentials is written.
const recordEvery = 10 * time.Second

// New opens the database, whose schema must be the binary's, and builds the handler.
// Stop closes the database.
func New(ctx context.Context, c Config) (*Server, error) {
	c, err := c.resolved()
	if err != nil {
		return nil, err
	}
	rpcs, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	provider, err := c.Embeddings.provider()
	if err != nil {
		return nil, err
	}
	m, err := newCounters(c.Metrics, rpcs.AllToolNames())
	if err != nil {
		return nil, err
	}
	plans, err := billing.NewPlans(c.Credits)
	if err != nil {
		return nil, err
	}
	data, err := c.openStore(ctx, m)
	if err != nil {
		return nil, err
	}
	ledger := billing.NewLedger(billing.LedgerConfig{DB: data, Plans: plans, Watch: m.creditObserver(), Logger: c.Logger})
	markUsed := func(ctx context.Context, credential string, at time.Time) error {
		return oauth.MarkUsed(ctx, data, credential, at)
	}
	s := &Server{
		config: c, store: data, ledger: ledger, keys: idempotency.NewKeys(data, ledger), counters: m, seeder: demo.NewSeeder(data, rpcs, c.Now, c.Logger),
		recorder: account.NewUseRecorder(markUsed, recordEvery, c.Logger), jobs: newJobs(c, data, ledger, provider, m),
	}
	s.indexes, s.search = newSearch(c, data, provider, m)
	err = s.compose(rpcs, provider)
	if err == nil {
		err = s.registerState(c.Metrics)
	}
	if err != nil {
		return nil, errors.Join(err, data.Close())
	}
	return s, nil
}

// openStore opens the database. m is nil without metrics.
func (c Config) openStore(ctx context.Context, m *counters) (*db.DB, error) {
	options := db.Config{
		URL: c.DatabaseURL, Now: c.Now, Logger: c.Logger, MaxConns: c.DatabaseConns / 2, AcceptNewer: c.AcceptNewerSchema, SyncEachCommit: c.SyncEachCommit, MemberBytes: c.MemberStorage,
	}
	watch := statements{slow: c.SlowStatements, logger: c.Logger}
	if m != nil {
		watch.counts = m.queries
	}
	if c.Tracer != nil {
		system := "sqlite"
		if db.IsPostgres(c.DatabaseURL) {
			system = "postgresql"
		}
		spans := c.Tracer.Queries(system)
		watch.spans = &spans
	}
	if watch.counts != nil || watch.spans != nil || watch.slow > 0 {
		options.Queries = watch
	}
	return db.Open(ctx, options)
}

// newRPCHandler returns the handler of all RPCs.
func (s *Server) newRPCHandler(rpcs *catalog.Catalog, h *handlers.Handlers, service rpc.ServiceCredential) (http.Handler, error) {
	c := s.config
	options := rpc.Options{
		Catalog: rpcs, Store: s.store, Ledger: s.ledger, Keys: s.keys, Handlers: h, Service: service,
		Used: s.recorder.Used, Now: c.Now, Tracer: c.Tracer, Logger: c.Logger,
	}
	if s.counters != nil {
		options.Metrics, options.KeyOutcome = s.counters.rpcs, s.counters.idempotency.Observe
	}
	options.Asked = func(p *tenant.Principal, tool string) {
		if s.pages != nil {
			s.pages.site.TellQuestion(p, tool)
		}
	}
	var err error
	if s.jobs.decide, err = rpc.NewDecisions(options); err != nil {
		return nil, err
	}
	return rpc.NewHandler(options)
}

// Handler serves the RPCs, health, reflection, the authorization server and the web
// pages to an edge in this process.
func (s *Server) Handler() http.Handler { return rpc.InProcess(s.handler) }

// Ready returns an error while the database cannot be reached or written, and logs it once a minute.
func (s *Server) Ready(ctx context.Context) error {
	err := s.store.Ready(ctx)
	if err != nil && ctx.Err() == nil {
		s.logStoreError(ctx, err)
	}
	return err
}

// logStoreError logs an error of the whole database, at most once a minute.
func (s *Server) logStoreError(ctx context.Context, err error) {
	if s.storeLogged.Now() {
		s.config.Logger.ErrorContext(ctx, "the database is not usable", "error", err)
	}
}

// maintainEvery is the interval at which SQLite's files are looked after.
const maintainEvery = 5 * time.Second

func (s *Server) maintain(ctx context.Context) {
	if err := s.store.Maintain(ctx); err != nil {
		s.logStoreError(ctx, err)
	}
}

// commandsEvery is the interval at which the events of operators' commands are logged.
const commandsEvery = 10 * time.Second

// logCommands logs the security events of commands that ran beside this process, whose own log is elsewhere. Each
// backend does so.
func (s *Server) logCommands(ctx context.Context) {
	events, err := account.ListCommandEvents(ctx, s.store, s.lastCommand)
	if err != nil {
		return // the next call finds them
	}
	for i := range events {
		events[i].Log(ctx, s.config.Logger)
		s.lastCommand = events[i].ID
	}
}

// startSandbox seeds the sandbox, or removes it if it is off: its members are in the directory, too.
func (s *Server) startSandbox(ctx context.Context) error {
	if s.config.Sandbox {
		return s.seeder.Start(ctx)
	}
	removed, err := demo.RemoveDemo(ctx, s.store)
	if removed {
		s.config.Logger.Info("sandbox removed, because it is off")
	}
	return err
}

// Start seeds or removes the sandbox, starts the background work and, if an address is set, the
// listener. It returns once the server answers calls.
func (s *Server) Start(ctx context.Context) error {
	if err := s.startSandbox(ctx); err != nil {
		return err
	}
	s.recorder.Start(ctx)
	s.maintenance.Start(ctx, maintainEvery, s.maintain)
	var err error
	if s.lastCommand, err = account.LastSecurityEvent(ctx, s.store); err != nil {
		return err
	}
	s.commands.Start(ctx, commandsEvery, s.logCommands)
	s.jobs.runner.Start(ctx)
	if s.pages != nil {
		s.pages.start(ctx)
	}
	if s.config.Addr == "" {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.config.Addr)
	if err != nil {
		return fmt.Errorf("listen on %s for the backend: %w", s.config.Addr, err)
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
	protocols.SetUnencryptedHTTP2(true) // gRPC clients without TLS
	return &http.Server{
		Handler: handler, TLSConfig: c.TLS, Protocols: protocols,
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 120 * time.Second, MaxHeaderBytes: 32 << 10,
	}
}

// Addr returns the address that the server listens on; nil if it does not.
func (s *Server) Addr() net.Addr {
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// Stop drains connections, lets calls in flight finish until ctx ends, and closes the
// database. It may be called without Start.
func (s *Server) Stop(ctx context.Context) error {
	var errs []error
	if s.http != nil {
		errs = append(errs, s.drainer.Drain(ctx, s.listener))
		if err := <-s.served; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	s.jobs.runner.Stop(ctx)
	if s.pages != nil {
		s.pages.stop(ctx)
	}
	s.seeder.Stop()
	s.maintenance.Stop()
	s.commands.Stop()
	s.recorder.Stop(ctx)
	errs = append(errs, s.ledger.Flush(ctx))
	return errors.Join(append(errs, s.store.Close())...)
}

// compose builds the server's handler: the RPCs and, if the service has a public
// address, the pages. The pages serve trusted callers only: a browser reaches them
// through the edge.
func (s *Server) compose(rpcs *catalog.Catalog, vectors vector.Provider) error {
	service := rpc.NewServiceCredential(s.config.ServiceToken, s.config.PreviousServiceToken)
	tools := handlers.New(handlers.Config{
		Store: s.store, Kinds: kinds.All(), Indexes: s.indexes, Search: s.search, Jobs: s.jobs, BaseURL: s.config.BaseURL, Now: s.config.Now,
	})
	calls, err := s.newRPCHandler(rpcs, tools, service)
	if err != nil {
		return err
	}
	if s.config.BaseURL == "" {
		s.handler = calls
		return nil
	}
	site := http.NewServeMux()
	if s.pages, err = newPages(s.config, s.store, s.recorder.Used, s.ledger, s.keys, rpcs, vectors, tools, s.jobs.sources, s.counters.mailed(), site); err != nil {
		return err
	}
	if s.pages.mailer != nil {
		s.jobs.digests = s.pages.site.Digests()
	}
	if s.config.DAV {
		dav.New(dav.Config{
			BaseURL: s.config.BaseURL, Store: s.store, Kinds: kinds.All(), Used: s.recorder.Used, ClientAddress: clientAddress,
			Feed: s.pages.site.FeedEntries, Logger: s.config.Logger,
		}).Mount(site)
	}
	var handler http.Handler = site
	if s.counters != nil {
		handler = observeEvents(site, s.counters.oauth.Observe)
	}
	if s.config.Tracer != nil {
		handler = s.config.Tracer.Pages(handler)
	}
	guarded := service.Guard(handler)
	s.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/kith.") || strings.HasPrefix(r.URL.Path, "/grpc.") {
			calls.ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(w, r.WithContext(rpc.WithRequestID(r.Context(), r.Header)))
	})
	return nil
}

// statements passes each statement on to metrics and traces, and logs the slow ones.
type statements struct {
	counts *metrics.Queries // nil without metrics
	spans  *tracing.Queries // nil without traces
	slow   time.Duration    // 0 logs none
	logger *slog.Logger
}

// Observe implements db.QueryObserver.
func (o statements) Observe(ctx context.Context, s db.Statement, outcome string, d time.Duration) {
	if o.counts != nil {
		o.counts.Observe(ctx, s.Operation(), outcome, d)
	}
	if o.spans != nil {
		o.spans.Observe(ctx, s.Operation(), s.Table, outcome, d)
	}
	// A transaction that waits in vain for another one is told of otherwise, and would be tried again and again.
	waited := outcome != metrics.QueryOK && s.Operation() == "begin"
	if o.slow > 0 && d >= o.slow && !waited {
		o.logger.LogAttrs(ctx, slog.LevelWarn, "slow statement", slog.String("operation", s.Operation()), slog.String("table", s.Table()),
			slog.String("outcome", outcome), logging.Milliseconds("duration_ms", d), slog.String("request_id", logging.RequestID(ctx)))
	}
}
