package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	backend "github.com/kith-crm/kith/backend/server"
	"github.com/kith-crm/kith/deploy/docs"
	"github.com/kith-crm/kith/deploy/internal/inprocess"
	edge "github.com/kith-crm/kith/edge/server"
	"github.com/kith-crm/kith/observability/admin"
	"github.com/kith-crm/kith/observability/logging"
	"github.com/kith-crm/kith/observability/metrics"
	"github.com/kith-crm/kith/observability/status"
	"github.com/kith-crm/kith/observability/tracing"
	"github.com/kith-crm/kith/sandbox"
)

// process is the state of a running command: log, metrics, and the parts to stop.
type process struct {
	*program
	logger   *slog.Logger
	registry *metrics.Registry
	tracer   *tracing.Tracer // nil without tracing
	admin    net.Addr        // nil without an admin listener
	stops    []func(context.Context) error
}

// runProcess prepares a process, calls start, waits for the program's context to end, and
// stops everything in reverse order. name is the service name of traces.
func (p *program) runProcess(name string, start func(r *process) error) (err error) {
	if err := p.settings.resolve(); err != nil {
		return err
	}
	lines := logging.NewBuffer(p.err)
	defer func() { err = errors.Join(err, lines.Flush()) }()
	logger, err := logging.New(lines, p.settings.LogLevel, p.settings.LogFormat)
	if err != nil {
		return err
	}
	libraries := logger // libraries use slog's default logger, and log bad requests as warnings
	if p.settings.LogLevel != "debug" {
		if libraries, err = logging.New(lines, "error", p.settings.LogFormat); err != nil {
			return err
		}
	}
	slog.SetDefault(libraries)
	if p.settings.Instance == "" {
		if p.settings.Instance, err = os.Hostname(); err != nil {
			return fmt.Errorf("set KITH_INSTANCE: this machine has no name: %w", err)
		}
	}
	logger = logger.With("instance", p.settings.Instance)
	r := &process{program: p, logger: logger, registry: metrics.New(p.build.metric())}
	logger.Info("starting "+name, p.build.attributes())
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), p.settings.StopTimeout)
		defer cancel()
		for _, stop := range slices.Backward(r.stops) {
			err = errors.Join(err, stop(ctx))
		}
	}()
	if err := r.trace(name); err != nil {
		return err
	}
	if err := start(r); err != nil {
		return err
	}
	limitMemory(logger)
	debug.FreeOSMemory() // of the garbage of the start
	tellManager(logger, "READY=1")
	<-p.ctx.Done()
	logger.Info("stopping")
	tellManager(logger, "STOPPING=1")
	return nil
}

// memoryShare is the part of a control group's memory that the heap may take before the garbage collector works harder: the
// rest is for SQLite's pages, stacks and the kernel.
const memoryShare = 0.8

// limitMemory makes the garbage collector keep the process within the memory of its control group, if that is limited,
// unless GOMEMLIMIT is set.
func limitMemory(logger *slog.Logger) {
	limit, err := memlimit.Set(memlimit.WithRatio(memoryShare), memlimit.WithProvider(memlimit.FromCgroup))
	switch {
	case err != nil: // no control groups on this system
		logger.Debug("the memory limit cannot be read", "error", err)
	case limit < math.MaxInt64:
		logger.Info("the heap is limited", "mib", limit>>20)
	}
}

func (r *process) onStop(stop func(context.Context) error) { r.stops = append(r.stops, stop) }

type serveCommand struct{}

func (serveCommand) Run(p *program) error {
	return p.runProcess("kith", func(r *process) error {
		token := r.settings.Service
		if token == "" {
			if r.settings.BackendAddr != "" {
				return errors.New("KITH_BACKEND_ADDR opens the backend to other processes: also set KITH_SERVICE_TOKEN, with at least 16 characters")
			}
			token = rand.Text()
		}
		core, err := r.startBackend(token, r.settings.BackendAddr)
		if err != nil {
			return err
		}
		front, err := r.startEdge(token, []string{"http://backend"}, inprocess.Transport(core.Handler()))
		if err != nil {
			return err
		}
		if err := r.startAdmin(core.Ready); err != nil {
			return err
		}
		if err := r.announce(front.Addr()); err != nil {
			return err
		}
		return r.announceOwnerLink(core)
	})
}

type backendCommand struct{}

func (backendCommand) Run(p *program) error {
	return p.runProcess("kith-backend", func(r *process) error {
		addr := r.settings.BackendAddr
		if addr == "" {
			addr = "127.0.0.1:8082"
		}
		core, err := r.startBackend(r.settings.Service, addr)
		if err != nil {
			return err
		}
		if err := r.startAdmin(core.Ready); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(r.out, "kith backend %s is ready on %s.\n", p.build.Version, core.Addr()); err != nil {
			return err
		}
		return r.announceOwnerLink(core)
	})
}

type edgeCommand struct{}

func (edgeCommand) Run(p *program) error {
	return p.runProcess("kith-edge", func(r *process) error {
		if len(r.settings.Service) < backend.MinServiceToken && r.settings.BackendTLSCert == "" {
			return fmt.Errorf("the service token needs at least %d characters: set KITH_SERVICE_TOKEN, the same for backend and edge", backend.MinServiceToken)
		}
		front, err := r.startEdge(r.settings.Service, r.settings.BackendURLs, nil)
		if err != nil {
			return err
		}
		if err := r.startAdmin(front.Ready); err != nil {
			return err
		}
		if !r.awaitReady(front.Ready) {
			return nil
		}
		return r.announce(front.Addr())
	})
}

// readyEvery is the interval at which awaitReady asks.
const readyEvery = 250 * time.Millisecond

// awaitReady waits until ready returns nil, as /readyz does, and logs once a minute why it does not. It returns false when
// the program is told to stop before.
func (r *process) awaitReady(ready func(context.Context) error) bool {
	var lines logging.Seldom
	for {
		err := ready(r.ctx)
		if err == nil || r.ctx.Err() != nil {
			return err == nil
		}
		if lines.Now() {
			r.logger.Warn("waiting until this edge is ready", "error", err)
		}
		select {
		case <-r.ctx.Done():
		case <-time.After(readyEvery):
		}
	}
}

func (r *process) startBackend(serviceToken, addr string) (*backend.Server, error) {
	if r.settings.AutoMigrate && !r.settings.AcceptNewer {
		done, err := backend.MigrateInstalled(r.ctx, r.settings.DatabaseURL, r.settings.BackUpBefore)
		if err != nil {
			return nil, err
		}
		if done.Backup != "" {
			r.logger.Info("upgraded the database", "migrations", done.Applied, "backup", done.Backup, "to go back", goBack)
		}
	}
	listenerTLS, err := r.settings.backendListenerTLS(r.logger)
	if err != nil {
		return nil, err
	}
	login, err := r.settings.login()
	if err != nil {
		return nil, err
	}
	core, err := backend.New(r.ctx, backend.Config{
		TLS: listenerTLS, DatabaseURL: r.settings.DatabaseURL, Addr: addr, ServiceToken: serviceToken, PreviousServiceToken: r.settings.Previous, Sandbox: r.settings.Sandbox,
		BaseURL: r.settings.BaseURL, SignUp: r.settings.SignUp, DAV: r.settings.DAV, PrivateSources: r.settings.PrivateSources, SMTPURL: r.settings.SMTPURL, SecretKeyFile: r.settings.SecretKeyFile, RequireSecondFactor: r.settings.RequireFactor,
		AccessLifetime: r.settings.AccessLifetime, RefreshIdle: r.settings.RefreshIdle, SessionLifetime: r.settings.SessionLifetime, SessionIdle: r.settings.SessionIdle,
		AllowPrivateSchemes: r.settings.PrivateSchemes, ClientDocuments: r.settings.ClientDocuments, Login: login,
		IdentityProvider: r.settings.identityProvider(), Credits: r.settings.credits(), Embeddings: r.settings.embeddings(),
		Breached: r.settings.breached(), JobWorkers: r.settings.jobWorkers(), DatabaseConns: r.settings.DatabaseConns, SyncEachCommit: r.settings.SQLiteSync == "full", SlowStatements: r.settings.SlowStatements, AcceptNewerSchema: r.settings.AcceptNewer,
		MemberStorage: r.settings.MemberStorage << 20, SearchMemory: r.settings.SearchMemory << 20, VectorMemory: r.settings.VectorMemory << 20,
		ConnectionMaxAge: r.settings.ConnectionAge,
		Metrics:          r.backendMetrics(), Tracer: r.tracer, Logger: r.logger,
	})
	if err != nil {
		return nil, err
	}
	r.onStop(core.Stop)
	if err := r.watchCertificate("backend", listenerTLS); err != nil {
		return nil, err
	}
	return core, core.Start(r.ctx)
}

func (r *process) startEdge(serviceToken string, backendURLs []string, transport http.RoundTripper) (*edge.Server, error) {
	var requests []edge.SandboxRequest
	for _, try := range sandbox.Requests() {
		requests = append(requests, edge.SandboxRequest(try))
	}
	listenerTLS, certificates, err := r.edgeTLS()
	if err != nil {
		return nil, err
	}
	backendTLS, err := r.settings.backendClientTLS(r.logger)
	if err != nil {
		return nil, err
	}
	expires, err := r.settings.securityExpires(time.Now())
	if err != nil {
		return nil, err
	}
	manuals, err := docs.Manuals()
	if err != nil {
		return nil, err
	}
	config := edge.Config{
		TLS: listenerTLS, BackendTLS: backendTLS,
		Addr: r.settings.Addr, BaseURL: r.settings.BaseURL, BackendURLs: backendURLs, Transport: transport,
		ServiceToken: serviceToken, AllowedOrigins: r.settings.Origins, ProfileCacheTTL: r.settings.ProfileCache,
		SignUpOpen: r.settings.SignUp, DAV: r.settings.DAV, SandboxEnabled: r.settings.Sandbox, SandboxToken: sandbox.Token, SandboxUsername: sandbox.Username, SandboxRequests: requests, Manuals: manuals,
		RateLimits: r.settings.Rates, Sunsets: r.settings.Sunsets, RedisURL: r.settings.RedisURL, Edges: r.settings.Edges,
		TrustedProxies: r.settings.TrustedProxies, ClientHeader: r.settings.ClientHeader, MaxInFlight: r.settings.MaxInFlight,
		ConnectionsPerAddress: r.settings.PerAddress, ConnectionMaxAge: r.settings.ConnectionAge,
		Version: r.build.Version, Tracer: r.tracer, Logger: r.logger, SecurityContacts: r.settings.SecurityContacts, SecurityExpires: expires,
	}
	if err := r.observeEdge(&config); err != nil {
		return nil, err
	}
	front, err := edge.New(config)
	if err != nil {
		return nil, err
	}
	r.onStop(front.Stop)
	if err := r.watchEdge(front, listenerTLS, backendTLS); err != nil {
		return nil, err
	}
	if err := front.Start(r.ctx); err != nil {
		return nil, explainPort(err)
	}
	return front, explainPort(r.startACME(certificates))
}

// startAdmin starts the admin listener: metrics, health, status and profiles.
func (r *process) startAdmin(ready func(context.Context) error) error {
	if r.settings.AdminAddr == "off" {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(r.ctx, "tcp", r.settings.AdminAddr)
	if err != nil {
		return fmt.Errorf("listen on KITH_ADMIN_ADDR %s: %w", r.settings.AdminAddr, err)
	}
	r.admin = listener.Addr()
	recorder, err := status.NewRecorder(r.registry, time.Now, r.logger)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	page, err := status.NewPage(recorder, r.build.String())
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	recorder.Start(r.ctx)
	r.onStop(func(context.Context) error {
		recorder.Stop()
		return nil
	})
	server := &http.Server{
		Handler: admin.Handler(admin.Options{
			Metrics: r.registry.Handler(r.logger), Status: page, Ready: ready, Logger: r.logger,
			Addr: r.admin, Hosts: r.settings.adminHosts(), Profiles: r.settings.AdminPprof,
		}),
		ReadHeaderTimeout: 5 * time.Second,
	}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			r.logger.Error("admin listener", "error", err)
		}
	}()
	r.onStop(server.Shutdown)
	return nil
}

// announce prints the addresses of the service, with a command to try.
func (r *process) announce(addr net.Addr) error {
	s := r.settings
	text := fmt.Sprintf("kith %s is ready on %s (listening on %s).\n\n", r.build.Version, s.BaseURL, addr)
	text += fmt.Sprintf("  MCP for agents   %s/mcp/v1   (sign in by OAuth, or use a token of: kith token create USERNAME --name laptop)\n", s.BaseURL)
	if s.Sandbox {
		text += fmt.Sprintf("  MCP sandbox      %s/mcp/sandbox   (no credential; see %s/sandbox)\n", s.BaseURL, s.BaseURL)
	}
	text += fmt.Sprintf("  Members          %s/api/network/members\n", s.BaseURL)
	text += fmt.Sprintf("  People           %s/sign-in\n", s.BaseURL)
	if r.admin != nil {
		text += fmt.Sprintf("  Operators        http://%s/\n", reachable(r.admin))
	}
	if s.Sandbox {
		text += fmt.Sprintf("\nTry it:\n\n  curl -s %s/mcp/sandbox -H 'Content-Type: application/json' \\\n"+
			"    -d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"search_connections\",\"arguments\":{\"query\":\"investor\",\"limit\":3}}}'\n\n", s.BaseURL)
	}
	_, err := fmt.Fprint(r.out, text)
	return err
}

// reachable returns addr with a host that a browser on this machine can open.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	return net.JoinHostPort("localhost", strconv.Itoa(tcp.Port))
}
