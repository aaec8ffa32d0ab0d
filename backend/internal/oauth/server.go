package oauth

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/idempotency"
	"github.com/kith-crm/kith/backend/internal/oauth/clientdoc"
	"github.com/kith-crm/kith/proto/catalog"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// The paths of the endpoints, below the issuer.
const (
	PathMetadata  = "/.well-known/oauth-authorization-server"
	PathRegister  = "/oauth/register"
	PathAuthorize = "/oauth/authorize"
	PathConsent   = "/oauth/consent"
	PathToken     = "/oauth/token"
	PathRevoke    = "/oauth/revoke"
)

// Config is what the server needs.
type Config struct {
	// Issuer is the public address of the service, without a slash at the end.
	Issuer string
	Store  *db.DB
	// Keys keeps the answers of registrations with an Idempotency-Key.
	Keys     *idempotency.Keys
	Sessions Sessions
	Pages    Pages
	Catalog  *catalog.Catalog
	// AccessLifetime and RefreshIdle are how long a new access token works and
	// how long a refresh token may lie unused.
	AccessLifetime, RefreshIdle time.Duration
	// RememberClients is how long a client that asked is known without asking the
	// store again; 0 remembers none.
	RememberClients time.Duration
	// AllowPrivateSchemes lets clients register redirect URIs like cursor://….
	AllowPrivateSchemes bool
	// ClientAddress says where a request comes from; keyed registrations of one
	// address are told apart by their keys. Nil: nobody knows.
	ClientAddress func(r *http.Request) string
	// Documents fetches client ID metadata documents; nil: clients have to register.
	Documents *clientdoc.Fetcher
	// Events records whom members let in; nil records nothing.
	Events *account.EventRecorder
	Now    func() time.Time
	Logger *slog.Logger
}

// Sessions finds the browser's login session.
type Sessions interface {
	// Current returns the live session of a request, or nil when there is none.
	Current(r *http.Request) (*account.LoginSession, error)
	// SignIn is where a browser without a session goes first; it comes back to
	// returnTo, a path of this service.
	SignIn(returnTo string) string
}

// Pages renders what a person meets on the way.
type Pages interface {
	// Consent asks the member whether the client may have the scopes, or asks again
	// when the view tells of a mistake.
	Consent(w http.ResponseWriter, r *http.Request, view ConsentView)
	// Problem tells a person what went wrong; it never redirects.
	Problem(w http.ResponseWriter, r *http.Request, status int, title, text string)
}

// ConsentView is what a consent page shows and sends back.
type ConsentView struct {
	// Request is the secret of this page's request, sent back in the form.
	Request string
	// Username is whose access is asked for.
	Username string
	// ClientName is what the client calls itself; nobody has checked it.
	ClientName string
	// DocumentURL is where the client's metadata was fetched; empty for a client that
	// registered.
	DocumentURL string
	// RedirectURI is where the answer will be sent.
	RedirectURI string
	// Scopes are the scopes asked for, Ticked those that are chosen so far.
	Scopes, Ticked []string
	// Mistake says what is wrong with the answer before; empty when there was none.
	Mistake string
	// Address is a path of this service that asks for the same once more.
	Address string
}

// Server holds the endpoints.
type Server struct {
	Config

	tokens    http.Handler
	clients   *clients
	documents *documents // nil without Config.Documents
}

// New composes the endpoints.
func New(c Config) *Server {
	s := &Server{Config: c, clients: newClients(c.Store, c.RememberClients, c.Now), documents: newDocuments(c)}
	endpoints := op.Endpoints{
		Token:      op.NewEndpoint(PathToken[1:]),
		Revocation: op.NewEndpoint(PathRevoke[1:]),
	}
	s.tokens = op.RegisterServer(&protocol{server: s}, endpoints, op.WithServerCORSOptions(nil))
	return s
}

// Mount adds the endpoints to a mux.
func (s *Server) Mount(mux *http.ServeMux) {
	mux.HandleFunc("GET "+PathMetadata, s.metadata)
	mux.HandleFunc("POST "+PathRegister, s.register)
	mux.HandleFunc("GET "+PathAuthorize, s.authorize)
	mux.HandleFunc("POST "+PathConsent, s.consent)
	mux.Handle("POST "+PathToken, strictForm(s.tokens))
	mux.Handle("POST "+PathRevoke, strictForm(s.tokens))
}

// client returns a client that is in the store, or fault.NotFound. What is no client's
// id is not asked of the store: there are bytes that a database fails on.
func (s *Server) client(ctx context.Context, clientID string) (*Client, error) {
	if IsDocumentURL(clientID) {
		return s.clients.get(ctx, clientID)
	}
	return s.registered(ctx, clientID)
}

// registered returns a client that registered itself, or fault.NotFound.
func (s *Server) registered(ctx context.Context, clientID string) (*Client, error) {
	if !id.Valid(id.Client, clientID) {
		return nil, notRegistered()
	}
	return s.clients.get(ctx, clientID)
}

func notRegistered() error { return fault.New(fault.NotFound, "the client is not registered") }

// address is the bucket of the address that a request comes from; empty when
// nobody knows.
func (s *Server) address(r *http.Request) string {
	if s.ClientAddress == nil {
		return ""
	}
	return account.AddressBucket(s.ClientAddress(r))
}

// pair generates a new pair of tokens: what to keep, and what to hand out.
func (s *Server) pair() (kept Pair, access, refresh string, err error) {
	if access, err = Generate(PrefixAccessToken); err != nil {
		return kept, "", "", err
	}
	if refresh, err = Generate(PrefixRefreshToken); err != nil {
		return kept, "", "", err
	}
	now := s.Now().UTC()
	kept = Pair{
		AccessHash: Hash(access), RefreshHash: Hash(refresh),
		AccessExpiresAt: now.Add(s.AccessLifetime), RefreshExpiresAt: now.Add(s.RefreshIdle),
	}
	return kept, access, refresh, nil
}

// fail logs an outage or a bug; its text is for the log only.
func (s *Server) fail(ctx context.Context, what string, err error) {
	s.Logger.ErrorContext(ctx, what, "error", err)
}
