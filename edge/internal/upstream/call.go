package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/observability/metrics"
	"github.com/kith-crm/kith/proto/connectheader"
	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"
	"github.com/kith-crm/kith/proto/gen/kith/access/v1/accessv1connect"
	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
	sandboxv1 "github.com/kith-crm/kith/proto/gen/kith/sandbox/v1"
	sunsetv1 "github.com/kith-crm/kith/proto/gen/kith/sunset/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// call makes one typed call within the timeout and classifies its error. The
// answer is nil if there is an error.
func call[Request, Response any](
	ctx context.Context, timeout time.Duration,
	method func(context.Context, *Request) (*Response, error), request *Request,
) (*Response, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	response, err := method(ctx, request)
	if err != nil {
		return nil, classify(err)
	}
	return response, nil
}

// GetPrincipal returns the principal of a bearer. For an expired, revoked or unknown bearer it returns
// an *Error of Kind Unauthenticated.
func (c *Client) GetPrincipal(ctx context.Context, bearer string) (*accessv1.GetPrincipalResponse, error) {
	ctx, info := connect.NewClientContext(ctx)
	info.RequestHeader()["Authorization"] = []string{"Bearer " + bearer}
	return call(ctx, c.timeout, c.access.GetPrincipal, &accessv1.GetPrincipalRequest{})
}

// BatchGetProfiles reads the public profiles of 1 to 20 usernames. It leaves out usernames without
// a public profile, whatever the reason.
func (c *Client) BatchGetProfiles(ctx context.Context, usernames ...string) ([]*directoryv1.Profile, error) {
	request := &directoryv1.BatchGetProfilesRequest{Usernames: usernames}
	response, err := call(ctx, c.timeout, c.directory.BatchGetProfiles, request)
	return response.GetProfiles(), err
}

// ListMembers reads a page of the directory. It returns an *Error of Kind Invalid for a cursor that
// the backend did not issue.
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

// Answer is what a tool answered.
type Answer struct {
	// Body is the response message as JSON, exactly as the backend wrote it.
	Body []byte
	// Receipt has the credential and the cost of the call.
	Receipt Receipt
}

// raw is a JSON message that the edge does not decode.
type raw struct {
	data []byte
}

type toolClient = connect.Client[raw, raw]

func newToolClient(caller connect.HTTPClient, address string, options []connect.ClientOption) *toolClient {
	return connect.NewClient[raw, raw](caller, address, append(slices.Clip(options), connect.WithCodec(rawJSON{}))...)
}

// ToolCall is one call of a tool.
type ToolCall struct {
	// Procedure is the tool's procedure, Bearer the caller's token.
	Procedure, Bearer string
	// Arguments are a JSON object. The caller may reuse the bytes when the call returns.
	Arguments []byte
	// Visitor is the address bucket of a sandbox visitor, who calls with the demo account's
	// credential; empty for other callers.
	Visitor string
	// Retry is nil for a call that will not be repeated.
	Retry *Retry
	// ExtraTimeout is added to the timeout, for a tool that can wait before it answers.
	ExtraTimeout time.Duration
}

// WaitTimeout is the ExtraTimeout of a tool that waits: the longest wait that the contract allows.
const WaitTimeout = 20 * time.Second

// Retry makes a call idempotent.
type Retry struct {
	// Key is the caller's Idempotency-Key, unchanged.
	Key string
	// Fingerprint identifies the request: the backend refuses the key with another fingerprint.
	Fingerprint string
}

// CallTool calls a tool. The error is an *Error.
func (c *Client) CallTool(ctx context.Context, call ToolCall) (Answer, error) {
	tool, ok := c.tools[call.Procedure]
	if !ok {
		return Answer{}, &Error{Kind: Internal, cause: fmt.Errorf("call %s: no such procedure", call.Procedure)}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout+call.ExtraTimeout)
	defer cancel()
	if c.known != nil && call.Visitor == "" && !c.known(call.Bearer) {
		if _, err := c.GetPrincipal(ctx, call.Bearer); err != nil {
			return Answer{}, err // the call would fail the same way
		}
	}
	request := connect.NewRequest(&raw{data: call.Arguments})
	h := request.Header()
	h["Authorization"] = []string{"Bearer " + call.Bearer}
	if r := call.Retry; r != nil {
		h[connectheader.IdempotencyKey], h[connectheader.Fingerprint] = []string{r.Key}, []string{r.Fingerprint}
	}
	if call.Visitor != "" {
		h[connectheader.SandboxVisitor] = []string{call.Visitor}
	}
	response, err := tool.CallUnary(ctx, request)
	if err != nil {
		return Answer{}, classify(err)
	}
	return Answer{Body: response.Msg.data, Receipt: newReceipt(response.Header())}, nil
}

// RefuseCall stores the refusal of a call by the edge under the call's idempotency key, call.Retry.
// It returns an *Error that has the refusal. If the key was used before, it returns what CallTool
// would return for it.
func (c *Client) RefuseCall(ctx context.Context, call ToolCall, refusal *accessv1.CallError) (Answer, error) {
	arguments, err := protojson.Marshal(&accessv1.RefuseCallRequest{Error: refusal})
	if err != nil {
		return Answer{}, &Error{Kind: Internal, cause: err}
	}
	call.Procedure, call.Arguments = accessv1connect.AccessServiceRefuseCallProcedure, arguments
	return c.CallTool(ctx, call)
}

// rawJSON is a Connect codec that passes JSON bytes through. It copies them, because both
// sides reuse their buffers.
type rawJSON struct{}

// Name makes Connect send Content-Type: application/json.
func (rawJSON) Name() string { return "json" }

// Marshal returns a copy of the message's bytes.
func (c rawJSON) Marshal(message any) ([]byte, error) { return c.MarshalAppend(nil, message) }

// MarshalAppend appends the message's bytes to b. Connect prefers it to Marshal, whose result
// it would keep in its buffer pool.
func (rawJSON) MarshalAppend(b []byte, message any) ([]byte, error) {
	m, ok := message.(*raw)
	if !ok {
		return nil, fmt.Errorf("marshal raw JSON: got %T", message)
	}
	return append(b, m.data...), nil
}

// Unmarshal copies data into the message.
func (rawJSON) Unmarshal(data []byte, message any) error {
	m, ok := message.(*raw)
	if !ok {
		return fmt.Errorf("unmarshal raw JSON: got %T", message)
	}
	m.data = append(m.data[:0], data...)
	return nil
}

// identify adds the headers of every call: the edge's own credential and the request's id.
func identify(serviceToken string) connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			h := r.Header()
			if serviceToken != "" {
				h[connectheader.ServiceToken] = []string{serviceToken}
			}
			if id := requestlog.RequestID(ctx); id != "" {
				h[connectheader.RequestID] = []string{id}
			}
			return next(ctx, r)
		}
	}
}

// Observe returns a transport that records the time of each call and the caller's member in the event
// of the request. It reports the outcome, as metrics.NewBackend counts it, to observe unless that is nil.
func Observe(transport http.RoundTripper, observe func(outcome string)) http.RoundTripper {
	return observed{transport, observe}
}

type observed struct {
	transport http.RoundTripper
	observe   func(outcome string)
}

// RoundTrip implements http.RoundTripper.
func (o observed) RoundTrip(r *http.Request) (*http.Response, error) {
	start := time.Now()
	response, err := o.transport.RoundTrip(r)
	event := requestlog.FromContext(r.Context())
	event.Await(time.Since(start))
	if err == nil {
		if member := response.Header.Get(connectheader.Placement); member != "" {
			event.Member = member
		}
	}
	switch {
	case o.observe == nil:
	case err == nil:
		o.observe(metrics.BackendAnswered)
	case errors.Is(r.Context().Err(), context.Canceled):
		o.observe(metrics.BackendAbandoned)
	default:
		o.observe(metrics.BackendUnreachable)
	}
	return response, err
}

// doer makes a transport an HTTP client for Connect. An http.Client would add redirects, cookies
// and a Referer, none of which belong in a call.
type doer struct {
	transport http.RoundTripper
}

// Do makes the call.
func (d doer) Do(r *http.Request) (*http.Response, error) { return d.transport.RoundTrip(r) }

// The values of connectheader.Idempotency.
const (
	stateReplayed = "replayed"
	stateInFlight = "in_flight"
	stateReused   = "reused"
)

// Receipt is what the backend returns in the headers of a call: credential, replay and credits.
type Receipt struct {
	// CredentialID is the stable id of the credential, "" if the backend did not send it.
	CredentialID string
	// Replayed is set if this is the stored answer of an earlier call with the same key.
	Replayed bool
	// Metered is set if the backend sent the fields below.
	Metered bool
	// Charged and Remaining are credits.
	Charged, Remaining int
	// ResetsAt is when the allowance is renewed, RFC 3339; "" if the backend did not send it.
	ResetsAt string
}

func newReceipt(h http.Header) Receipt {
	r := Receipt{CredentialID: h.Get(connectheader.CredentialID), Replayed: h.Get(connectheader.Idempotency) == stateReplayed}
	charged, err := strconv.Atoi(h.Get(connectheader.CreditsCharged))
	if err != nil {
		return r
	}
	remaining, err := strconv.Atoi(h.Get(connectheader.CreditsRemaining))
	if err != nil {
		return r
	}
	r.Metered, r.Charged, r.Remaining = true, charged, remaining
	if at, err := time.Parse(time.RFC3339, h.Get(connectheader.CreditsReset)); err == nil {
		r.ResetsAt = at.UTC().Format(time.RFC3339)
	}
	return r
}
