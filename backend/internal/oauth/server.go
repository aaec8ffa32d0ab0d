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

// Config configures the authorization server.
type Config struct {
	// Issuer is the public address of the service, without a slash at the end.
	Issuer string
	Store  *db.DB
	// Keys stores the responses to registrations with an Idempotency-Key.
	Keys     *idempotency.Keys
	Sessions Sessions
	Pages    Pages
	Catalog  *catalog.Catalog
	// AccessLifetime is how long a new access token works, RefreshIdle how long a
	// refresh token may stay unused.
	AccessLifetime, RefreshIdle time.Duration
	// RememberClients is how long a client is cached; 0 disables the cache.
	RememberClients time.Duration
	// AllowPrivateSchemes lets clients register redirect URIs like cursor://….
	AllowPrivateSchemes bool
	// ClientAddress returns the address that a request comes from. It is the scope of
	// the idempotency keys of registrations. Nil: the address is unknown.
	ClientAddress func(r *http.Request) string
	// Documents fetches client ID metadata documents; nil: clients have to register.
	Documents *clientdoc.Fetcher
	// Events records which clients members grant access to; nil records nothing.
	Events *account.EventRecorder
	Now    func() time.Time
	Logger *slog.Logger
}

// Sessions finds the browser's login session.
type Sessions interface {
	// Current returns the live session of a request, or nil if there is none.
	Current(r *http.Request) (*account.LoginSession, error)
	// SignIn returns the address at which a browser without a session signs in; it
	// comes back to returnTo, a path of this service.
	SignIn(returnTo string) string
	// Confirm returns the address at which the member of a session proves again who they are;
	// it comes back to returnTo, a path of this service.
	Confirm(returnTo string) string
	// MustEnroll returns the address at which the member of a session has to set up a second
	// factor before anything else; empty if they need not.
	MustEnroll(login *account.LoginSession) string
}

// Pages renders the pages of the authorization flow.
type Pages interface {
	// Consent asks the member whether the client may have the scopes, or asks again if
	// the view contains an error.
	Consent(w http.ResponseWriter, r *http.Request, view ConsentView)
	// Problem shows an error to a person; it never redirects.
	Problem(w http.ResponseWriter, r *http.Request, status int, title, text string)
	// Refused shows the error of a request to a browser without a session, with a link to the
	// address signIn, after which the error is sent to the client.
	Refused(w http.ResponseWriter, r *http.Request, text, signIn string)
}

// ConsentView is what a consent page shows and sends back.
type ConsentView struct {
	// Request is the secret of this page's request, sent back in the form.
	Request string
	// Username is the member whose access is requested.
	Username string
	// Locale is the member's, as a BCP 47 tag.
	Locale string
	// ClientName is the name that the client gives itself; it is not verified.
	ClientName string
	// DocumentURL is where the client's metadata was fetched; empty for a registered
	// client.
	DocumentURL string
	// RedirectURI is where the response will be sent.
	RedirectURI string
	// FirstSeen is when this service first heard of the client.
	FirstSeen time.Time
	// Scopes are the requested scopes, Ticked those that are chosen so far.
	Scopes, Ticked []string
	// Presets are the presets to choose from, Preset the one that is chosen so far.
	Presets []Preset
	Preset  Preset
	// Days is how many days the access is chosen to last so far; 0 means until it is
	// revoked.
	Days int
	// AskFirst is set if the member is to be asked first before some acts, so far.
	AskFirst bool
	// Mistake says what is wrong with the last answer; empty if there was none. Field is
	// the field of the form that it concerns: scope, preset or days.
	Mistake, Field string
	// Address is a path of this service that repeats the same request.
	Address string
}

// Server serves the endpoints.
type Server struct {
	Config

	tokens    http.Handler
	clients   *clients
	documents *documents // nil without Config.Documents
}

// New builds the server.
func New(c Config) *Server {
	s := &Server{Config: c, clients: newClients(c.Store, c.RememberClients, c.Now), documents: newDocuments(c)}
	endpoints := op.Endpoints{
		Token:      op.NewEndpoint(PathToken[1:]),
		Revocation: op.NewEndpoint(PathRevoke[1:]),
	}
	s.tokens = op.RegisterServer(&protocol{server: s}, endpoints, op.WithServerCORSOptions(nil))
	return s
}

// Mount registers the endpoints on a mux.
func (s *Server) Mount(mux *http.ServeMux) {
	mux.HandleFunc("GET "+PathMetadata, s.metadata)
	mux.HandleFunc("POST "+PathRegister, s.register)
	mux.HandleFunc("GET "+PathAuthorize, s.authorize)
	mux.HandleFunc("GET "+PathConsent, func(w http.ResponseWriter, r *http.Request) {
		s.Pages.Problem(w, r, http.StatusOK, "This page was answered", "Start again at the application: it leads you back here.")
	})
	mux.HandleFunc("POST "+PathConsent, s.consent)
	mux.Handle("POST "+PathToken, strictForm(s.tokens))
	mux.Handle("POST "+PathRevoke, strictForm(s.revokeWithoutClient(s.tokens)))
}

// client returns a client from the store, or fault.NotFound. An invalid id is not
// looked up, because some bytes cause database errors.
func (s *Server) client(ctx context.Context, clientID string) (*Client, error) {
	if IsDocumentURL(clientID) {
		return s.clients.get(ctx, clientID)
	}
	return s.registered(ctx, clientID)
}

// registered returns a registered client, or fault.NotFound.
func (s *Server) registered(ctx context.Context, clientID string) (*Client, error) {
	if !id.Valid(id.Client, clientID) {
		return nil, notRegistered()
	}
	return s.clients.get(ctx, clientID)
}

func notRegistered() error { return fault.New(fault.NotFound, "the client is not registered") }

// address returns the bucket of the address that a request comes from; empty if
// unknown.
func (s *Server) address(r *http.Request) string {
	if s.ClientAddress == nil {
		return ""
	}
	return account.AddressBucket(s.ClientAddress(r))
}

// pair generates a new pair of tokens: what to store, and what to send.
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

// fail logs an outage or a bug; its text is only for the log.
func (s *Server) fail(ctx context.Context, what string, err error) {
	s.Logger.ErrorContext(ctx, what, "error", err)
}

// document is authorization server metadata (RFC 8414 §2).
type document struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	ScopesSupported       []string `json:"scopes_supported"`
	ResponseTypes         []string `json:"response_types_supported"`
	ResponseModes         []string `json:"response_modes_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	TokenAuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethods []string `json:"revocation_endpoint_auth_methods_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	ResponseIss           bool     `json:"authorization_response_iss_parameter_supported"`
	ClientDocuments       bool     `json:"client_id_metadata_document_supported"`
	Documentation         string   `json:"service_documentation"`
}

func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Cache-Control", "public, max-age=300")
	writeJSON(w, http.StatusOK, document{
		Issuer: s.Issuer, AuthorizationEndpoint: s.Issuer + PathAuthorize, TokenEndpoint: s.Issuer + PathToken,
		RegistrationEndpoint: s.Issuer + PathRegister, RevocationEndpoint: s.Issuer + PathRevoke,
		ScopesSupported: s.Catalog.Scopes(), ResponseTypes: responseTypes(), ResponseModes: []string{"query"},
		GrantTypes: grantTypes(), TokenAuthMethods: []string{"none"}, RevocationAuthMethods: []string{"none"},
		ChallengeMethods: []string{"S256"}, ResponseIss: true, ClientDocuments: s.documents != nil, Documentation: s.Issuer + "/mcp/docs",
	})
}
