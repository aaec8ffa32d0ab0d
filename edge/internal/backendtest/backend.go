package backendtest

import (
	"net/http"
	"sync"

	"connectrpc.com/connect"

	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"
	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"

	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/proto/gen/kith/access/v1/accessv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/account/v1/accountv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/connections/v1/connectionsv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/directory/v1/directoryv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/reminders/v1/remindersv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/research/v1/researchv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/sandbox/v1/sandboxv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/sunset/v1/sunsetv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/timeline/v1/timelinev1connect"
)

// The valid tokens.
const (
	// TokenAll has every scope.
	TokenAll = "kith_pat_all"
	// TokenReader has the scopes connections and account.
	TokenReader = "kith_pat_reader"
	// TokenGrant belongs to an OAuth client and has the scope connections.
	TokenGrant = "kith_at_grant"
	// TokenChatGPT is TokenGrant for ChatGPT, which its metadata document identifies.
	TokenChatGPT = "kith_at_chatgpt"
	// TokenLimited has every scope and is limited to search_connections.
	TokenLimited = "kith_pat_limited"
	// TokenSandbox belongs to the demo account.
	TokenSandbox = "kith_pat_sandbox"
	// ServiceToken is the service credential of the edge.
	ServiceToken = "service-secret"
)

// SandboxUsername is the username of the demo account.
const SandboxUsername = "demo"

// Backend is a fake backend. Set its fields before the first call.
type Backend struct {
	// Unseeded removes the demo account, so its token is not valid.
	Unseeded bool
	// Profiles are the public profiles.
	Profiles []*directoryv1.Profile
	// RefuseSunset is the reason with which every sunset is refused; "" refuses none.
	RefuseSunset string

	mu        sync.Mutex
	fault     error
	requests  []http.Header
	announced []string // routes and their sunsets
	handler   http.Handler
}

// New returns a backend with two public profiles.
func New() *Backend { return &Backend{Profiles: people()} }

// Fail makes every call fail with err from now on, before anything is checked;
// nil ends that. An error that is not Connect's breaks the connection.
func (b *Backend) Fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault = err
}

// Requests returns the headers of the calls so far.
func (b *Backend) Requests() []http.Header {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]http.Header(nil), b.requests...)
}

// Announced returns the sunsets that were announced so far, as "route date".
func (b *Backend) Announced() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.announced...)
}

func (b *Backend) principal(token string) *accessv1.GetPrincipalResponse {
	switch {
	case token == TokenAll:
		return &accessv1.GetPrincipalResponse{Username: "amara", Timezone: "Pacific/Kiritimati", Today: "2026-11-22", CredentialId: "tok_all", CredentialKind: "token", Scopes: allScopes()}
	case token == TokenGrant:
		return &accessv1.GetPrincipalResponse{
			Username: "amara", Timezone: "Pacific/Kiritimati", Today: "2026-11-22", CredentialId: "grt_1", CredentialKind: "oauth", CredentialName: "Claude", ClientId: "cli_1", Scopes: []string{"connections"},
		}
	case token == TokenChatGPT:
		return &accessv1.GetPrincipalResponse{
			Username: "amara", Timezone: "Pacific/Kiritimati", Today: "2026-11-22", CredentialId: "grt_2", CredentialKind: "oauth", CredentialName: "ChatGPT",
			ClientId: "https://chatgpt.com/oauth/kith/client.json", Scopes: []string{"connections"},
		}
	case token == TokenReader:
		return &accessv1.GetPrincipalResponse{
			Username: "amara", Timezone: "Pacific/Kiritimati", Today: "2026-11-22", CredentialId: "tok_reader", CredentialKind: "token", Scopes: []string{"connections", "account"},
		}
	case token == TokenLimited:
		return &accessv1.GetPrincipalResponse{
			Username: "amara", Timezone: "Pacific/Kiritimati", Today: "2026-11-22", CredentialId: "tok_limited", CredentialKind: "token", Scopes: allScopes(), Tools: []string{"search_connections"},
		}
	case token == TokenSandbox && !b.Unseeded:
		return &accessv1.GetPrincipalResponse{
			Username: SandboxUsername, CredentialId: "tok_sandbox", CredentialKind: "token", ReadOnly: true,
			Scopes: []string{"connections", "timeline", "account", "directory"},
		}
	default:
		return nil
	}
}

func allScopes() []string {
	c, err := catalog.Load()
	if err != nil {
		return nil
	}
	return c.Scopes()
}

// routes mounts the services.
func (b *Backend) routes() http.Handler {
	mux := http.NewServeMux()
	options := []connect.HandlerOption{connect.WithCodec(jsonCodec{}), connect.WithInterceptors(b.guard())}
	mux.Handle(connectionsv1connect.NewConnectionServiceHandler(connections{}, options...))
	mux.Handle(remindersv1connect.NewReminderServiceHandler(reminders{}, options...))
	mux.Handle(researchv1connect.NewResearchServiceHandler(research{}, options...))
	mux.Handle(timelinev1connect.NewTimelineServiceHandler(timelinev1connect.UnimplementedTimelineServiceHandler{}, options...))
	mux.Handle(accountv1connect.NewAccountServiceHandler(accounts{}, options...))
	mux.Handle(accessv1connect.NewAccessServiceHandler(access{b}, options...))
	mux.Handle(directoryv1connect.NewPublicDirectoryServiceHandler(directory{b}, options...))
	mux.Handle(sandboxv1connect.NewSandboxServiceHandler(sandbox{b}, options...))
	mux.Handle(sunsetv1connect.NewSunsetServiceHandler(sunset{b}, options...))
	return mux
}
