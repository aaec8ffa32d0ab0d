package sandboxmount

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	sandboxv1 "github.com/kith-crm/kith/proto/gen/kith/sandbox/v1"

	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// Backend tells the state of the demo account. Errors are *upstream.Error.
type Backend interface {
	GetSandbox(context.Context) (*sandboxv1.GetSandboxResponse, error)
}

// Limit is a rate policy that applies in the sandbox.
type Limit struct {
	Policy string
	Quota  int
	Window int // seconds
}

// Options are what the description is made of. All but Requests and Limits are
// required.
type Options struct {
	Backend  Backend
	Problems *problem.Writer
	Logger   *slog.Logger
	BaseURL  string
	// Username of the demo account.
	Username string
	// Routes are the rows that the server serves.
	Routes []route.Route
	// Requests are what a visitor can try.
	Requests []Request
	Limits   []Limit
}

// Index serves the description. It is safe for concurrent use.
type Index struct {
	backend  Backend
	problems *problem.Writer
	logger   *slog.Logger
	rest     []byte // the body after "seeded", the same for every request
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
	return &Index{backend: o.Backend, problems: o.Problems, logger: o.Logger, rest: rest[1:]}, nil
}

// Serve answers with the description and the state of the demo account now.
func (x *Index) Serve(w http.ResponseWriter, r *http.Request, _ string) {
	state, err := x.backend.GetSandbox(r.Context())
	if err != nil {
		x.fail(w, r, upstream.AsError(err))
		return
	}
	body := append([]byte(`{"object":"sandbox","seeded":`), strconv.FormatBool(state.GetSeeded())...)
	body = append(append(body, ','), x.rest...)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the caller may be gone
	}
}

func (x *Index) fail(w http.ResponseWriter, r *http.Request, err *upstream.Error) {
	upstream.LogFailure(r.Context(), x.logger, err)
	if err.Kind == upstream.Unavailable {
		x.problems.Write(w, r, problem.Unavailable, "Please try again in a moment.")
		return
	}
	x.problems.Write(w, r, problem.Internal, "The error was logged under the id of this request.")
}
