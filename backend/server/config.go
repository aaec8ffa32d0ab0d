package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/password"
	"github.com/kith-crm/kith/observability/metrics"
	"github.com/kith-crm/kith/observability/tracing"
)

// Config configures a backend.
type Config struct {
	// DatabaseURL is a postgres:// address or the path of a SQLite file.
	DatabaseURL string
	// Addr is the address to listen on, host:port. Empty: Start does not listen, and the
	// caller serves Handler.
	Addr string
	// ServiceToken is the credential that the edge and internal callers send, with at
	// least MinServiceToken characters. It may be empty if TLS requires client
	// certificates.
	ServiceToken string
	// PreviousServiceToken is accepted too, while ServiceToken replaces it; empty for none.
	PreviousServiceToken string
	// TLS is the TLS configuration of the listener; nil means no TLS.
	TLS *tls.Config
	// ConnectionMaxAge is the maximum age of a connection. It is closed after a response,
	// so that edges also reach new backends. 0 means no limit.
	ConnectionMaxAge time.Duration
	// BaseURL is the public address of the service, and the issuer of tokens. Empty: the
	// authorization server and the web pages are not served.
	BaseURL string
	// SignUp lets people create an account themselves.
	SignUp bool
	// SecretKeyFile is the file with the key for what is stored encrypted. Empty: for SQLite
	// it is DefaultSecretKeyFile, and is made if there is none; for PostgreSQL there is no key,
	// and members can't set up one-time codes.
	SecretKeyFile string
	// RequireSecondFactor says which members must have a second factor: those of the plan with
	// that name, all with "on", none with "off" or if it is empty. They are led to set one up
	// before they can use the pages; tokens and agents go on working.
	RequireSecondFactor string
	// SMTPURL is the mail server, as in mail.Config. Empty: no mail is sent, and operators
	// reset forgotten passwords.
	SMTPURL string
	// AccessLifetime is the lifetime of an access token, RefreshIdle how long a refresh
	// token may stay unused, SessionLifetime how long a browser stays signed in; 0 means
	// 1 hour, 60 days and 14 days.
	AccessLifetime, RefreshIdle, SessionLifetime time.Duration
	// SessionIdle is how long a browser stays signed in without being used, at least 10 minutes;
	// 0 means as long as SessionLifetime.
	SessionIdle time.Duration
	// AllowPrivateSchemes lets clients register redirect URIs like cursor://….
	AllowPrivateSchemes bool
	// ClientDocuments fetches client ID metadata documents, from public https addresses
	// that members' agents name. Without it, agents have to register.
	ClientDocuments bool
	// IdentityProvider is an OpenID provider that members can also sign in with; nil
	// means none.
	IdentityProvider *IdentityProvider
	// Login limits sign-in attempts by address and by account; nil means 10 in 300 s.
	Login *RatePolicy
	// Breached says where passwords are looked up that members may not choose.
	Breached BreachedPasswords
	// DAV serves the address books of members to their devices (CardDAV).
	DAV bool
	// PrivateSources lets members add calendars at private addresses, also by http.
	PrivateSources bool
	// Sandbox seeds the demo account, and seeds it again every day.
	Sandbox bool
	// DatabaseConns is the maximum number of database connections of this process: half
	// for data of one tenant, half for the rest, and two more for migrations. SQLite has
	// half as many readers and one writer. 0 means 32.
	DatabaseConns int
	// SyncEachCommit makes a write to SQLite durable before it is answered; see db.Config.
	SyncEachCommit bool
	// SlowStatements is how long a statement takes that is logged; 0 logs none.
	SlowStatements time.Duration
	// AcceptNewerSchema accepts a database that the next version has migrated; every
	// migration allows that.
	AcceptNewerSchema bool
	// SearchMemory limits the memory of search indexes, VectorMemory that of vectors, in
	// bytes; 0 means 256 MiB each.
	SearchMemory, VectorMemory int64
	// MemberStorage is how many bytes of photos, uploaded files and recorded changes a member may
	// have; 0 means no limit.
	MemberStorage int64
	// Embeddings computes the vectors for semantic search; nil means the built-in
	// provider, which compares spelling and sends nothing to other servers.
	Embeddings *Embeddings
	// Credits are the monthly credits by plan. A plan that is missing has the default:
	// 1,000 for free, 20,000 for pro. A change does not affect the current month.
	Credits map[string]int
	// JobWorkers is how many jobs this process runs at once; 0 means 2. With a negative
	// number it runs none: jobs wait for another process.
	JobWorkers int
	// Metrics takes the metrics of the backend; nil reports none.
	Metrics *metrics.Registry
	// Tracer creates the spans of calls, pages, statements and jobs; nil means none.
	Tracer *tracing.Tracer
	// Logger is the process's logger; nil discards everything.
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// IdentityProvider is an OpenID provider. The redirect URI is
// BaseURL + "/sign-in/provider/callback".
type IdentityProvider struct {
	// Issuer is an https URL, or http on a loopback host, exactly as in the provider's
	// metadata. ClientSecret is empty for a public client. Name is the label of the
	// sign-in button; empty means the issuer's host.
	Issuer, ClientID, ClientSecret, Name string
}

// RatePolicy limits attempts in fixed windows; a quota of 0 means no limit.
type RatePolicy struct {
	Quota  int
	Window time.Duration
}

// BreachedPasswords are lists of passwords that were stolen from other services. The zero value has
// none.
type BreachedPasswords struct {
	// File is a sorted file of SHA-1 hashes, HASH or HASH:COUNT a line. URL is the address of an
	// API for ranges of hashes, such as https://api.pwnedpasswords.com/range. Either may be empty.
	File, URL string
}

// policy opens the lists.
func (b BreachedPasswords) policy(logger *slog.Logger) (*password.Policy, error) {
	return password.NewPolicy(password.PolicyConfig{File: b.File, URL: b.URL, Logger: logger})
}

// MinServiceToken is the minimum length of the service credential, in characters.
const MinServiceToken = 16

// The defaults of Config.
const (
	defaultDatabaseConns  = 32
	defaultSearchMemory   = 256 << 20
	defaultVectorMemory   = 256 << 20
	defaultAccessLifetime = time.Hour
	defaultRefreshIdle    = 60 * 24 * time.Hour
	minSessionIdle        = 10 * time.Minute
)

// resolved returns the configuration with defaults, or an error if it is invalid.
func (c Config) resolved() (Config, error) {
	mutualTLS := c.TLS != nil && c.TLS.ClientAuth == tls.RequireAndVerifyClientCert
	if len(c.ServiceToken) < MinServiceToken && !mutualTLS {
		return c, fmt.Errorf("the service token needs at least %d characters: set KITH_SERVICE_TOKEN, the same for backend and edge", MinServiceToken)
	}
	if c.PreviousServiceToken != "" && len(c.PreviousServiceToken) < MinServiceToken {
		return c, fmt.Errorf("the previous service token needs at least %d characters: set KITH_SERVICE_TOKEN_PREVIOUS to what KITH_SERVICE_TOKEN was", MinServiceToken)
	}
	if c.Addr != "" {
		if _, _, err := net.SplitHostPort(c.Addr); err != nil {
			return c, fmt.Errorf("the backend's address %q is not host:port", c.Addr)
		}
	}
	if c.DatabaseURL == "" {
		return c, errors.New("no database is set: set KITH_DATABASE_URL to the path of a SQLite file or to a postgres:// address")
	}
	switch c.RequireSecondFactor {
	case "", "off", "on", account.PlanFree, account.PlanPro:
	default:
		return c, fmt.Errorf("KITH_REQUIRE_SECOND_FACTOR %q must be off, on, or the name of a plan: %s or %s", c.RequireSecondFactor, account.PlanFree, account.PlanPro)
	}
	if c.DatabaseConns == 0 {
		c.DatabaseConns = defaultDatabaseConns
	}
	if c.DatabaseConns < 4 || c.SearchMemory < 0 || c.VectorMemory < 0 {
		return c, errors.New("KITH_DATABASE_CONNS must be at least 4, and KITH_SEARCH_MEMORY and KITH_VECTOR_MEMORY must not be negative")
	}
	if c.MemberStorage < 0 {
		return c, errors.New("KITH_MEMBER_STORAGE must not be negative; 0 means no limit")
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
	if c.SessionIdle != 0 && c.SessionIdle < minSessionIdle {
		return c, errors.New("a login session must be able to stay unused for at least 10 minutes: when it was last used is known to the minute only")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}
