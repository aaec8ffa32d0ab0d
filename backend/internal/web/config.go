package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/kith-crm/kith/backend/internal/accountfile"
	"github.com/kith-crm/kith/backend/internal/change"
	"github.com/kith-crm/kith/backend/internal/grant"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/member"
	"github.com/kith-crm/kith/backend/internal/password"
	"github.com/kith-crm/kith/backend/internal/profile"
	"github.com/kith-crm/kith/backend/internal/provider"
	"github.com/kith-crm/kith/backend/internal/securityevent"
	"github.com/kith-crm/kith/backend/internal/session"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/token"
	"github.com/kith-crm/kith/proto/catalog"
)

// Store is what the pages keep and read of members and their credentials.
type Store interface {
	member.AccountStore
	member.LinkStore
	session.Store
	profile.OwnStore
	grant.MemberStore
	token.Store
	provider.Store
	securityevent.Store
	// CreateMember adds a member with an empty, private profile. It fails with
	// fault.AlreadyExists when username or e-mail is taken.
	CreateMember(ctx context.Context, m *member.Member) error
}

// TenantData is what the pages read of one member's network, and take back in it.
type TenantData interface {
	accountfile.Data
	// ListChanges returns changes, the latest first.
	ListChanges(ctx context.Context, query change.Query) ([]change.Change, error)
	// UndoChange takes a change back as the member themselves, on the page of that
	// name, or tells with dryRun what that would do. It fails with fault.NotFound.
	UndoChange(ctx context.Context, page, id string, dryRun bool) (change.Undone, error)
	// EndDeletion deletes for good what a deletion in the bin removed. It fails with
	// fault.NotFound when the change is not in the bin.
	EndDeletion(ctx context.Context, page, changeID string) error
	// EmptyBin does so for all deletions in the bin up to a change, and returns how many.
	EmptyBin(ctx context.Context, page, last string) (int, error)
	// ListNames returns the names of the connections that are on file, by id.
	ListNames(ctx context.Context, ids []string) (map[string]string, error)
}

// Mailer sends letters in the background; *mail.Mailer is one.
type Mailer interface {
	// Enqueue has a letter written and sent; false when too many wait.
	Enqueue(write mail.Write) bool
}

// Credits is what a member has used of this month's allowance.
type Credits struct{ Used, Allowance int }

// Config is what the pages need. BaseURL, Store, Data and Catalog are required.
type Config struct {
	// BaseURL is the public address of the service, without a slash at the end.
	// Cookies are for https only when it is; http is for localhost and tests.
	BaseURL string
	Store   Store
	// Data returns what one member keeps.
	Data    func(owner tenant.ID) TenantData
	Catalog *catalog.Catalog
	// SignUpOpen lets people make an account by themselves.
	SignUpOpen bool
	// SessionLifetime is how long a browser stays signed in; 0 means 14 days.
	SessionLifetime time.Duration
	// Login bounds attempts at a password, by address and by account; nil means
	// session.DefaultLogin, a quota of 0 switches it off.
	Login *session.RatePolicy
	// PasswordCost is what the hash of a password takes. The zero value, the
	// default, is right for members' passwords; tests choose less.
	PasswordCost password.Cost
	// Provider is where members may sign in instead of here; nil offers none.
	Provider Provider
	// Mailer sends letters. Nil: nobody is asked to prove an address, and forgotten
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
	Imports func(owner tenant.ID) Imports
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
		c.Login = new(session.DefaultLogin())
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
