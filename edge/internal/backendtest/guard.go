package backendtest

import (
	"context"
	"errors"
	"strings"

	"connectrpc.com/connect"

	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"

	"github.com/kith-crm/kith/proto/catalog"
	"github.com/kith-crm/kith/proto/connectheader"
)

type principalKey struct{}

// guard authenticates callers and checks the scopes that the catalogue requires.
func (b *Backend) guard() connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			if err := b.injected(); err != nil {
				return nil, err
			}
			if r.Header().Get(connectheader.ServiceToken) != ServiceToken {
				return nil, connect.NewError(connect.CodeUnavailable, errors.New("wrong service credential"))
			}
			p, err := b.admit(r)
			if err != nil {
				return nil, err
			}
			if err := keyTaken(r.Header().Get(connectheader.IdempotencyKey)); err != nil {
				return nil, err
			}
			response, err := next(context.WithValue(ctx, principalKey{}, p), r)
			if failure, ok := errors.AsType[*connect.Error](err); ok && r.Header().Get(connectheader.IdempotencyKey) == KeyReplayed {
				failure.Meta().Set(connectheader.Idempotency, "replayed")
			}
			if err == nil && r.Header().Get(connectheader.IdempotencyKey) == KeyReplayed {
				response.Header().Set(connectheader.Idempotency, "replayed")
			}
			if err == nil && p != nil {
				response.Header().Set(connectheader.CredentialID, p.GetCredentialId())
				response.Header().Set(connectheader.CreditsCharged, "1")
				response.Header().Set(connectheader.CreditsRemaining, "999")
				response.Header().Set(connectheader.CreditsReset, "2026-12-01T00:00:00Z")
			}
			return response, err
		}
	}
}

// Idempotency-Keys that the fake answers in a special way.
const (
	KeyInFlight = "in flight"
	KeyReused   = "reused"
	KeyReplayed = "replayed"
)

// keyTaken is the error of a call whose idempotency key is in use by another call.
func keyTaken(key string) error {
	var failure *connect.Error
	switch key {
	case KeyInFlight:
		failure = connect.NewError(connect.CodeAborted, errors.New("in flight"))
		failure.Meta().Set(connectheader.Idempotency, "in_flight")
	case KeyReused:
		failure = connect.NewError(connect.CodeFailedPrecondition, errors.New("reused"))
		failure.Meta().Set(connectheader.Idempotency, "reused")
	default:
		return nil
	}
	return failure
}

func (b *Backend) injected() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fault
}

// admit returns the caller, or nil for an anonymous one.
func (b *Backend) admit(r connect.AnyRequest) (*accessv1.GetPrincipalResponse, error) {
	c, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	rpc, ok := c.Procedure(r.Spec().Procedure)
	if !ok {
		return nil, connect.NewError(connect.CodePermissionDenied, errors.New("not in the catalogue"))
	}
	if rpc.Access == catalog.AccessAnonymous {
		return nil, nil // an anonymous caller
	}
	p := b.principal(strings.TrimPrefix(r.Header().Get("Authorization"), "Bearer "))
	if p == nil {
		return nil, connect.NewError(connect.CodeUnauthenticated, errors.New("the credential is not valid"))
	}
	if sandbox := r.Header().Get(connectheader.SandboxVisitor) != ""; sandbox != p.GetReadOnly() {
		return nil, connect.NewError(connect.CodeUnauthenticated, errors.New("the sandbox's token only works in the sandbox"))
	}
	if p.GetReadOnly() && rpc.Writes {
		return nil, refused(&accessv1.Refusal{Reason: "read_only_account", RequiredScopes: rpc.Scopes})
	}
	if !rpc.WithinLimit(p.GetTools()) {
		return nil, refused(&accessv1.Refusal{Reason: "limited_to_tools", AllowedTools: p.GetTools()})
	}
	if len(rpc.Missing(p.GetScopes())) > 0 {
		return nil, refused(&accessv1.Refusal{Reason: "missing_scope", RequiredScopes: rpc.Scopes})
	}
	return p, nil
}

func refused(why *accessv1.Refusal) error {
	failure := connect.NewError(connect.CodePermissionDenied, errors.New("refused"))
	detail, err := connect.NewErrorDetail(why)
	if err != nil {
		return err
	}
	failure.AddDetail(detail)
	return failure
}
