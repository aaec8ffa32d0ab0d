package upstream

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"
	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
	sandboxv1 "github.com/kith-crm/kith/proto/gen/kith/sandbox/v1"
	sunsetv1 "github.com/kith-crm/kith/proto/gen/kith/sunset/v1"
)

// GetPrincipal tells what a bearer stands for. A dead one is an *Error of Kind
// Unauthenticated.
func (c *Client) GetPrincipal(ctx context.Context, bearer string) (*accessv1.GetPrincipalResponse, error) {
	ctx, info := connect.NewClientContext(ctx)
	info.RequestHeader()["Authorization"] = []string{"Bearer " + bearer}
	return call(ctx, c.timeout, c.access.GetPrincipal, &accessv1.GetPrincipalRequest{})
}

// BatchGetProfiles reads the public profiles of 1 to 20 usernames. Those without
// one are left out, whatever the reason.
func (c *Client) BatchGetProfiles(ctx context.Context, usernames ...string) ([]*directoryv1.Profile, error) {
	request := &directoryv1.BatchGetProfilesRequest{Usernames: usernames}
	response, err := call(ctx, c.timeout, c.directory.BatchGetProfiles, request)
	return response.GetProfiles(), err
}

// ListMembers reads a page of the directory. A cursor that is none of the
// backend's own is an *Error of Kind Invalid.
func (c *Client) ListMembers(
	ctx context.Context, request *directoryv1.ListMembersRequest,
) (*directoryv1.ListMembersResponse, error) {
	return call(ctx, c.timeout, c.directory.ListMembers, request)
}

// AnnounceSunset tells the backend when the path of a route is removed, and returns
// when its removal was first announced. A date that comes too soon, or that is
// earlier than the one before, is an *Error of Kind Invalid.
func (c *Client) AnnounceSunset(ctx context.Context, route string, at time.Time) (first time.Time, err error) {
	request := &sunsetv1.AnnounceSunsetRequest{Route: route, SunsetAt: timestamppb.New(at)}
	response, err := call(ctx, c.timeout, c.sunset.AnnounceSunset, request)
	return response.GetFirstAnnouncedAt().AsTime(), err
}

// GetSandbox reads the state of the demo account.
func (c *Client) GetSandbox(ctx context.Context) (*sandboxv1.GetSandboxResponse, error) {
	return call(ctx, c.timeout, c.sandbox.GetSandbox, &sandboxv1.GetSandboxRequest{})
}
