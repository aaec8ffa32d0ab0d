package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"

	"github.com/kith-crm/kith/observability/metrics"
	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/bearer"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// Backend is what the endpoint needs of the backend. Errors are *upstream.Error.
type Backend interface {
	// CallTool runs a tool's procedure for the bearer.
	CallTool(ctx context.Context, call upstream.ToolCall) (upstream.Answer, error)
	// GetPrincipal tells what a live bearer stands for.
	GetPrincipal(ctx context.Context, token string) (*accessv1.GetPrincipalResponse, error)
}

// Options are what the endpoint works with. Catalog, Backend, BaseURL, Logger and
// ClientBucket are required.
type Options struct {
	Catalog *catalog.Catalog
	Backend Backend
	Logger  *slog.Logger
	// BaseURL is the public address, without a slash at the end.
	BaseURL string
	// Version of the service, as initialize tells it.
	Version string
	// AllowedOrigins are web origins that may call besides the service's own; "*" allows all.
	AllowedOrigins []string
	// Loopback says that the listener is reachable from this machine only. Host
	// is then checked, against DNS rebinding.
	Loopback bool
	// ClientBucket says where a request comes from, as the limits by address count
	// it. It tells the callers of the sandbox apart, who share a credential.
	ClientBucket func(r *http.Request) string
	// Observe, if set, is called once for each tool call. An unknown tool has no name.
	Observe func(ctx context.Context, tool string, outcome metrics.Outcome, d time.Duration)
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// Policy says whose credential a mount takes.
type Policy uint8

const (
	// BearerForCalls needs a bearer for tools/call only. One that is sent with
	// another method must be alive all the same.
	BearerForCalls Policy = iota
	// BearerAlways needs a bearer for every method.
	BearerAlways
	// DemoAccount calls with the mount's own token. The caller's is not looked at.
	DemoAccount
)

// Mount is one path under which the server answers.
type Mount struct {
	// Path is the public path. The metadata of the resource is found under it.
	Path   string
	Policy Policy
	// Token is the demo account's, for the policy DemoAccount.
	Token string
}

// Dispatcher is the MCP server; Handler mounts it. It is safe for concurrent use.
type Dispatcher struct {
	options Options
	tools   *toolList
	gate    gate
	pool    scratchPool
}

// New returns a dispatcher. It fails if a required option is missing.
func New(o Options) (*Dispatcher, error) {
	if o.Catalog == nil || o.Backend == nil || o.Logger == nil || o.BaseURL == "" || o.ClientBucket == nil {
		return nil, errors.New("build MCP server: catalogue, backend, logger, base URL and client bucket are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Observe == nil {
		o.Observe = func(context.Context, string, metrics.Outcome, time.Duration) {}
	}
	tools, err := newToolList(o.Catalog)
	if err != nil {
		return nil, err
	}
	return &Dispatcher{options: o, tools: tools, gate: newGate(o)}, nil
}

// Handler returns the handler of one mount.
func (d *Dispatcher) Handler(m Mount) route.Handler {
	e := &endpoint{
		Dispatcher:     d,
		mount:          m,
		challenge:      bearer.Challenge(d.options.BaseURL + route.ResourcePrefix + m.Path),
		greeting:       newGreeting(d.options, m.Policy == DemoAccount),
		anonymousTools: d.tools.all(),
	}
	if m.Policy == DemoAccount {
		e.anonymousTools = d.tools.forScopes(nil, readScopes(d.options.Catalog), nil)
	}
	return e.serve
}

// readScopes are the scopes of a credential that may read everything.
func readScopes(c *catalog.Catalog) []string {
	var scopes []string
	for _, scope := range c.Scopes() {
		if !strings.EqualFold(scope, catalog.ScopeWrite) {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}
