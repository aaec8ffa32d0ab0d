// Package agentidentity serves POST /agent/identity, with which an agent asks which member's
// access it has, or what it may do without a credential. The endpoint never issues
// credentials: to give access, a member signs in and approves the client.
package agentidentity

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/batch"
	"github.com/kith-crm/kith/edge/internal/bearer"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/publicapi"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// The identity types: the values of type in a request.
const (
	typeAnonymous   = "anonymous"
	typeServiceAuth = "service_auth"
)

// maxBody bounds the request body, in bytes.
const maxBody = 4 << 10

// Options configure the endpoint. All are required.
type Options struct {
	Catalog  *catalog.Catalog
	Backend  *upstream.Client
	Problems *httpapi.Problems
	Logger   *slog.Logger
	BaseURL  string
	// Routes are the live routes. Those that need no credential are the capabilities of an
	// anonymous agent.
	Routes []route.Route
}

// Endpoint serves POST /agent/identity.
type Endpoint struct {
	options      Options
	capabilities []capability
	failures     httpapi.BackendErrors
}

// Routes returns the route of the endpoint. o.Routes is set to the live routes.
func Routes(o Options) []route.Route {
	return []route.Route{{
		Name: "agent-identity", Methods: []string{http.MethodPost}, Pattern: "/agent/identity", State: route.Current, Protocol: route.HTTP,
		Anonymous: true, RatePolicy: ratelimit.PolicyIdentity,
		Summary: "Tells an agent what it may do: without a credential, or with the bearer that it sends.",
		Build: func(live []route.Route) (route.Handler, error) {
			o.Routes = live
			return New(o).Serve, nil
		},
	}}
}

// New returns the endpoint.
func New(o Options) *Endpoint {
	e := &Endpoint{options: o, failures: httpapi.BackendErrors{
		Errors: o.Problems, Logger: o.Logger, NeedsBearer: "service_auth needs a valid bearer token.",
		Challenge: bearer.NewChallenge(o.BaseURL+route.ResourcePrefix+route.PathMCPCurrent, o.Catalog.Scopes()),
	}}
	for _, r := range o.Routes {
		if r.Anonymous && (r.Batchable || r.Original() == batch.RouteBatch || r.SandboxOnly && r.CopyOf == "" && r.Protocol != route.Page) {
			e.capabilities = append(e.capabilities, capability{Method: r.Methods[0], Path: r.Pattern, Summary: r.Summary})
		}
	}
	return e
}

// capability is something that an agent may do.
type capability struct {
	Method  string `json:"method"`
	Path    string `json:"path"`
	Summary string `json:"summary"`
}

// anonymous is the answer to an agent without a credential.
type anonymous struct {
	ID                  string       `json:"id"`
	Type                string       `json:"type"`
	RegistrationType    string       `json:"registration_type"`
	Scopes              noScopes     `json:"scopes"`
	Capabilities        []capability `json:"capabilities"`
	AuthorizationServer string       `json:"authorization_server"`
	ResourceMetadata    string       `json:"resource_metadata"`
	Claim               *string      `json:"claim"`
}

// noScopes says that an anonymous agent has no scopes and can claim none.
type noScopes struct {
	PreClaim  []string `json:"pre_claim"`
	PostClaim []string `json:"post_claim"`
}

// held is the answer to an agent with a member's credential.
type held struct {
	Type   string     `json:"type"`
	Member memberJSON `json:"member"`
	Client clientJSON `json:"client"`
	Scopes []string   `json:"scopes"`
	// Tools are the tools to which the credential is limited; absent if it is not limited.
	Tools      []string   `json:"tools,omitempty"`
	Credential credential `json:"credential"`
}

type memberJSON struct {
	Username string `json:"username"`
	URL      string `json:"url"`
}

// clientJSON is the registered OAuth client, or the personal token.
type clientJSON struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type credential struct {
	Kind string `json:"kind"`
	// ExpiresAt is when the token expires. GrantExpiresAt is when the member's permission ends,
	// also for tokens that are refreshed; absent if it lasts until it is revoked.
	ExpiresAt      *string `json:"expires_at"`
	GrantExpiresAt *string `json:"grant_expires_at,omitempty"`
	// Paused is set while the member has paused the agent: every tool call is refused.
	Paused bool `json:"paused,omitzero"`
}

// Serve implements route.Handler.
func (e *Endpoint) Serve(w http.ResponseWriter, r *http.Request, _ string) {
	w.Header().Set("Cache-Control", "no-store")
	var request struct {
		Type *string `json:"type"`
	}
	if !httpapi.ReadJSON(w, r, e.options.Problems, maxBody, &request) {
		return
	}
	if request.Type == nil {
		e.options.Problems.Write(w, r, httpapi.MalformedRequest, `Send a JSON object with one member, "type".`,
			httpapi.Field{Field: "type", Message: "is required"})
		return
	}
	switch *request.Type {
	case typeAnonymous:
		e.write(w, r, e.anonymous(r))
	case typeServiceAuth:
		if strings.HasPrefix(r.URL.Path, route.SandboxPrefix+"/") {
			e.options.Problems.Write(w, r, httpapi.UnsupportedIdentityType, `The sandbox does not read credentials: send the type "anonymous".`,
				httpapi.Field{Field: "type", Message: `must be "anonymous"`})
			return
		}
		e.serveHeld(w, r)
	default:
		e.options.Problems.Write(w, r, httpapi.UnsupportedIdentityType, `The types are "anonymous" and "service_auth".`,
			httpapi.Field{Field: "type", Message: `must be "anonymous" or "service_auth"`})
	}
}

func (e *Endpoint) anonymous(r *http.Request) anonymous {
	return anonymous{
		ID: requestlog.RequestID(r.Context()), Type: typeAnonymous, RegistrationType: typeAnonymous,
		Scopes: noScopes{PreClaim: []string{}, PostClaim: []string{}}, Capabilities: e.capabilities,
		AuthorizationServer: e.options.BaseURL, ResourceMetadata: e.options.BaseURL + route.ResourcePrefix,
	}
}

func (e *Endpoint) serveHeld(w http.ResponseWriter, r *http.Request) {
	given := bearer.Read(r.Header)
	if given.Token == "" {
		e.failures.WriteUnauthenticated(w, r, given.Presented)
		return
	}
	p, err := e.options.Backend.GetPrincipal(r.Context(), given.Token)
	if err != nil {
		e.failures.Write(w, r, err, httpapi.Internal)
		return
	}
	requestlog.FromContext(r.Context()).SetCredential(p.GetCredentialId())
	e.write(w, r, held{
		Type:   typeServiceAuth,
		Member: memberJSON{Username: p.GetUsername(), URL: publicapi.ProfileURL(e.options.BaseURL, p.GetUsername())},
		Client: clientJSON{ID: cmp.Or(p.GetClientId(), p.GetCredentialId()), Name: p.GetCredentialName()}, Scopes: p.GetScopes(), Tools: p.GetTools(),
		Credential: credential{
			Kind: p.GetCredentialKind(), ExpiresAt: expiry(p.GetExpiresAt()), GrantExpiresAt: expiry(p.GetGrantExpiresAt()), Paused: p.GetPaused(),
		},
	})
}

func expiry(at *timestamppb.Timestamp) *string {
	if at == nil {
		return nil
	}
	return new(at.AsTime().Format(time.RFC3339))
}

func (e *Endpoint) write(w http.ResponseWriter, r *http.Request, answer any) {
	body, err := json.Marshal(answer)
	if err != nil {
		e.failures.Write(w, r, err, httpapi.Internal)
		return
	}
	httpapi.WriteJSON(w, r, http.StatusOK, body)
}
