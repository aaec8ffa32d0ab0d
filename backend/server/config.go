package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/kith-crm/kith/observability/metrics"
	"github.com/kith-crm/kith/observability/tracing"
)

// Config says how the backend runs.
type Config struct {
	// DatabaseURL is a postgres:// address or the path of a SQLite file.
	DatabaseURL string
	// Addr is where to listen, host:port. Empty: Handler is served by the
	// caller and Start listens nowhere.
	Addr string
	// ServiceToken is the credential that the edge and internal callers send,
	// of MinServiceToken characters at least. It may be empty when TLS asks for
	// client certificates.
	ServiceToken string
	// TLS is used for the listener when it is not nil.
	TLS *tls.Config
	// ConnectionMaxAge is how old a connection becomes before it is ended, after an
	// answer, so that edges also reach backends that were added; 0 is no bound.
	ConnectionMaxAge time.Duration
	// BaseURL is the public address of the service: the issuer of tokens, and where
	// the people's pages are. Empty: neither is served.
	BaseURL string
	// SignUp lets people make an account by themselves.
	SignUp bool
	// SMTPURL names the server that sends mail, as mail.Config has it. Empty: no
	// mail is sent, and operators set forgotten passwords.
	SMTPURL string
	// AccessLifetime, RefreshIdle and SessionLifetime are how long an access token
	// works, a refresh token may lie unused, and a browser stays signed in; 0 means
	// 1 hour, 60 days and 14 days.
	AccessLifetime, RefreshIdle, SessionLifetime time.Duration
	// AllowPrivateSchemes lets clients register redirect URIs like cursor://….
	AllowPrivateSchemes bool
	// Provider is an identity provider that members may sign in with besides; nil
	// means none.
	Provider *Provider
	// Login bounds attempts at a password, by address and by account; nil means 10
	// in 300 s.
	Login *RatePolicy
	// Sandbox seeds the demo account and keeps it fresh.
	Sandbox bool
	// DatabaseConns is how many connections this process keeps to the database at
	// most: half for what belongs to one member, half for the rest; two more look
	// after the schema. SQLite has half as many readers and one writer. 0 means 32.
	DatabaseConns int
	// AcceptNewerSchema works on a database that the version after this one has
	// migrated, which every migration allows.
	AcceptNewerSchema bool
	// SearchMemory bounds the search indexes held, and VectorMemory the vectors, in
	// bytes; 0 means 256 MiB of each.
	SearchMemory, VectorMemory int64
	// Embeddings makes the vectors for searches by meaning; nil means the built-in
	// provider, which likens spelling and sends nothing anywhere.
	Embeddings *Embeddings
	// Credits are the monthly credits of each plan; nil, or a plan that is not in it,
	// means 1,000 for free and 20,000 for pro. What a member has of the present month
	// does not change with them.
	Credits map[string]int
	// JobWorkers is how many jobs this process works on at once; 0 means 2, and a
	// negative number none: its jobs wait for another process.
	JobWorkers int
	// Metrics takes the metrics of the backend; nil reports none.
	Metrics *metrics.Registry
	// Tracer makes the spans of calls, pages, statements and jobs; nil makes none.
	Tracer *tracing.Tracer
	// Logger takes what operators should know; nil discards it.
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Provider is an OpenID provider of the operator's. Its redirect URI is
// BaseURL + "/sign-in/provider/callback".
type Provider struct {
	// Issuer is https, or http on a loopback host, exactly as the provider spells
	// it. ClientSecret is empty for a public client. Name is what the button says;
	// empty means the issuer's host.
	Issuer, ClientID, ClientSecret, Name string
}

// RatePolicy bounds attempts in fixed windows; a quota of 0 switches it off.
type RatePolicy struct {
	Quota  int
	Window time.Duration
}

// MinServiceToken is the shortest service credential, in characters.
const MinServiceToken = 16

// The defaults of Config.
const (
	defaultDatabaseConns  = 32
	defaultSearchMemory   = 256 << 20
	defaultVectorMemory   = 256 << 20
	defaultAccessLifetime = time.Hour
	defaultRefreshIdle    = 60 * 24 * time.Hour
)

// resolved fills in the defaults and refuses what cannot work.
func (c Config) resolved() (Config, error) {
	mutualTLS := c.TLS != nil && c.TLS.ClientAuth == tls.RequireAndVerifyClientCert
	if len(c.ServiceToken) < MinServiceToken && !mutualTLS {
		return c, fmt.Errorf("the service token needs %d characters at least: set KITH_SERVICE_TOKEN, the same for backend and edge", MinServiceToken)
	}
	if c.Addr != "" {
		if _, _, err := net.SplitHostPort(c.Addr); err != nil {
			return c, fmt.Errorf("the backend's address %q is not host:port", c.Addr)
		}
	}
	if c.DatabaseURL == "" {
		return c, errors.New("no database is set: KITH_DATABASE_URL takes the path of a SQLite file or a postgres:// address")
	}
	if c.DatabaseConns == 0 {
		c.DatabaseConns = defaultDatabaseConns
	}
	if c.DatabaseConns < 4 || c.SearchMemory < 0 || c.VectorMemory < 0 {
		return c, errors.New("a backend needs 4 connections to its database at least, and no less than no memory for searches: " +
			"see KITH_DATABASE_CONNS, KITH_SEARCH_MEMORY and KITH_VECTOR_MEMORY")
	}
	if c.SearchMemory == 0 {
		c.SearchMemory = defaultSearchMemory
	}
	if c.VectorMemory == 0 {
		c.VectorMemory = defaultVectorMemory
	}
	if c.AccessLifetime == 0 {
		c.AccessLifetime = defaultAccessLifetime
	}
	if c.RefreshIdle == 0 {
		c.RefreshIdle = defaultRefreshIdle
	}
	if c.AccessLifetime < 0 || c.RefreshIdle < 0 || c.SessionLifetime < 0 {
		return c, errors.New("the lifetimes of access tokens, refresh tokens and login sessions must not be negative")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}
