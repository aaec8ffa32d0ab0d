package backendtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"
	accountv1 "github.com/kith-crm/kith/proto/gen/kith/account/v1"
	connectionsv1 "github.com/kith-crm/kith/proto/gen/kith/connections/v1"
	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
	remindersv1 "github.com/kith-crm/kith/proto/gen/kith/reminders/v1"
	researchv1 "github.com/kith-crm/kith/proto/gen/kith/research/v1"
	sandboxv1 "github.com/kith-crm/kith/proto/gen/kith/sandbox/v1"
	sunsetv1 "github.com/kith-crm/kith/proto/gen/kith/sunset/v1"

	"github.com/kith-crm/kith/proto/gen/kith/account/v1/accountv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/connections/v1/connectionsv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/reminders/v1/remindersv1connect"
	"github.com/kith-crm/kith/proto/gen/kith/research/v1/researchv1connect"
)

// Queries of search_connections that the fake answers in a special way.
const (
	QueryBroke   = "out of credits"
	QueryBroken  = "internal fault"
	QueryRefused = "late refusal"
	QueryAsked   = "asks first"
)

// asked is the error of a call that waits for the member's decision.
func asked() error {
	err := connect.NewError(connect.CodeFailedPrecondition, errors.New("approval_needed: this needs the approval of the member"))
	if detail, detailErr := connect.NewErrorDetail(&accessv1.Approval{
		TaskId: 12, DecideUrl: "https://kith.example/decide", ExpiresAt: timestamppb.New(time.Date(2026, 12, 3, 9, 0, 0, 0, time.UTC)),
	}); detailErr == nil {
		err.AddDetail(detail)
	}
	return err
}

type connections struct {
	connectionsv1connect.UnimplementedConnectionServiceHandler
}

// SearchConnections finds one person, whatever the query.
func (connections) SearchConnections(
	_ context.Context, r *connectionsv1.SearchConnectionsRequest,
) (*connectionsv1.SearchConnectionsResponse, error) {
	switch r.GetQuery() {
	case "":
		return nil, invalid("query", "query must not be empty")
	case QueryBroke:
		return nil, connect.NewError(connect.CodeResourceExhausted,
			errors.New("out of credits: 1000 of 1000 used this month; they reset at 2026-12-01T00:00:00Z"))
	case QueryBroken:
		return nil, connect.NewError(connect.CodeInternal, errors.New("database password is hunter2"))
	case QueryAsked:
		return nil, asked()
	case QueryRefused:
		return nil, connect.NewError(connect.CodePermissionDenied, errors.New("nothing can be written here"))
	}
	return &connectionsv1.SearchConnectionsResponse{
		Hits: []*connectionsv1.ConnectionHit{{
			Id: "con_kf924hj974", Name: "Zoë \"Zed\" Ångström", Headline: `Engineer \ Kilo`,
			Organization: "Kilo", Score: 0.5, MatchedFields: []string{"name"}, Snippet: "line one\nline two",
		}},
		ModeUsed: "keyword",
	}, nil
}

// GetConnection finds no connection.
func (connections) GetConnection(
	context.Context, *connectionsv1.GetConnectionRequest,
) (*connectionsv1.GetConnectionResponse, error) {
	return nil, connect.NewError(connect.CodeNotFound, errors.New("no connection has this id"))
}

type reminders struct {
	remindersv1connect.UnimplementedReminderServiceHandler
}

// ListDue has nothing.
func (reminders) ListDue(context.Context, *remindersv1.ListDueRequest) (*remindersv1.ListDueResponse, error) {
	return &remindersv1.ListDueResponse{Today: "2026-11-22"}, nil
}

type research struct {
	researchv1connect.UnimplementedResearchServiceHandler
}

// Search finds one person, whatever the query.
func (research) Search(context.Context, *researchv1.SearchRequest) (*researchv1.SearchResponse, error) {
	return &researchv1.SearchResponse{Results: []*researchv1.Result{
		{Id: "con_1", Title: "Zoë Ångström: Engineer", Url: "https://kith.example/people/con_1"},
	}}, nil
}

type accounts struct {
	accountv1connect.UnimplementedAccountServiceHandler
}

// GetAccount describes the caller.
func (accounts) GetAccount(ctx context.Context, _ *accountv1.GetAccountRequest) (*accountv1.GetAccountResponse, error) {
	p, _ := ctx.Value(principalKey{}).(*accessv1.GetPrincipalResponse)
	return &accountv1.GetAccountResponse{
		Member:     &accountv1.Member{Username: p.GetUsername()},
		Credential: &accountv1.Credential{Id: p.GetCredentialId(), Scopes: p.GetScopes()},
	}, nil
}

type access struct{ *Backend }

// GetPrincipal describes the caller.
func (access) GetPrincipal(ctx context.Context, _ *accessv1.GetPrincipalRequest) (*accessv1.GetPrincipalResponse, error) {
	p, _ := ctx.Value(principalKey{}).(*accessv1.GetPrincipalResponse)
	return p, nil
}

// RefuseCall fails with the error that it is given.
func (access) RefuseCall(_ context.Context, r *accessv1.RefuseCallRequest) (*accessv1.RefuseCallResponse, error) {
	err := connect.NewError(connect.CodeInvalidArgument, errors.New(r.GetError().GetMessage()))
	detail, detailErr := connect.NewErrorDetail(r.GetError())
	if detailErr != nil {
		return nil, detailErr
	}
	err.AddDetail(detail)
	return nil, err
}

type directory struct{ *Backend }

// BatchGetProfiles finds those of Backend.Profiles.
func (d directory) BatchGetProfiles(
	_ context.Context, r *directoryv1.BatchGetProfilesRequest,
) (*directoryv1.BatchGetProfilesResponse, error) {
	response := &directoryv1.BatchGetProfilesResponse{}
	for _, p := range d.Profiles {
		if slices.ContainsFunc(r.GetUsernames(), func(u string) bool { return strings.EqualFold(u, p.GetUsername()) }) {
			response.Profiles = append(response.Profiles, p)
		}
	}
	return response, nil
}

// ListMembers lists all public profiles. Only the cursor "next" is valid; its page is empty.
func (d directory) ListMembers(
	_ context.Context, r *directoryv1.ListMembersRequest,
) (*directoryv1.ListMembersResponse, error) {
	switch {
	case r.GetCursor() == "next":
		return &directoryv1.ListMembersResponse{}, nil
	case r.Cursor != nil:
		return nil, invalid("cursor", "cursor: it is not a cursor of this list")
	default:
		return &directoryv1.ListMembersResponse{Members: d.Profiles, HasMore: true, NextCursor: new("next")}, nil
	}
}

type sunset struct{ *Backend }

// AnnounceSunset records the sunset. It is refused with Backend.RefuseSunset unless that is empty.
func (s sunset) AnnounceSunset(_ context.Context, r *sunsetv1.AnnounceSunsetRequest) (*sunsetv1.AnnounceSunsetResponse, error) {
	if s.RefuseSunset != "" {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New(s.RefuseSunset))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.announced = append(s.announced, r.GetRoute()+" "+r.GetSunsetAt().AsTime().Format(time.DateOnly))
	return &sunsetv1.AnnounceSunsetResponse{FirstAnnouncedAt: timestamppb.Now()}, nil
}

type sandbox struct{ *Backend }

// GetSandbox reports whether the demo account exists.
func (s sandbox) GetSandbox(context.Context, *sandboxv1.GetSandboxRequest) (*sandboxv1.GetSandboxResponse, error) {
	return &sandboxv1.GetSandboxResponse{Seeded: !s.Unseeded, Username: SandboxUsername, Connections: 200}, nil
}

// invalid returns the backend's error for one field.
func invalid(field, message string) error {
	failure := connect.NewError(connect.CodeInvalidArgument, errors.New(message))
	detail, err := connect.NewErrorDetail(&validate.Violations{Violations: []*validate.Violation{{
		Field:   &validate.FieldPath{Elements: []*validate.FieldPathElement{{FieldName: new(field)}}},
		Message: new(message),
	}}})
	if err != nil {
		return err
	}
	failure.AddDetail(detail)
	return failure
}
