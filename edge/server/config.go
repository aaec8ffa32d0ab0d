package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/observability/metrics"
	"github.com/kith-crm/kith/observability/tracing"

	"github.com/kith-crm/kith/edge/internal/discovery"
	"github.com/kith-crm/kith/edge/internal/middleware"
	"github.com/kith-crm/kith/edge/internal/sandbox"
)

// Defaults of Config.
const (
	DefaultAddr       = "127.0.0.1:8080"
	DefaultBaseURL    = "http://localhost:8080"
	DefaultBackendURL = "http://127.0.0.1:8082"
	// DefaultProfileCacheTTL is the value that programs set in Config.ProfileCacheTTL, whose
	// zero value means no cache.
	DefaultProfileCacheTTL = time.Second
	// DefaultMaxInFlight is how many requests are served at once.
	DefaultMaxInFlight = 128
	// DefaultMaxConnections is how many connections are served at once.
	DefaultMaxConnections = 4096
	// DefaultConnectionsPerAddress is how many connections of one address are served at once.
	DefaultConnectionsPerAddress = 256
)

// RequestObserver counts HTTP requests; *metrics.HTTP is one. The routes are those of
// RouteNames, and "unknown" for a request that matched none.
type RequestObserver = middleware.Observer

// ToolObserver counts tool calls; *metrics.Tools is one.
type ToolObserver interface {
	// Observe is called once for each tools/call. A tool that does not exist has no name.
	Observe(ctx context.Context, tool string, outcome metrics.Outcome, d time.Duration)
}

// RateObserver counts the decisions of rate policies; *metrics.RateLimits is one.
type RateObserver interface {
	// Observe is called for each decision. The policies are those of RatePolicies.
	Observe(policy string, admitted, refused int)
	// Fallback is called with true when this edge starts to count alone because Redis is
	// unreachable, and with false when it shares its counts again.
	Fallback(active bool)
}

// BatchObserver counts batches; *metrics.Batches is one.
type BatchObserver interface {
	// Observe is called once for each batch: how many items had which status.
	Observe(statuses map[int]int)
}

// BackendObserver counts requests to the backend; the *metrics.Outcomes of metrics.NewBackend is one.
type BackendObserver interface {
	// Observe is called once for each request, with one of the outcomes of metrics.
	Observe(outcome string)
}

// SandboxRequest is a ready-made request of GET /sandbox. It has the same fields as the sandbox
// module's type, so that values can be converted.
type SandboxRequest = sandbox.Request

// Manual is a page of the documentation for people who run the service.
type Manual = discovery.Manual

// Config configures the edge. The zero value serves on localhost, with a backend on localhost
// and no sandbox.
type Config struct {
	// Addr is the address to listen on, host:port. Defaults to DefaultAddr. On a
	// loopback host, MCP requests whose Host is another name are refused (DNS
	// rebinding); an address without a host, such as ":8080", listens everywhere.
	Addr string
	// BaseURL is the public address of the service: http or https, a host, no
	// path. Clients compare it byte for byte. Defaults to DefaultBaseURL.
	BaseURL string
	// BackendURLs are the addresses of the backends; a host with several IP addresses is several
	// backends. All calls of a member go to the same one. Defaults to DefaultBackendURL. With an
	// in-memory Transport, one address with any host is enough.
	BackendURLs []string
	// Transport makes the calls to the backend. It can call a handler of the same process. Nil
	// makes HTTP/1.1 connections to BackendURLs.
	Transport http.RoundTripper
	// BackendTLS is for https BackendURLs. Nil is Go's default. It is unused with a Transport.
	BackendTLS *tls.Config
	// ServiceToken authenticates the edge to the backend. Empty sends none.
	ServiceToken string
	// AllowedOrigins are the web origins that may call the MCP server, besides BaseURL's; "*"
	// allows all.
	AllowedOrigins []string
	// ProfileCacheTTL is how long a rendered profile is cached. Independently of that, clients may
	// cache answers for a minute. Zero is off; programs use DefaultProfileCacheTTL.
	ProfileCacheTTL time.Duration
	// SignUpOpen is set if people can create an account themselves: the landing page then offers it.
	SignUpOpen bool
	// DAV serves the address books of members to their devices.
	DAV bool
	// SecurityContacts are the addresses in security.txt, as URIs. Without any, or after
	// SecurityExpires, the file is not served.
	SecurityContacts []string
	SecurityExpires  time.Time
	// SandboxEnabled mounts the sandbox. SandboxToken and SandboxUsername are then
	// required: the demo account's public, read-only token and its username.
	SandboxEnabled  bool
	SandboxToken    string
	SandboxUsername string
	// SandboxRequests are the requests that GET /sandbox suggests.
	SandboxRequests []SandboxRequest
	// Manuals are pages for people who run the service, at /docs, in reading order.
	Manuals []Manual
	// Version of the service, which MCP's initialize returns. Defaults to "dev".
	Version string
	// Logger logs one line for each request, and errors. Nil discards them.
	Logger *slog.Logger
	// Requests, Tools, Rates, Batches and Backend count; nil counts nothing.
	Requests RequestObserver
	Tools    ToolObserver
	Rates    RateObserver
	Batches  BatchObserver
	Backend  BackendObserver
	// Tracer makes the spans of requests and of calls to the backend; nil makes none.
	Tracer *tracing.Tracer
	// TLS, if set, makes the listener speak TLS. It needs a certificate.
	TLS *tls.Config
	// MaxConnections is the maximum number of open connections. One more takes the place of an
	// idle one, or waits. Defaults to DefaultMaxConnections.
	MaxConnections int
	// ConnectionsPerAddress is the maximum number of open connections of one address, as the
	// limits by address count it, except for TrustedProxies. One more is closed at once. Defaults
	// to DefaultConnectionsPerAddress; negative is no limit.
	ConnectionsPerAddress int
	// ConnectionMaxAge is the age from which a connection is closed after its next answer; 0 is no
	// limit.
	ConnectionMaxAge time.Duration
	// RateLimits override the policies of RatePolicies, by name: quota/window in seconds, such as
	// "120/60", or "off".
	RateLimits map[string]string
	// RedisURL is the Redis in which several edges share their counts, redis://host:6379/0. With ""
	// this edge counts in its memory.
	RedisURL string
	// Edges is how many edges share a Redis. While Redis cannot be reached, each edge divides the
	// quotas by it. Defaults to 1.
	Edges int
	// TrustedProxies are CIDRs of proxies whose ClientHeader is read; from other peers it is
	// ignored. ClientHeader defaults to X-Forwarded-For.
	TrustedProxies []string
	ClientHeader   string
	// Sunsets are the dates on which deprecated routes are removed, YYYY-MM-DD, by the names
	// of DeprecatedRoutes. Start announces them to the backend, which refuses a date that is
	// less than 180 days after the first announcement, or earlier than the announced date.
	Sunsets map[string]string
	// MaxInFlight is how many requests are served at once; more wait for up to a second and are
	// then answered 503, unless few are in flight. Defaults to DefaultMaxInFlight; negative is no
	// limit.
	MaxInFlight int
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// resolved is a Config with its defaults and the values derived from it.
type resolved struct {
	Config

	host     string // of BaseURL, without its port
	loopback bool   // Addr is reachable only from this machine
	sunsets  map[string]time.Time
}

func resolve(c Config) (resolved, error) {
	c.Addr = cmp.Or(c.Addr, DefaultAddr)
	c.BaseURL = strings.TrimSuffix(cmp.Or(c.BaseURL, DefaultBaseURL), "/")
	c.BackendURLs = slices.Clone(c.BackendURLs)
	if len(c.BackendURLs) == 0 {
		c.BackendURLs = []string{DefaultBackendURL}
	}
	c.Version = cmp.Or(c.Version, "dev")
	c.MaxConnections = cmp.Or(c.MaxConnections, DefaultMaxConnections)
	c.ConnectionsPerAddress = cmp.Or(c.ConnectionsPerAddress, DefaultConnectionsPerAddress)
	c.MaxInFlight = cmp.Or(c.MaxInFlight, DefaultMaxInFlight)
	c.Edges = cmp.Or(c.Edges, 1)
	c.AllowedOrigins = slices.Clone(c.AllowedOrigins)
	c.SandboxRequests = slices.Clone(c.SandboxRequests)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	host, err := parseBaseURL(c.BaseURL)
	if err != nil {
		return resolved{}, err
	}
	if c.SandboxEnabled && (c.SandboxToken == "" || c.SandboxUsername == "") {
		return resolved{}, errors.New("configure edge: the sandbox needs the demo account's token and username")
	}
	if c.MaxConnections < 0 || c.ProfileCacheTTL < 0 || c.ConnectionMaxAge < 0 {
		return resolved{}, errors.New("configure edge: the connection cap, the connections' age and the cache time must not be negative")
	}
	sunsets, err := parseSunsets(c.Sunsets)
	if err != nil {
		return resolved{}, fmt.Errorf("configure edge: %w", err)
	}
	return resolved{Config: c, host: host, loopback: isLoopback(c.Addr), sunsets: sunsets}, nil
}

// parseBaseURL returns the host of the base URL, or says what is wrong with it.
func parseBaseURL(text string) (host string, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("configure edge: parse base URL: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.Scheme+"://"+u.Host != text {
		return "", fmt.Errorf("configure edge: base URL %q: must be http(s)://host[:port] and nothing more", u.Redacted())
	}
	return u.Hostname(), nil
}

// isLoopback reports whether a listen address is reachable only from this machine.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
