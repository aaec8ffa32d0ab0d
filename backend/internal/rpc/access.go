package rpc

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/authn"
	"connectrpc.com/connect"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/demo"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/proto/catalog"
	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"
)

// The headers between edge and backend, besides Authorization.
const (
	// HeaderServiceToken carries the service credential.
	HeaderServiceToken = "Kith-Service-Token"
	// HeaderCredentialID is a response header with the stable id of the caller's credential.
	HeaderCredentialID = "Kith-Credential-Id"
	// HeaderRequestID carries the request id of the edge.
	HeaderRequestID = "Kith-Request-Id"
	// HeaderSandboxVisitor marks a call from the sandbox's paths. It carries the
	// visitor's address bucket.
	HeaderSandboxVisitor = "Kith-Sandbox-Visitor"
)

// Reasons of a refusal, in kith.access.v1.Refusal.
const (
	reasonMissingScope = "missing_scope"
	reasonReadOnly     = "read_only_account"
	reasonToolLimit    = "limited_to_tools"
	reasonPaused       = "agent_paused"
)

// Authorizer decides who may call which RPC, before the request is read.
type Authorizer struct {
	rpcs    *catalog.Catalog
	bearers *db.DB
	service ServiceCredential
	used    func(credentialID string, at time.Time)
	now     func() time.Time
	errors  *translator
	// refuse returns the error to send for a refusal, and stores it if the call has a key.
	refuse func(ctx context.Context, h http.Header, rule *catalog.RPC, p *tenant.Principal, refused *connect.Error) error
}

// authenticate implements authn.AuthFunc.
func (a *Authorizer) authenticate(ctx context.Context, r *http.Request) (info any, err error) {
	defer func() {
		if err != nil {
			lineOf(ctx).end(err)
		}
	}()
	if !a.service.Trusted(r) {
		// The member's credential is not at fault, so the error must not say so: an agent
		// would drop the credential.
		return nil, connect.NewError(connect.CodeUnavailable, errors.New(missingService))
	}
	procedure, _ := authn.InferProcedure(r.URL)
	rule, known := a.rpcs.Procedure(procedure)
	if !known || rule.Access == catalog.AccessAnonymous {
		return nil, nil // an unknown procedure has no handler
	}
	p, err := a.principal(ctx, r)
	if err != nil {
		return nil, a.errors.translate(ctx, err)
	}
	lineOf(ctx).principal = p
	if refused := permit(rule, p); refused != nil {
		return nil, a.refuse(WithRequestID(ctx, r.Header), r.Header, rule, p, refused)
	}
	return p, nil
}

func (a *Authorizer) principal(ctx context.Context, r *http.Request) (*tenant.Principal, error) {
	bearer, ok := authn.BearerToken(r)
	if !ok || bearer == "" || len(r.Header.Values("Authorization")) != 1 {
		return nil, fault.New(fault.Unauthenticated, "send a bearer token in the Authorization header")
	}
	p, err := oauth.Authenticate(ctx, a.bearers, bearer)
	if err != nil {
		return nil, err
	}
	// The demo account's token is public: outside the sandbox, everyone could use it to call
	// what is for members only. The sandbox must never show a member's data.
	if fromSandbox := r.Header.Get(HeaderSandboxVisitor) != ""; p.Credential.ID == demo.TokenID && !fromSandbox || fromSandbox && !p.ReadOnly {
		return nil, fault.New(fault.Unauthenticated, "the sandbox's token works on the sandbox's paths, and no other token does there")
	}
	a.used(p.Credential.ID, a.now())
	return p, nil
}

// permit checks that the RPC's rule lets the principal call it.
func permit(rule *catalog.RPC, p *tenant.Principal) *connect.Error {
	if p.Credential.Paused && rule.Tool != nil {
		return refusal("the member has paused this agent, and nothing was done; ask them to resume it, on the settings page for agents",
			&accessv1.Refusal{Reason: reasonPaused})
	}
	if rule.Writes && p.ReadOnly {
		return refusal("this account is read-only: nothing can be written here", &accessv1.Refusal{Reason: reasonReadOnly, RequiredScopes: rule.Scopes})
	}
	if !rule.WithinLimit(p.Credential.Tools) {
		return refusal("the token is limited to other tools: "+strings.Join(p.Credential.Tools, ", "),
			&accessv1.Refusal{Reason: reasonToolLimit, AllowedTools: p.Credential.Tools})
	}
	if len(rule.Missing(p.Credential.Scopes)) > 0 {
		return refusal("the credential lacks a scope that this call needs", &accessv1.Refusal{Reason: reasonMissingScope, RequiredScopes: rule.Scopes})
	}
	return nil
}

func refusal(message string, why *accessv1.Refusal) *connect.Error {
	err := connect.NewError(connect.CodePermissionDenied, errors.New(message))
	if detail, detailErr := connect.NewErrorDetail(why); detailErr == nil {
		err.AddDetail(detail)
	}
	return err
}

// wrap guards a handler. It puts the authenticated principal into the handler's context,
// and the id of its credential and its placement into response headers.
func (a *Authorizer) wrap(next http.Handler, options ...connect.HandlerOption) http.Handler {
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p, ok := authn.GetInfo(r.Context()).(*tenant.Principal); ok {
			w.Header().Set(HeaderCredentialID, p.Credential.ID)
			w.Header().Set(tenant.HeaderPlacement, p.Tenant.Placement())
			r = r.WithContext(tenant.WithPrincipal(r.Context(), p))
		}
		next.ServeHTTP(w, r)
	})
	return authn.NewMiddleware(a.authenticate, options...).Wrap(inner)
}

// ServiceCredential recognises the edge and internal callers.
type ServiceCredential struct{ sums [][sha256.Size]byte }

// NewServiceCredential returns the check for service tokens: the present one, and the previous one while it is
// replaced. Empty tokens are none. Without a token, only client certificates are accepted.
func NewServiceCredential(tokens ...string) (c ServiceCredential) {
	for _, token := range tokens {
		if token != "" {
			c.sums = append(c.sums, sha256.Sum256([]byte(token)))
		}
	}
	return c
}

// Trusted reports whether the request carries the service credential or a verified
// client certificate.
func (c ServiceCredential) Trusted(r *http.Request) bool {
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return true
	}
	given := sha256.Sum256([]byte(r.Header.Get(HeaderServiceToken)))
	known := 0
	for _, sum := range c.sums {
		known |= subtle.ConstantTimeCompare(given[:], sum[:])
	}
	return known == 1
}

// Guard protects handlers that are not RPCs: it lets only trusted callers through.
func (c ServiceCredential) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.Trusted(r) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, missingService, http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

const missingService = "the service credential is missing or wrong: send it as " + HeaderServiceToken
