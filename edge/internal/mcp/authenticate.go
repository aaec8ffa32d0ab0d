package mcp

import (
	"context"
	"net/http"

	"github.com/kith-crm/kith/edge/internal/bearer"
	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// authenticate lets the call pass, or says why not. A tool call's bearer is left
// to the tool call itself: the backend checks it with the call, at no cost.
func (e *endpoint) authenticate(r *http.Request, c *call) *failure {
	ctx := r.Context()
	if e.mount.Policy == DemoAccount {
		c.visitor = e.options.ClientBucket(r)
		c.bearer = bearer.Bearer{Token: e.mount.Token}
		exchange.FromContext(ctx).Demo = true
		return nil
	}
	runsTool := c.kind == request && c.method == methodCallTool
	switch {
	case !c.bearer.Presented && (runsTool || e.mount.Policy == BearerAlways):
		return &failure{
			status: http.StatusUnauthorized, code: codeUnauthorized, challenge: challengeMissing,
			message: "A bearer token is needed.",
		}
	case !c.bearer.Presented:
		return nil
	case c.bearer.Token == "":
		return deadBearer()
	case runsTool:
		return nil
	default:
		return e.checkBearer(ctx, c)
	}
}

// checkBearer asks the backend whether the call's bearer is alive.
func (e *endpoint) checkBearer(ctx context.Context, c *call) *failure {
	principal, err := e.options.Backend.GetPrincipal(ctx, c.bearer.Token)
	if err != nil {
		return e.backendFailure(ctx, upstream.AsError(err))
	}
	c.principal = principal
	exchange.FromContext(ctx).Recognise(principal.GetCredentialId())
	return nil
}

// backendFailure is the answer to a failure of the backend that is not a tool's.
// Only a bearer that the backend itself calls dead is one: whatever else were
// answered with a 401 would make clients throw good tokens away.
func (e *endpoint) backendFailure(ctx context.Context, err *upstream.Error) *failure {
	e.logBackend(ctx, err)
	switch {
	case err.Kind == upstream.Unauthenticated && e.mount.Policy != DemoAccount:
		exchange.FromContext(ctx).Dead = true
		return deadBearer()
	case err.Kind == upstream.Unauthenticated:
		return unavailable("The demo account is not ready yet.")
	case err.Kind == upstream.Unavailable:
		return unavailable("The service is not available right now.")
	default:
		return &failure{
			status: http.StatusInternalServerError, code: codeInternal,
			message: "Something went wrong on our side; the request id is " + exchange.RequestID(ctx) + ".",
		}
	}
}

// logBackend keeps the cause of what the caller is not told.
func (e *endpoint) logBackend(ctx context.Context, err *upstream.Error) {
	if err.Kind != upstream.Internal && err.Kind != upstream.Unavailable {
		return
	}
	upstream.LogFailure(ctx, e.options.Logger, err)
}

func deadBearer() *failure {
	return &failure{
		status: http.StatusUnauthorized, code: codeUnauthorized, challenge: challengeInvalid,
		message: "The bearer token is expired, revoked or unknown.",
	}
}

func unavailable(message string) *failure {
	return &failure{status: http.StatusServiceUnavailable, code: codeInternal, message: message}
}
