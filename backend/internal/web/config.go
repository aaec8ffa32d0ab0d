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
	"github.com/kith-crm/kith/backend/internal/history"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
)

// Mailer sends emails in the background; *mail.Mailer is one.
type Mailer interface {
	// Enqueue has an email written and sent; false when too many wait.
	Enqueue(write mail.Write) bool
}

// Credits is what a member has used of this month's allowance.
type Credits struct{ Used, Allowance int }

// Config is what the pages need. BaseURL, Store, Data and Catalog are required.
type Config struct {
	// BaseURL is the public address of the service, without a slash at the end.
	// Cookies are for https only when it is; http is for localhost and tests.
	BaseURL string
	Store   *db.DB
	// Data returns what one member keeps.
	Data    func(owner tenant.ID) *db.Tenant
	Catalog *catalog.Catalog
	// Kinds are the kinds of objects whose changes can be undone.
	Kinds history.Kinds
	// SignUpOpen lets people make an account by themselves.
	SignUpOpen bool
	// SessionLifetime is how long a browser stays signed in; 0 means 14 days.
	SessionLifetime time.Duration
	// Login bounds attempts at a password, by address and by account; nil means
	// session.DefaultLogin, a quota of 0 switches it off.
	Login *account.RatePolicy
	// PasswordCost is what the hash of a password takes. The zero value, the
	// default, is right for members' passwords; tests choose less.
	PasswordCost password.Cost
	// Provider is where members may sign in instead of here; nil offers none.
	Provider Provider
	// Mailer sends emails. Nil: nobody is asked to prove an address, and forgotten
	// passwords are the operator's to set.
	Mailer Mailer
	// ReservedUsername tells names that nobody may take, beside those of
	// member.CheckUsername; nil reserves none.
	ReservedUsername func(name string) bool
	// Credits returns what the settings page for agents shows of them; nil, or nil
	// Credits, leaves the section out.
	Credits func(ctx context.Context, owner tenant.ID) (*Credits, error)
	// Imports are one member's imports; nil leaves the page out. Wake is told that a
	// job waits.
	Imports func(owner tenant.ID) *db.Tenant
	Wake    func()
	// EmbeddingsHost is the remote embedding provider that members may allow, and
	// EmbeddingsModel its model; empty when vectors are made here.
	EmbeddingsHost, EmbeddingsModel string
	// ClientAddress returns the IP address that a request comes from; nil means
	// the connection's.
	ClientAddress func(r *http.Request) string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger takes what operators should know; nil discards it.
	Logger *slog.Logger
}

const defaultSessionLifetime = 14 * 24 * time.Hour

// resolved fills in the defaults and refuses what cannot work.
func (c Config) resolved() (Config, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.Path != "" || base.RawQuery != "" || base.User != nil {
		return c, errors.New("web: the base URL must be the public address of the service, such as https://kith.example, without a path")
	}
	if c.Store == nil || c.Data == nil || c.Catalog == nil {
		return c, errors.New("web: Store, Data and Catalog are required")
	}
	if c.SessionLifetime == 0 {
		c.SessionLifetime = defaultSessionLifetime
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
	if c.Wake == nil {
		c.Wake = func() {}
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
