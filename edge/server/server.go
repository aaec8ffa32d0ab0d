package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kith-crm/kith/observability/metrics"
	"github.com/kith-crm/kith/observability/shutdown"

	"github.com/kith-crm/kith/edge/internal/middleware"
	"github.com/kith-crm/kith/edge/internal/route"
)

// Limits of the listener, against slow and silent clients.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 60 * time.Second
	maxStreams        = 100 // per HTTP/2 connection
)

// errStarted is the error of a second Start.
var errStarted = errors.New("start edge: it was already started")

// Server is the edge. It is started at most once.
type Server struct {
	parts      *parts
	handler    http.Handler
	http       *http.Server
	drainer    *shutdown.Drainer
	closeStore sync.Once
	met        atomic.Bool // the backend has accepted the service credential

	mu       sync.Mutex
	listener net.Listener
	done     chan error // receives one value when serving has ended
}

// New builds a server. It does not listen and makes no calls. The error says what is wrong with
// the configuration.
func New(c Config) (*Server, error) {
	config, err := resolve(c)
	if err != nil {
		return nil, err
	}
	p, err := newParts(config)
	if err != nil {
		return nil, fmt.Errorf("build edge: %w", err)
	}
	table, err := route.New(route.Mounted(route.WithSunsets(p.routes(), config.sunsets), c.SandboxEnabled), route.Options{
		BaseURL: config.BaseURL, Host: config.host, ErrorWriters: p.errorWriters, CheckPolicy: p.limiter.Check, Now: config.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("build edge: %w", err)
	}
	s := &Server{parts: p, handler: p.pipeline(table), done: make(chan error, 1)}
	s.http = newHTTPServer(config, s.handler)
	s.drainer = shutdown.New(s.http)
	s.drainer.MaxAge = config.ConnectionMaxAge
	return s, nil
}

func newHTTPServer(c resolved, handler http.Handler) *http.Server {
	return &http.Server{
		Handler:                      handler,
		TLSConfig:                    c.TLS.Clone(),
		ReadHeaderTimeout:            readHeaderTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               route.MaxHeaderBytes,
		HTTP2:                        &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(c.Logger.Handler(), slog.LevelWarn),
	}
}

// Handler returns the handler of all public paths, for callers with their own listener.
func (s *Server) Handler() http.Handler { return s.handler }

// Concurrency returns the limiter of concurrent requests, for metrics.
func (s *Server) Concurrency() *middleware.ConcurrencyLimiter { return s.parts.concurrency }

// Backends returns the state of the backends; none with Config.Transport.
func (s *Server) Backends() []metrics.BackendState {
	if s.parts.placement == nil {
		return nil
	}
	return s.parts.placement.States()
}

// Start announces the sunsets, listens and serves in the background. The error names the sunset
// that the backend refuses, or the address on which it cannot listen. When ctx ends, the
// announcement stops, but not serving.
func (s *Server) Start(ctx context.Context) error {
	if err := s.announceSunsets(ctx); err != nil {
		return fmt.Errorf("start edge: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return errStarted
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", s.parts.Addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", s.parts.Addr, err)
	}
	bounded := newBoundedListener(listener, s.parts.MaxConnections, s.parts.ConnectionsPerAddress, s.parts.clients.Trusts)
	s.http.ConnState = bounded.follow(s.http.ConnState)
	s.listener = bounded
	if s.parts.placement != nil {
		s.parts.placement.Start(ctx)
	}
	go s.serve(s.listener)
	return nil
}

func (s *Server) serve(listener net.Listener) {
	var err error
	if s.parts.TLS != nil {
		err = s.http.ServeTLS(listener, "", "")
	} else {
		err = s.http.Serve(listener)
	}
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) { // by Stop
		err = nil
	}
	s.done <- err
	close(s.done)
}

// Addr returns the address on which the server listens, or nil before Start.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return nil
	}
	return s.listener.Addr()
}

// Done returns a channel that yields nil after Stop, or the error that ended serving.
func (s *Server) Done() <-chan error { return s.done }

// Stop closes the listener and idle connections, waits for the requests in flight until ctx ends,
// and then closes their connections. It returns the first error. It may be called before Start and
// more than once.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	listener := s.listener
	s.mu.Unlock()
	var err error
	if listener != nil {
		err = s.drainer.Drain(ctx, listener)
	}
	if s.parts.placement != nil {
		s.parts.placement.Stop()
	}
	s.closeStore.Do(func() { err = errors.Join(err, s.parts.store.Close()) })
	if err != nil {
		return fmt.Errorf("stop edge: %w", err)
	}
	return nil
}

// Ready returns an error until the backend has once answered and accepted the edge's service
// credential. Later failures of the backend or its database do not change it: those requests are
// answered 503 with Retry-After, and a load balancer that removed every edge would also stop the
// paths that do not need the backend.
func (s *Server) Ready(ctx context.Context) error {
	if s.met.Load() {
		return nil
	}
	if _, err := s.parts.backend.GetSandbox(ctx); err != nil {
		return fmt.Errorf("ask backend: %w", err)
	}
	s.met.Store(true)
	return nil
}
