package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/kith-crm/kith/observability/metrics"
	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// errAnswer is the cause in the log when a tool's answer cannot be passed on.
var errAnswer = errors.New("the backend's answer is no JSON object")

// callTool answers tools/call, and counts it.
func (e *endpoint) callTool(ctx context.Context, out []byte, c *call) ([]byte, *failure) {
	start := e.options.Now()
	rpc, arguments, fault := e.resolve(c)
	name := ""
	if rpc != nil {
		name = rpc.Tool.Name
	}
	var outcome metrics.Outcome
	if fault != nil {
		outcome, fault = e.refuseCall(ctx, c, rpc, fault)
	} else {
		out, outcome, fault = e.runTool(ctx, out, c, rpc, arguments)
	}
	if outcome == metrics.OutcomeUnavailable && errors.Is(ctx.Err(), context.Canceled) {
		outcome = metrics.OutcomeAbandoned // whoever goes away is not let down
	}
	exchange.FromContext(ctx).Note(slog.String("tool", name), slog.String("outcome", outcome.String()))
	e.options.Observe(ctx, name, outcome, e.options.Now().Sub(start))
	return out, fault
}

// resolve finds the tool and its arguments. The procedure is nil if there is no
// such tool.
func (e *endpoint) resolve(c *call) (*catalog.RPC, []byte, *failure) {
	p := c.params
	if p.fault != "" {
		return nil, nil, answerError(codeInvalidParams, p.fault)
	}
	if !isString(p.name) {
		return nil, nil, answerError(codeInvalidParams, "params.name must be the name of a tool.")
	}
	rpc, ok := e.options.Catalog.Tool(unquote(p.name))
	if !ok {
		return nil, nil, answerError(codeInvalidParams, "There is no tool of this name; tools/list has those that are.")
	}
	switch {
	case p.arguments == nil:
		return rpc, []byte("{}"), nil
	case !isObject(p.arguments):
		return rpc, nil, answerError(codeInvalidParams, "params.arguments must be an object.")
	default:
		return rpc, p.arguments, nil
	}
}

// refuseCall answers a call that never reaches the backend. A dead bearer goes
// first: the caller of any method learns of it.
func (e *endpoint) refuseCall(
	ctx context.Context, c *call, rpc *catalog.RPC, fault *failure,
) (metrics.Outcome, *failure) {
	if e.mount.Policy != DemoAccount {
		if f := e.checkBearer(ctx, c); f != nil {
			return outcomeOf(f), f
		}
	}
	if rpc == nil {
		return metrics.OutcomeUnknownTool, fault
	}
	return metrics.OutcomeInvalidArguments, fault
}

// outcomeOf is the outcome of a call that ended before the tool.
func outcomeOf(f *failure) metrics.Outcome {
	switch f.status {
	case http.StatusUnauthorized:
		return metrics.OutcomeUnauthenticated
	case http.StatusServiceUnavailable:
		return metrics.OutcomeUnavailable
	default:
		return metrics.OutcomeInternal
	}
}

// runTool calls the backend and appends what it answered.
func (e *endpoint) runTool(
	ctx context.Context, out []byte, c *call, rpc *catalog.RPC, arguments []byte,
) ([]byte, metrics.Outcome, *failure) {
	request := upstream.ToolCall{Procedure: rpc.Procedure, Bearer: c.bearer.Token, Visitor: c.visitor, Arguments: arguments, Retry: c.retry}
	if rpc.Tool.Waits {
		request.Patience = upstream.Patience
		defer exchange.FromContext(ctx).Suspend()()
	}
	answer, err := e.options.Backend.CallTool(ctx, request)
	if err != nil {
		failed := upstream.AsError(err)
		c.replayed = failed.Receipt.Replayed
		return e.toolFailure(ctx, out, rpc.Tool.Name, failed)
	}
	c.replayed = answer.Receipt.Replayed
	noteCredential(ctx, answer.Receipt)
	head := len(out)
	out, ok := appendToolResult(out, answer)
	if !ok {
		return e.toolFailure(ctx, out[:head], rpc.Tool.Name, upstream.AsError(errAnswer))
	}
	return out, metrics.OutcomeOK, nil
}

// toolFailure decides where a failed call shows: in the result, for the model to
// correct itself; as an error, where trying again is no use; or in the status.
func (e *endpoint) toolFailure(
	ctx context.Context, out []byte, tool string, err *upstream.Error,
) ([]byte, metrics.Outcome, *failure) {
	noteCredential(ctx, err.Receipt)
	switch err.Kind {
	case upstream.Invalid:
		return appendToolError(out, argumentsText(tool, err), err.Receipt), metrics.OutcomeInvalidArguments, nil
	case upstream.ToolFailed:
		return appendToolError(out, sentence(err.Message), err.Receipt), metrics.OutcomeToolError, nil
	case upstream.Exhausted:
		return appendToolError(out, sentence(err.Message), err.Receipt), metrics.OutcomeRefused, nil
	case upstream.Refused:
		return out, metrics.OutcomeRefused, refusedCall(tool, err)
	case upstream.InFlight, upstream.KeyReused:
		return out, metrics.OutcomeRefused, keyFailure(err.Kind)
	case upstream.Internal:
		e.logBackend(ctx, err)
		return appendToolError(out, internalText(ctx, tool), err.Receipt), metrics.OutcomeInternal, nil
	default:
		f := e.backendFailure(ctx, err)
		return out, outcomeOf(f), f
	}
}

func noteCredential(ctx context.Context, receipt upstream.Receipt) {
	if receipt.CredentialID != "" {
		exchange.FromContext(ctx).Recognise(receipt.CredentialID)
	}
}
