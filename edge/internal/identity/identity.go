package identity

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"google.golang.org/protobuf/types/known/timestamppb"

	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"

	"github.com/kith-crm/kith/edge/internal/bearer"
	"github.com/kith-crm/kith/edge/internal/content"
	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/publicapi"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// The values of type.
const (
	typeAnonymous   = "anonymous"
	typeServiceAuth = "service_auth"
)

// maxBody bounds the request body, in bytes.
const maxBody = 4 << 10

// Backend tells what a bearer stands for.
type Backend interface {
	// GetPrincipal fails with an *upstream.Error of Kind Unauthenticated for a dead bearer.
	GetPrincipal(ctx context.Context, token string) (*accessv1.GetPrincipalResponse, error)
}

// Options are what the endpoint needs. All are required.
type Options struct {
	Backend  Backend
	Problems *problem.Writer
	Logger   *slog.Logger
	BaseURL  string
	// Routes are the paths that are served; those without a credential are the
	// capabilities of an anonymous agent.
	Routes []route.Route
}

// Endpoint serves POST /agent/identity.
type Endpoint struct {
	options      Options
	capabilities []capability
	challenge    string
}

// New returns the endpoint.
func New(o Options) *Endpoint {
	e := &Endpoint{options: o, challenge: bearer.Challenge(o.BaseURL + route.ResourcePrefix + route.PathMCPCurrent)}
	for _, r := range o.Routes {
		if r.Anonymous && (r.Batchable || r.HandlerName() == route.Batch || r.SandboxOnly && r.SameAs == "") {
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

// held is the answer to an agent that holds a member's access.
type held struct {
	Type   string     `json:"type"`
	Member memberJSON `json:"member"`
	Client clientJSON `json:"client"`
	Scopes []string   `json:"scopes"`
	// Tools are those that the credential is limited to; absent when it is not.
	Tools      []string   `json:"tools,omitempty"`
	Credential credential `json:"credential"`
}

type memberJSON struct {
	Username string `json:"username"`
	URL      string `json:"url"`
}

// clientJSON is the OAuth client as it is registered, or the personal token.
type clientJSON struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type credential struct {
	Kind      string  `json:"kind"`
	ExpiresAt *string `json:"expires_at"`
}

// Serve implements route.Handler.
func (e *Endpoint) Serve(w http.ResponseWriter, r *http.Request, _ string) {
	w.Header().Set("Cache-Control", "no-store")
	var request struct {
		Type *string `json:"type"`
	}
	if !content.ReadJSON(w, r, e.options.Problems, maxBody, &request) {
		return
	}
	if request.Type == nil {
		e.options.Problems.Write(w, r, problem.MalformedRequest, `Send a JSON object with one member, "type".`,
			problem.Field{Field: "type", Message: "is required"})
		return
	}
	switch *request.Type {
	case typeAnonymous:
		e.write(w, r, e.anonymous(r))
	case typeServiceAuth:
		if strings.HasPrefix(r.URL.Path, route.SandboxPrefix+"/") {
			e.options.Problems.Write(w, r, problem.UnsupportedIdentityType, `In the sandbox nobody holds a member's access: the type is "anonymous".`,
				problem.Field{Field: "type", Message: `must be "anonymous"`})
			return
		}
		e.serveHeld(w, r)
	default:
		e.options.Problems.Write(w, r, problem.UnsupportedIdentityType, `The types are "anonymous" and "service_auth".`,
			problem.Field{Field: "type", Message: `must be "anonymous" or "service_auth"`})
	}
}

func (e *Endpoint) anonymous(r *http.Request) anonymous {
	return anonymous{
		ID: exchange.RequestID(r.Context()), Type: typeAnonymous, RegistrationType: typeAnonymous,
		Scopes: noScopes{PreClaim: []string{}, PostClaim: []string{}}, Capabilities: e.capabilities,
		AuthorizationServer: e.options.BaseURL, ResourceMetadata: e.options.BaseURL + route.ResourcePrefix,
	}
}

func (e *Endpoint) serveHeld(w http.ResponseWriter, r *http.Request) {
	given := bearer.Read(r.Header)
	if given.Token == "" {
		e.refuse(w, r, given.Presented)
		return
	}
	p, err := e.options.Backend.GetPrincipal(r.Context(), given.Token)
	switch failure := upstream.AsError(err); {
	case failure == nil:
		exchange.FromContext(r.Context()).Recognise(p.GetCredentialId())
		e.write(w, r, held{
			Type:   typeServiceAuth,
			Member: memberJSON{Username: p.GetUsername(), URL: publicapi.ProfileURL(e.options.BaseURL, p.GetUsername())},
			Client: clientJSON{ID: cmp.Or(p.GetClientId(), p.GetCredentialId()), Name: p.GetCredentialName()}, Scopes: p.GetScopes(), Tools: p.GetTools(),
			Credential: credential{Kind: p.GetCredentialKind(), ExpiresAt: expiry(p.GetExpiresAt())},
		})
	case failure.Kind == upstream.Unauthenticated:
		e.refuse(w, r, true)
	case failure.Kind == upstream.Unavailable:
		e.log(r, failure)
		e.options.Problems.Write(w, r, problem.Unavailable, "Please try again in a moment.")
	default:
		e.log(r, failure)
		e.options.Problems.Write(w, r, problem.Internal, "The error was logged under the id of this request.")
	}
}

// refuse asks for a live bearer.
func (e *Endpoint) refuse(w http.ResponseWriter, r *http.Request, presented bool) {
	challenge := e.challenge
	if presented {
		challenge += bearer.InvalidToken
	}
	w.Header().Set("WWW-Authenticate", challenge)
	e.options.Problems.Write(w, r, problem.Unauthenticated, "service_auth needs a live bearer token.")
}

func (e *Endpoint) log(r *http.Request, err error) {
	upstream.LogFailure(r.Context(), e.options.Logger, err)
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
		e.log(r, err)
		e.options.Problems.Write(w, r, problem.Internal, "The error was logged under the id of this request.")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // the caller may be gone
}
