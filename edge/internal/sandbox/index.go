// Package sandbox describes the sandbox at GET /sandbox: whether the demo account exists, which
// paths serve it, their rate limits, and requests to try, each with a curl line that works as
// printed.
//
// Package route decides which routes have a copy under /sandbox. The backend owns the demo
// account, and the sandbox module the requests.
package sandbox

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// Options configure the description. All but Requests and Policies are required.
type Options struct {
	Backend  *upstream.Client
	Problems *httpapi.Problems
	Logger   *slog.Logger
	BaseURL  string
	// Username of the demo account.
	Username string
	// Routes are the live routes.
	Routes []route.Route
	// Requests are what a visitor can try.
	Requests []Request
	// Policies are the rate policies in force.
	Policies []ratelimit.Policy
}

// Index serves the description. It is safe for concurrent use.
type Index struct {
	backend  *upstream.Client
	failures httpapi.BackendErrors
	rest     []byte // the body after "seeded", the same for every request
}

// Routes returns the route of the description. o.Routes is set to the live routes.
func Routes(o Options) []route.Route {
	return []route.Route{{
		Name: "sandbox", Methods: []string{http.MethodGet}, Pattern: route.SandboxPrefix, State: route.Current, Protocol: route.HTTP,
		Anonymous: true, SandboxOnly: true, Summary: "What the sandbox is, whether it is seeded, and requests to try.",
		Build: func(live []route.Route) (route.Handler, error) {
			o.Routes = live
			x, err := New(o)
			if err != nil {
				return nil, err
			}
			return x.Serve, nil
		},
	}}
}

// New returns the handler. It fails if a required option is missing.
func New(o Options) (*Index, error) {
	if o.Backend == nil || o.Problems == nil || o.Logger == nil || o.BaseURL == "" || o.Username == "" {
		return nil, errors.New("build sandbox description: backend, problems, logger, base URL and username are required")
	}
	rest, err := json.Marshal(newDescription(o))
	if err != nil {
		return nil, fmt.Errorf("marshal sandbox description: %w", err)
	}
	return &Index{backend: o.Backend, failures: httpapi.BackendErrors{Errors: o.Problems, Logger: o.Logger}, rest: rest[1:]}, nil
}

// Serve answers with the description and the state of the demo account now.
func (x *Index) Serve(w http.ResponseWriter, r *http.Request, _ string) {
	state, err := x.backend.GetSandbox(r.Context())
	if err != nil {
		x.failures.Write(w, r, err, httpapi.Internal)
		return
	}
	body := append([]byte(`{"object":"sandbox","seeded":`), strconv.FormatBool(state.GetSeeded())...)
	httpapi.WriteJSON(w, r, http.StatusOK, append(append(body, ','), x.rest...))
}
