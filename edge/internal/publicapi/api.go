package publicapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"

	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// Backend is what the public reads need of the backend. Errors are *upstream.Error.
type Backend interface {
	// BatchGetProfiles reads public profiles; members without one are left out.
	BatchGetProfiles(ctx context.Context, usernames ...string) ([]*directoryv1.Profile, error)
	// ListMembers reads a page of the directory.
	ListMembers(context.Context, *directoryv1.ListMembersRequest) (*directoryv1.ListMembersResponse, error)
}

// Options are what the public reads work with. All but CacheTTL and Now are required.
type Options struct {
	Backend  Backend
	Problems *problem.Writer
	Logger   *slog.Logger
	// BaseURL is the public address, without a slash at the end.
	BaseURL string
	// CacheTTL is how long a rendered profile is remembered; 0 remembers none.
	CacheTTL time.Duration
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// API holds the handlers. It is safe for concurrent use.
type API struct {
	options  Options
	profiles *profileReader
}

// New returns the handlers. It fails if a required option is missing.
func New(o Options) (*API, error) {
	if o.Backend == nil || o.Problems == nil || o.Logger == nil || o.BaseURL == "" {
		return nil, errors.New("build public reads: backend, problems, logger and base URL are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &API{options: o, profiles: newProfileReader(o)}, nil
}

// ProfileURL is the public address of a member's profile.
func ProfileURL(baseURL, username string) string { return baseURL + "/api/human/" + username }

// fail answers a failed call of the backend. Fields of an invalid request are
// told; what an unforeseen error says is for the log.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err *upstream.Error) {
	switch err.Kind {
	case upstream.Invalid:
		a.options.Problems.Write(w, r, problem.InvalidParameter, "A query parameter is not valid.", fieldsOf(err)...)
		return
	case upstream.Unavailable:
		a.logError(r, err)
		a.options.Problems.Write(w, r, problem.Unavailable, "Please try again in a moment.")
	default:
		a.logError(r, err)
		a.options.Problems.Write(w, r, problem.Internal, "The error was logged under the id of this request.")
	}
}

func (a *API) logError(r *http.Request, err error) {
	upstream.LogFailure(r.Context(), a.options.Logger, err)
}

func fieldsOf(err *upstream.Error) []problem.Field {
	var fields []problem.Field
	for _, f := range err.Fields {
		fields = append(fields, problem.Field{Field: f.Path, Message: f.Message})
	}
	if len(fields) == 0 {
		fields = append(fields, problem.Field{Field: "cursor", Message: err.Message})
	}
	return fields
}
