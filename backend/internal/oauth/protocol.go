package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// protocol is the op.Server behind the token and revocation endpoints.
type protocol struct {
	op.UnimplementedServer

	server *Server
}

// client describes an OAuth client to op: its id and what it may use.
type client struct {
	op.Client // op calls no other methods for a public client

	record *Client
}

func (c client) GetID() string               { return c.record.ID }
func (c client) AuthMethod() oidc.AuthMethod { return oidc.AuthMethodNone }
func (c client) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken}
}

// VerifyClient implements op.Server: an unknown client gets 400 invalid_client.
func (p *protocol) VerifyClient(ctx context.Context, r *op.Request[op.ClientCredentials]) (op.Client, error) {
	record, err := p.server.client(ctx, r.Data.ClientID)
	if fault.Is(err, fault.NotFound) {
		return nil, invalidClient("the client is not registered here: register again")
	}
	if err != nil {
		return nil, p.outage(ctx, "read client", err)
	}
	return client{record: record}, nil
}

// outage is the response to any internal error. It must not be a 4xx: clients delete
// their credentials on those.
func (p *protocol) outage(ctx context.Context, what string, err error) error {
	p.server.fail(ctx, what, err)
	status := http.StatusInternalServerError
	if fault.Is(db.Coded(err), fault.Unavailable) { // a connection may break while rows are read
		status = http.StatusServiceUnavailable
	}
	return op.NewStatusError(oidc.ErrServerError().WithDescription("something went wrong on our side; try again shortly"), status)
}

// invalidClient is a 400, as the specification requires; op would send 401.
func invalidClient(text string) error {
	return op.NewStatusError(oidc.ErrInvalidClient().WithDescription("%s", text), http.StatusBadRequest)
}

func invalidGrant(text string) error { return oidc.ErrInvalidGrant().WithDescription("%s", text) }

// CodeExchange implements op.Server: the grant_type authorization_code.
func (p *protocol) CodeExchange(ctx context.Context, r *op.ClientRequest[oidc.AccessTokenRequest]) (*op.Response, error) {
	if err := p.server.checkResource(r.PostForm); err != nil {
		return nil, err
	}
	hash := Hash(r.Data.Code)
	code, err := GetCode(ctx, p.server.Store, hash)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, invalidGrant("the code is unknown")
	case err != nil:
		return nil, p.outage(ctx, "read code", err)
	case code.ClientID != r.Client.GetID():
		return nil, invalidGrant("the code belongs to another client")
	case code.RedirectURI != r.Data.RedirectURI:
		return nil, invalidGrant("redirect_uri is not the one of the authorization request")
	case !VerifyChallenge(code.CodeChallenge, r.Data.CodeVerifier):
		return nil, invalidGrant("code_verifier does not belong to the code_challenge")
	}
	pair, access, refresh, err := p.server.pair()
	if err != nil {
		return nil, p.outage(ctx, "generate tokens", err)
	}
	g, err := RedeemCode(ctx, p.server.Store, hash, pair)
	if fault.Is(err, fault.Conflict) {
		if g != nil {
			p.recordRevoked(ctx, g.MemberID, code.ClientID)
		}
		return nil, invalidGrant("the code was used already or has expired")
	}
	if err != nil {
		return nil, p.outage(ctx, "redeem code", err)
	}
	return op.NewResponse(p.tokens(access, refresh, g.Scopes, g.ExpiresAt)), nil
}

// RefreshToken implements op.Server: the grant_type refresh_token. A scope narrows the
// new access token (RFC 6749 §6); the grant keeps its own scopes.
func (p *protocol) RefreshToken(ctx context.Context, r *op.ClientRequest[oidc.RefreshTokenRequest]) (*op.Response, error) {
	if unknown := p.server.checkResource(r.PostForm); unknown != nil {
		// After a change of the base URL, clients go on with the resource that their grant is for.
		resource, err := GetResource(ctx, p.server.Store, Hash(r.Data.RefreshToken), r.Client.GetID())
		switch {
		case fault.Is(err, fault.NotFound), err == nil && resource != r.PostForm.Get("resource"):
			return nil, unknown
		case err != nil:
			return nil, p.outage(ctx, "read grant", err)
		}
	}
	pair, access, refresh, err := p.server.pair()
	if err != nil {
		return nil, p.outage(ctx, "generate tokens", err)
	}
	scopes, err := ParseScopes(r.PostForm.Get("scope"), p.server.Catalog.Scopes())
	if err != nil {
		return nil, oidc.ErrInvalidScope().WithDescription("%s", err)
	}
	pair.Scopes = strings.Join(scopes, " ")
	answer := func(g *Grant) *oidc.AccessTokenResponse {
		scopes := pair.Scopes
		if scopes == "" {
			scopes = g.Scopes
		}
		return p.tokens(access, refresh, scopes, g.ExpiresAt)
	}
	once, err := refreshOnce(r, answer)
	if err != nil {
		return nil, oidc.ErrInvalidRequest().WithDescription("%s", err)
	}
	g, repeated, err := RotateRefreshToken(ctx, p.server.Store, Hash(r.Data.RefreshToken), r.Client.GetID(), pair, once)
	switch {
	case fault.Is(err, fault.Invalid):
		return nil, oidc.ErrInvalidScope().WithDescription("%s", err)
	case errors.Is(err, ErrPaused): // not invalid_grant, at which clients drop their tokens
		return nil, &oidc.Error{ErrorType: codeAccessDenied, Description: "the member has paused this agent: ask them to resume it, on the settings page for agents"}
	case fault.Is(err, fault.Conflict):
		if g != nil {
			p.recordRevoked(ctx, g.MemberID, r.Client.GetID())
		}
		return nil, invalidGrant("the refresh token is unknown, expired, revoked or was used before")
	case err != nil:
		return nil, p.outage(ctx, "rotate refresh token", err)
	case repeated != nil:
		return &op.Response{Header: http.Header{headerReplayed: {"true"}}, Data: json.RawMessage(repeated)}, nil
	}
	return op.NewResponse(answer(g)), nil
}

// refreshOnce returns how the answer to a refresh is kept; nil for a request without an
// Idempotency-Key. It fails with a text for the caller if the key is not valid.
func refreshOnce(r *op.ClientRequest[oidc.RefreshTokenRequest], answer func(*Grant) *oidc.AccessTokenResponse) (*RefreshOnce, error) {
	name, err := readKey(r.Header)
	if name == "" || err != nil {
		return nil, err
	}
	return NewRefreshOnce(name, r.PostForm, func(g *Grant) ([]byte, error) { return json.Marshal(answer(g)) })
}

// tokens is the answer with a new pair; end is the end of the grant, or zero.
func (p *protocol) tokens(access, refresh, scopes string, end time.Time) *oidc.AccessTokenResponse {
	lifetime := p.server.AccessLifetime
	if !end.IsZero() {
		lifetime = max(0, min(lifetime, end.Sub(p.server.Now())))
	}
	return &oidc.AccessTokenResponse{
		AccessToken: access, TokenType: oidc.BearerToken, RefreshToken: refresh,
		ExpiresIn: uint64(lifetime / time.Second), Scope: strings.Fields(scopes),
	}
}

// Revocation implements op.Server: 200 whether or not the token was live (RFC 7009
// §2.2). Both tokens of the grant are revoked, whatever the hint says. A personal token belongs to no
// client, so any client may revoke it.
func (p *protocol) Revocation(ctx context.Context, r *op.ClientRequest[oidc.RevocationRequest]) (*op.Response, error) {
	if strings.HasPrefix(r.Data.Token, account.Prefix) {
		if err := p.server.revokeBearer(ctx, r.Data.Token); err != nil {
			return nil, p.outage(ctx, "revoke personal token", err)
		}
		return op.NewResponse(struct{}{}), nil
	}
	owner, err := RevokeToken(ctx, p.server.Store, Hash(r.Data.Token), r.Client.GetID())
	if err != nil {
		return nil, p.outage(ctx, "revoke token", err)
	}
	if owner != "" {
		p.recordRevoked(ctx, owner, r.Client.GetID())
	}
	return op.NewResponse(struct{}{}), nil
}

// revokeBearer revokes a personal token.
func (s *Server) revokeBearer(ctx context.Context, bearer string) error {
	t, err := RevokeBearer(ctx, s.Store, account.HashSecret(bearer))
	if err == nil && t != nil {
		s.Events.Record(ctx, account.SecurityEvent{Kind: account.AccessRevoked, TenantID: t.MemberID, ObjectID: t.ID})
	}
	return err
}

// revokeWithoutClient revokes a personal token for a caller that names no client: scripts that use
// such a token have none. All other requests go to next.
func (s *Server) revokeWithoutClient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.PostForm.Get("token")
		if r.PostForm.Has("client_id") || !strings.HasPrefix(token, account.Prefix) {
			next.ServeHTTP(w, r)
			return
		}
		if err := s.revokeBearer(r.Context(), token); err != nil {
			s.fail(r.Context(), "revoke personal token", err)
			writeJSON(w, http.StatusServiceUnavailable, oauthError{"server_error", "something went wrong on our side; try again shortly"})
			return
		}
		writeJSON(w, http.StatusOK, struct{}{})
	})
}

// recordRevoked records that a client lost its access to a member's account.
func (p *protocol) recordRevoked(ctx context.Context, owner tenant.ID, clientID string) {
	p.server.Events.Record(ctx, account.SecurityEvent{Kind: account.AccessRevoked, TenantID: owner, ObjectID: clientID})
}

// checkResource rejects a resource of another service (RFC 8707 §2). All our resources
// are one: a token for either MCP path works on both.
func (s *Server) checkResource(form url.Values) error {
	for _, resource := range form["resource"] {
		if !s.isResource(resource) {
			return &oidc.Error{ErrorType: "invalid_target", Description: "the resource is not one of this service"}
		}
	}
	return nil
}

// isResource reports whether a resource is one of this service, in any case of scheme and host, and
// with or without a slash at the end.
func (s *Server) isResource(resource string) bool {
	u, err := url.Parse(resource)
	if err != nil || u.User != nil || strings.ContainsAny(resource, "?#") {
		return false
	}
	path, ok := strings.CutPrefix(u.Scheme+"://"+strings.ToLower(u.Host)+u.EscapedPath(), strings.ToLower(s.Issuer))
	return ok && slices.Contains([]string{"", "/mcp", "/mcp/v1", "/mcp/v1/me", "/mcp/v1/research"}, strings.TrimSuffix(path, "/"))
}
