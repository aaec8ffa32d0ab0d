package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/account/password"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/handlers"
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/secretkey"
	"github.com/kith-crm/kith/backend/internal/sources"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
)

// Mailer sends emails in the background; *mail.Mailer is one.
type Mailer interface {
	// Enqueue queues an email to be written and sent; false if the queue is full.
	Enqueue(write mail.Write) bool
	// Send sends an email now; mail.FailureOf says what its error means.
	Send(ctx context.Context, email *mail.Message) error
}

// Credits is how much of this month's allowance a member has used.
type Credits struct{ Used, Allowance int }

// Low reports whether most of the allowance is used; false for nil, which is no limit.
func (c *Credits) Low() bool {
	const most = 80 // percent
	return c != nil && c.Used*100 >= c.Allowance*most
}

// Config configures the pages. BaseURL, Store, Data, Catalog and Handlers are required.
type Config struct {
	// BaseURL is the public address of the service, without a slash at the end. Cookies
	// are restricted to https if it is an https address; http is for localhost and
	// tests.
	BaseURL string
	Store   *db.DB
	// Data returns the data of one member.
	Data    func(owner tenant.ID) *db.Tenant
	Catalog *catalog.Catalog
	// Kinds are the kinds of objects whose changes can be undone.
	Kinds history.Kinds
	// SignUpOpen lets people create an account themselves.
	SignUpOpen bool
	// DAV is set if devices can synchronise members' people (CardDAV), and calendar programs can subscribe to members' dates.
	DAV bool
	// SandboxOn is set if agents can try the demo account.
	SandboxOn bool
	// SessionLifetime is how long a browser stays signed in; 0 means 14 days.
	SessionLifetime time.Duration
	// SessionIdle is how long a browser stays signed in without being used; 0 means as long as
	// SessionLifetime.
	SessionIdle time.Duration
	// Used records that a login session was used; nil does not.
	Used func(sessionID string, at time.Time)
	// Login limits password attempts, by address and by account; nil means
	// session.DefaultLogin, a quota of 0 means no limit.
	Login *account.RatePolicy
	// PasswordCost is the cost of a password hash. The zero value, the default, is
	// right for members' passwords; tests choose less.
	PasswordCost password.Cost
	// Passwords says which passwords members may choose; nil means password.Check.
	Passwords *password.Policy
	// Provider is the identity provider that members can also sign in with; nil means
	// none.
	Provider Provider
	// Secrets encrypts the secrets of members' apps for one-time codes; nil means that nobody
	// can set one up.
	Secrets *secretkey.File
	// Sources reads the calendars of members. Required.
	Sources *sources.Sources
	// RequireSecondFactor reports whether members of a plan must have a second factor: they have
	// to set one up before they can do anything else. Nil: no member must.
	RequireSecondFactor func(plan string) bool
	// Mailer sends emails. Nil: email addresses are not verified, and operators reset
	// forgotten passwords.
	Mailer Mailer
	// ReservedUsername reports whether a username is reserved, in addition to those
	// that member.CheckUsername reserves; nil reserves none.
	ReservedUsername func(name string) bool
	// Credits returns the credits shown on the page of the account; if it or its
	// result is nil, the section is left out.
	Credits func(ctx context.Context, owner tenant.ID) (*Credits, error)
	// FlushReads writes the counts of reads that the process has in memory; nil if it has none.
	FlushReads func(context.Context) error
	// Handlers are the tools' handlers that the pages call.
	Handlers *handlers.Handlers
	// EmbeddingsHost is the remote embedding provider that members may allow, and
	// EmbeddingsModel its model; empty if vectors are computed locally.
	EmbeddingsHost, EmbeddingsModel string
	// ClientAddress returns the IP address of the client; nil means the address of the
	// connection.
	ClientAddress func(r *http.Request) string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger is the process's logger; nil discards everything.
	Logger *slog.Logger
}

const defaultSessionLifetime = 14 * 24 * time.Hour

// resolved returns the configuration with defaults, or an error if it is invalid.
func (c Config) resolved() (Config, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.Path != "" || base.RawQuery != "" || base.User != nil {
		return c, errors.New("web: the base URL must be the public address of the service, such as https://kith.example, without a path")
	}
	if c.Store == nil || c.Data == nil || c.Catalog == nil || c.Handlers == nil {
		return c, errors.New("web: Store, Data, Catalog and Handlers are required")
	}
	if c.SessionLifetime == 0 {
		c.SessionLifetime = defaultSessionLifetime
	}
	if c.SessionIdle == 0 {
		c.SessionIdle = c.SessionLifetime
	}
	if c.Login == nil {
		c.Login = new(account.DefaultLogin())
	}
	if c.ReservedUsername == nil {
		c.ReservedUsername = func(string) bool { return false }
	}
	if c.Credits == nil {
		c.Credits = func(context.Context, tenant.ID) (*Credits, error) { return nil, nil }
	}
	if c.FlushReads == nil {
		c.FlushReads = func(context.Context) error { return nil }
	}
	if c.RequireSecondFactor == nil {
		c.RequireSecondFactor = func(string) bool { return false }
	}
	if c.ClientAddress == nil {
		c.ClientAddress = connectionAddress
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

func connectionAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
