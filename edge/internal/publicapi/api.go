// Package publicapi serves the reads that need no credential: a member's public profile, as
// JSON, Markdown and a page for people, and the public directory, as JSON and a page. All forms
// of a profile are made from the same answer of the backend.
//
// Answers have a strong ETag of their bytes, and clients may cache them for a minute. The edge
// caches rendered profiles for about a second, so a popular profile costs the backend one call a
// second.
//
// The package does not decide what is public: the backend leaves out what the member did
// not publish, and members without a public profile altogether. Here an unknown,
// a private and a suspended member are the same 404.
//
// The pages are the same for everyone, signed in or not, so caches may store them like the JSON.
// They share the rate limits of the JSON.
package publicapi

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"time"

	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/page"
	"github.com/kith-crm/kith/edge/internal/ratelimit"
	"github.com/kith-crm/kith/edge/internal/route"
)

// The names of the routes to which documents link.
const (
	RouteProfile = "profile"
	RouteMembers = "members"
)

// The media types of the answers.
const (
	typeJSON     = "application/json"
	typeMarkdown = "text/markdown; charset=utf-8"
)

// Backend has the calls of the public reads. Errors are *upstream.Error.
type Backend interface {
	// BatchGetProfiles reads public profiles; members without one are left out.
	BatchGetProfiles(ctx context.Context, usernames ...string) ([]*directoryv1.Profile, error)
	// ListMembers reads a page of the directory.
	ListMembers(context.Context, *directoryv1.ListMembersRequest) (*directoryv1.ListMembersResponse, error)
}

// Options configure the public reads. All but CacheTTL and Now are required.
type Options struct {
	Backend  Backend
	Problems *httpapi.Problems
	// Pages renders the pages for people, and their errors.
	Pages  *page.Pages
	Logger *slog.Logger
	// BaseURL is the public address, without a slash at the end.
	BaseURL string
	// CacheTTL is how long a rendered profile is cached; 0 caches none.
	CacheTTL time.Duration
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// API holds the handlers. It is safe for concurrent use.
type API struct {
	options Options
	// failures writes errors for programs, pageFailures for people.
	failures, pageFailures httpapi.BackendErrors
	profiles               *profileReader
}

// New returns the handlers. It fails if a required option is missing.
func New(o Options) (*API, error) {
	if o.Backend == nil || o.Problems == nil || o.Pages == nil || o.Logger == nil || o.BaseURL == "" {
		return nil, errors.New("build public reads: backend, problems, pages, logger and base URL are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	profiles, err := newProfileReader(o)
	if err != nil {
		return nil, err
	}
	return &API{
		options: o, profiles: profiles,
		failures: httpapi.BackendErrors{
			Errors: o.Problems, Logger: o.Logger, InvalidDetail: "A query parameter is not valid.", InvalidField: "cursor",
		},
		pageFailures: httpapi.BackendErrors{Errors: o.Pages, Logger: o.Logger},
	}, nil
}

// Routes returns the routes of the public reads.
func (a *API) Routes() []route.Route {
	read := func(name, pattern, policy, summary string, handle route.Handler) route.Route {
		return route.Route{
			Name: name, Methods: []string{http.MethodGet}, Pattern: pattern, State: route.Current, Protocol: route.HTTP,
			Anonymous: true, Batchable: true, RatePolicy: policy, Summary: summary, Handle: handle,
		}
	}
	members := read(RouteMembers, "/api/network/members", ratelimit.PolicyDirectory,
		"A page of the public member directory; parameters q, per_page and cursor.", a.ServeMembers)
	members.Query = []string{"q", "per_page", "cursor"}
	people := func(name, pattern, policy, summary string, handle route.Handler) route.Route {
		r := read(name, pattern, policy, summary, handle)
		r.Protocol, r.Batchable = route.Page, false
		return r
	}
	return []route.Route{
		read(RouteProfile, "/api/human/{username}", ratelimit.PolicyProfile, "A member's public profile as JSON.", a.ServeJSON),
		read("profile-json", "/api/human/{username}.json", ratelimit.PolicyProfile, "The same profile, with an explicit extension.", a.ServeJSON),
		read("profile-markdown", "/api/human/{username}.md", ratelimit.PolicyProfile, "The same profile as Markdown.", a.ServeMarkdown),
		members,
		people("profile-page", "/@{username}", ratelimit.PolicyProfile, "A member's public profile.", a.ServeProfilePage),
		people("members-page", pathMembers, ratelimit.PolicyDirectory, "The members who chose to be listed, with a search.", a.ServeMembersPage),
	}
}

// ProfileURL is the public address of a member's profile.
func ProfileURL(baseURL, username string) string { return baseURL + "/api/human/" + username }

// pathMembers is the path of the directory's page.
const pathMembers = "/members"

// PageURL is the address of a member's profile for people.
func PageURL(baseURL, username string) string { return baseURL + "/@" + username }

// newDocument returns an answer that caches may store for a minute. It links to the same content in
// other media types. header has further headers, and may be nil.
func newDocument(body []byte, contentType string, header http.Header, alternates ...page.Alternate) *httpapi.Document {
	own := http.Header{"Cache-Control": {"public, max-age=60"}, "Link": {page.LinkHeader(alternates...)}}
	maps.Copy(own, header)
	return httpapi.NewDocument(contentType, body, own)
}
