package upstream_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"

	"github.com/kith-crm/kith/edge/internal/backendtest"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

const (
	search   = "/kith.connections.v1.ConnectionService/SearchConnections"
	read     = "/kith.connections.v1.ConnectionService/GetConnection"
	timeline = "/kith.timeline.v1.TimelineService/ListTimeline"
	create   = "/kith.connections.v1.ConnectionService/CreateConnection"
)

func newClient(t *testing.T, transport http.RoundTripper) *upstream.Client {
	t.Helper()
	c, err := upstream.New(upstream.Options{
		BaseURL: "http://backend", Transport: transport, ServiceToken: backendtest.ServiceToken,
		Procedures: []string{search, read, timeline, create},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// transportFunc is a function as an http.RoundTripper.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answers returns a transport that always gives the same answer.
func answers(status int, contentType, body string) transportFunc {
	return func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.WriteString(body)
		return w.Result(), nil
	}
}

func TestCallToolPassesBytesThrough(t *testing.T) {
	t.Parallel()
	sent := `{"query" : "a", "z":1.50,"u":"\u00e9"}`
	answer := "{\"hits\": [ ], \"x\":1e2}"
	var got string
	var header http.Header
	c := newClient(t, transportFunc(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		got, header = string(body), r.Header.Clone()
		return answers(http.StatusOK, "application/json", answer)(r)
	}))
	ctx := requestlog.NewContext(t.Context(), &requestlog.Event{RequestID: "req_1"})
	a, err := c.CallTool(ctx, upstream.ToolCall{Procedure: search, Bearer: "tok", Arguments: []byte(sent)})
	if err != nil {
		t.Fatal(err)
	}
	if got != sent || string(a.Body) != answer {
		t.Errorf("sent %s, answered %s", got, a.Body)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer tok", "Kith-Service-Token": backendtest.ServiceToken, "Kith-Request-Id": "req_1",
		"Content-Type": "application/json", "Content-Encoding": "", "Accept-Encoding": "identity",
	} {
		if header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, header.Get(name), want)
		}
	}
	if header.Get("Connect-Timeout-Ms") == "" {
		t.Error("the call has no deadline")
	}
}

func TestCallToolReceipt(t *testing.T) {
	t.Parallel()
	c := newClient(t, backendtest.New().Transport())
	a, err := c.CallTool(t.Context(), upstream.ToolCall{Procedure: search, Bearer: backendtest.TokenAll, Arguments: []byte(`{"query":"zoe"}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := upstream.Receipt{
		CredentialID: "tok_all", Metered: true, Charged: 1, Remaining: 999, ResetsAt: "2026-12-01T00:00:00Z",
	}
	if diff := cmp.Diff(want, a.Receipt); diff != "" {
		t.Error(diff)
	}
	c = newClient(t, answers(http.StatusOK, "application/json", "{}"))
	if a, err = c.CallTool(t.Context(), upstream.ToolCall{Procedure: search, Bearer: "x", Arguments: []byte("{}")}); err != nil || a.Receipt != (upstream.Receipt{}) {
		t.Errorf("without headers: %+v, %v", a.Receipt, err)
	}
}

func TestCallToolErrors(t *testing.T) {
	t.Parallel()
	c := newClient(t, backendtest.New().Transport())
	for name, test := range map[string]struct {
		procedure, token, arguments string
		want                        upstream.Error
	}{
		"revoked bearer": {
			search, "dead", `{"query":"a"}`,
			upstream.Error{Kind: upstream.Unauthenticated, Message: "the credential is not valid"},
		},
		"missing scope": {
			timeline, backendtest.TokenReader, `{}`,
			upstream.Error{
				Kind: upstream.Refused, Message: "refused", Reason: "missing_scope", RequiredScopes: []string{"timeline"},
			},
		},
		"read-only account": {
			create, backendtest.TokenSandbox, `{}`,
			upstream.Error{
				Kind: upstream.Refused, Message: "refused", Reason: "read_only_account",
				RequiredScopes: []string{"connections", "write"},
			},
		},
		"violation": {
			search, backendtest.TokenAll, `{}`,
			upstream.Error{
				Kind: upstream.Invalid, Message: "query must not be empty",
				Fields: []upstream.Field{{Path: "query", Message: "query must not be empty"}},
			},
		},
		"not found": {
			read, backendtest.TokenAll, `{}`,
			upstream.Error{Kind: upstream.ToolFailed, Message: "no connection has this id"},
		},
		"out of credits": {
			search, backendtest.TokenAll, `{"query":"` + backendtest.QueryBroke + `"}`,
			upstream.Error{
				Kind:    upstream.Exhausted,
				Message: "out of credits: 1000 of 1000 used this month; they reset at 2026-12-01T00:00:00Z",
			},
		},
		"internal error of the backend": {
			search, backendtest.TokenAll, `{"query":"` + backendtest.QueryBroken + `"}`,
			upstream.Error{Kind: upstream.Internal},
		},
		"refusal without a reason": {
			search, backendtest.TokenAll, `{"query":"` + backendtest.QueryRefused + `"}`,
			upstream.Error{Kind: upstream.Refused, Message: "nothing can be written here", Reason: "refused"},
		},
		"procedure that is not implemented": {
			timeline, backendtest.TokenAll, `{}`,
			upstream.Error{Kind: upstream.Internal},
		},
		"procedure that does not exist": {
			"/kith.X/Y", backendtest.TokenAll, `{}`,
			upstream.Error{Kind: upstream.Internal},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			toolCall := upstream.ToolCall{Procedure: test.procedure, Bearer: test.token, Arguments: []byte(test.arguments)}
			if test.token == backendtest.TokenSandbox {
				toolCall.Visitor = "192.0.2.1"
			}
			_, err := c.CallTool(t.Context(), toolCall)
			got, ok := errors.AsType[*upstream.Error](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(test.want, *got, cmp.Comparer(sameError)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// sameError compares all but the cause and the receipt.
func sameError(a, b upstream.Error) bool {
	return a.Kind == b.Kind && a.Message == b.Message && a.Reason == b.Reason &&
		cmp.Equal(a.RequiredScopes, b.RequiredScopes) && cmp.Equal(a.Fields, b.Fields)
}

func TestReads(t *testing.T) {
	t.Parallel()
	backend := backendtest.New()
	c := newClient(t, backend.Transport())
	ctx := requestlog.NewContext(t.Context(), &requestlog.Event{RequestID: "req_2"})
	if profiles, err := c.BatchGetProfiles(ctx, "amara", "nobody"); err != nil || len(profiles) != 1 {
		t.Errorf("BatchGetProfiles: %v, %v", profiles, err)
	}
	page, err := c.ListMembers(ctx, &directoryv1.ListMembersRequest{})
	if err != nil || !page.GetHasMore() {
		t.Errorf("ListMembers: %v, %v", page, err)
	}
	if s, err := c.GetSandbox(ctx); err != nil || !s.GetSeeded() {
		t.Errorf("GetSandbox: %v, %v", s, err)
	}
	if p, err := c.GetPrincipal(ctx, backendtest.TokenReader); err != nil || p.GetCredentialId() != "tok_reader" {
		t.Errorf("GetPrincipal: %v, %v", p, err)
	}
	if p, err := c.GetPrincipal(ctx, "dead"); p != nil || upstream.AsError(err).Kind != upstream.Unauthenticated {
		t.Errorf("GetPrincipal of a revoked bearer: %v, %v", p, err)
	}
	for _, h := range backend.Requests() {
		if h.Get("Kith-Service-Token") != backendtest.ServiceToken || h.Get("Kith-Request-Id") != "req_2" ||
			h.Get("Content-Type") != "application/proto" {
			t.Errorf("headers %v", h)
		}
	}
}

func TestNewRefusesAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "backend", "ftp://backend", "http://", "http://a:b@c", "http://a/b", "http://a?b", ":"} {
		if _, err := upstream.New(upstream.Options{BaseURL: address}); err == nil {
			t.Errorf("address %q is accepted", address)
		}
	}
}

func TestAsError(t *testing.T) {
	t.Parallel()
	if upstream.AsError(nil) != nil {
		t.Error("nil is an error")
	}
	cause := connect.NewError(connect.CodeNotFound, errors.New("x"))
	if e := upstream.AsError(cause); e.Kind != upstream.Internal || !errors.Is(e, cause) {
		t.Errorf("a foreign error is %v", e)
	}
}
