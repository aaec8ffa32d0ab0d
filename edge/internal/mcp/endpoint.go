package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	accessv1 "github.com/kith-crm/kith/proto/gen/kith/access/v1"

	"github.com/kith-crm/kith/observability/metrics"
	"github.com/kith-crm/kith/proto/catalog"

	"github.com/kith-crm/kith/edge/internal/bearer"
	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/nearest"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// endpoint is the MCP server at one path.
type endpoint struct {
	*Dispatcher

	policy    credentialPolicy
	challenge bearer.Challenge
	research  bool // it has the tools for research alone
}

// call is one JSON-RPC message and what is known about its caller.
type call struct {
	message

	bearer    bearer.Bearer
	narrowing narrowing
	visitor   string                         // the caller's address bucket; only in the sandbox
	principal *accessv1.GetPrincipalResponse // nil unless a bearer was checked
	retry     *upstream.Retry                // nil without an Idempotency-Key
	replayed  bool                           // the answer is the stored one of an earlier call
}

// guard answers a request without a credential, whatever its method is, so that clients that
// probe with a GET sign in too. It reports whether it answered.
func (e *endpoint) guard(w http.ResponseWriter, r *http.Request) bool {
	f := missingBearer()
	if b := bearer.Read(r.Header); b.Token != "" {
		return false
	} else if b.Presented {
		f = deadBearer()
	}
	e.writeFailure(w, r, nil, f)
	return true
}

func (e *endpoint) serve(w http.ResponseWriter, r *http.Request) {
	if f := e.access.check(r); f != nil {
		e.writeFailure(w, r, nil, f)
		return
	}
	body, unread := httpapi.ReadBody(w, r, maxBodyBytes)
	if unread != nil {
		Errors{}.WriteError(w, r, *unread)
		return
	}
	m, fault := decode(body)
	if fault != nil {
		e.writeFailure(w, r, nil, &failure{status: http.StatusBadRequest, code: fault.code, message: fault.message})
		return
	}
	c := &call{message: m, bearer: bearer.Read(r.Header)}
	var f *failure
	if c.retry, f = e.readKey(r, c, body); f != nil {
		e.writeFailure(w, r, nil, f)
		return
	}
	e.serveMessage(w, r, c)
}

func (e *endpoint) serveMessage(w http.ResponseWriter, r *http.Request, c *call) {
	note(r.Context(), c)
	f := checkVersion(r.Header, c)
	if f == nil {
		c.narrowing, f = e.readNarrowing(r.Header)
	}
	if e.research {
		c.narrowing = narrowing{named: true, research: true}
	}
	if f != nil {
		e.writeFailure(w, r, nil, f)
		return
	}
	if f := e.authenticate(r, c); f != nil {
		e.writeFailure(w, r, c.id, f)
		return
	}
	if c.kind != request {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result, f := e.dispatch(r.Context(), c)
	if c.replayed {
		w.Header()["Idempotency-Replayed"] = []string{"true"}
	}
	if f != nil {
		e.writeFailure(w, r, c.id, f)
		return
	}
	httpapi.WriteJSON(w, r, http.StatusOK, resultMessage(c.id, result)...)
}

// note adds the method to the log line if it is a known one, because callers can send any text.
func note(ctx context.Context, c *call) {
	method := "other"
	switch c.method {
	case methodInitialize, methodPing, methodListTools, methodCallTool, methodListPrompts, methodGetPrompt, methodComplete,
		methodListResources, methodListTemplates, methodReadResource:
		method = c.method
	}
	requestlog.FromContext(ctx).Note(slog.String("rpc", method))
}

// dispatch returns the result of a request.
func (e *endpoint) dispatch(ctx context.Context, c *call) (jsontext.Value, *failure) {
	switch c.method {
	case methodInitialize:
		return e.initialize(c)
	case methodPing:
		return jsontext.Value(`{}`), nil
	case methodListTools:
		return e.listTools(c)
	case methodCallTool:
		return e.callTool(ctx, c)
	case methodListPrompts:
		return e.listPrompts(c)
	case methodGetPrompt:
		return e.getPrompt(c)
	case methodComplete:
		return e.complete(c)
	case methodListResources, methodListTemplates:
		return e.listResources(c, c.method == methodListTemplates)
	case methodReadResource:
		return e.readResource(ctx, c)
	default:
		return nil, answerError(codeUnknownMethod, "This server has no such method.")
	}
}

// authenticate returns nil, or the failure of a call without a valid credential. It does not check
// the bearer of tools/call and resources/read, because the backend checks it with the tool call.
func (e *endpoint) authenticate(r *http.Request, c *call) *failure {
	ctx := r.Context()
	if e.policy == demoAccount {
		c.visitor = e.options.ClientBucket(r)
		c.bearer = bearer.Bearer{Token: e.options.DemoToken}
		requestlog.FromContext(ctx).Demo = true
		return nil
	}
	runsTool := c.kind == request && (c.method == methodCallTool || c.method == methodReadResource)
	switch {
	case !c.bearer.Presented && (runsTool || e.policy == bearerAlways):
		return missingBearer()
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

// checkBearer asks the backend whether the call's bearer is valid.
func (e *endpoint) checkBearer(ctx context.Context, c *call) *failure {
	principal, err := e.options.Backend.GetPrincipal(ctx, c.bearer.Token)
	if err != nil {
		return e.backendFailure(ctx, upstream.AsError(err))
	}
	c.principal = principal
	c.narrowing.addResearch(principal)
	requestlog.FromContext(ctx).SetCredential(principal.GetCredentialId())
	return nil
}

// errAnswer is logged when a tool's answer is not valid.
var errAnswer = errors.New("the backend's answer is not a JSON object")

// callTool answers tools/call, and counts it.
func (e *endpoint) callTool(ctx context.Context, c *call) (result jsontext.Value, fault *failure) {
	start := e.options.Now()
	rpc, arguments, fault := e.resolve(ctx, c)
	name := ""
	if rpc != nil {
		name = rpc.Tool.Name
	}
	var outcome metrics.Outcome
	if fault != nil {
		result, outcome, fault = e.refuseCall(ctx, c, rpc, fault)
	} else {
		result, outcome, fault = e.runTool(ctx, c, rpc, arguments)
	}
	if outcome == metrics.OutcomeUnavailable && errors.Is(ctx.Err(), context.Canceled) {
		outcome = metrics.OutcomeAbandoned // the caller disconnected
	}
	requestlog.FromContext(ctx).Note(slog.String("tool", name), slog.String("outcome", outcome.String()))
	e.options.Observe(ctx, name, outcome, e.options.Now().Sub(start))
	return result, fault
}

// resolve finds the tool and its arguments. The procedure is nil if there is no
// such tool.
func (e *endpoint) resolve(ctx context.Context, c *call) (*catalog.RPC, []byte, *failure) {
	p := c.params
	if p.fault != "" {
		return nil, nil, answerError(codeInvalidParams, p.fault)
	}
	if p.name.Kind() != '"' {
		return nil, nil, answerError(codeInvalidParams, "params.name must be the name of a tool.")
	}
	rpc, ok := e.options.Catalog.Tool(unquote(p.name))
	if !ok || rpc.Tool.Research && !c.narrowing.allows(rpc) && !e.offersResearch(ctx, c, rpc) {
		return nil, nil, e.unknownTool(unquote(p.name))
	}
	switch {
	case !c.narrowing.allows(rpc):
		return rpc, nil, e.narrowedCall(rpc, &c.narrowing)
	case p.arguments == nil:
		return rpc, []byte("{}"), nil
	case p.arguments.Kind() != '{':
		return rpc, nil, answerError(codeInvalidParams, "params.arguments must be an object.")
	default:
		return rpc, p.arguments, nil
	}
}

func (e *endpoint) unknownTool(name string) *failure {
	return answerError(codeInvalidParams, "There is no tool "+quoted(name)+" (nearest: "+
		strings.Join(nearest.Names(e.options.Catalog.ToolNames(), name, maxNearest), ", ")+"); tools/list lists all tools.")
}

// refuseCall answers a call that is not sent to its tool. An invalid bearer is reported first, as for
// every method. With an Idempotency-Key, the backend binds the key to the refusal.
func (e *endpoint) refuseCall(ctx context.Context, c *call, rpc *catalog.RPC, fault *failure) (jsontext.Value, metrics.Outcome, *failure) {
	if c.retry != nil {
		refusal := &accessv1.CallError{Code: int32(fault.code), Message: fault.message, Data: string(fault.data)} //nolint:gosec // a code of JSON-RPC
		answer, err := e.options.Backend.RefuseCall(ctx, e.backendCall(c), refusal)
		return e.answerCall(ctx, c, rpc, answer, err)
	}
	if e.policy != demoAccount {
		if f := e.checkBearer(ctx, c); f != nil {
			return nil, outcomeOf(f), f
		}
	}
	return nil, outcomeOfRefusal(rpc, fault.code), fault
}

// outcomeOfRefusal returns the outcome of a call that the edge refused; rpc is nil for an unknown tool.
func outcomeOfRefusal(rpc *catalog.RPC, code int) metrics.Outcome {
	switch {
	case rpc == nil:
		return metrics.OutcomeUnknownTool
	case code == codeRefused:
		return metrics.OutcomeRefused
	default:
		return metrics.OutcomeInvalidArguments
	}
}

// outcomeOf returns the outcome of a call that was not sent to the tool.
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

// runTool calls the backend and returns its answer.
func (e *endpoint) runTool(ctx context.Context, c *call, rpc *catalog.RPC, arguments []byte) (jsontext.Value, metrics.Outcome, *failure) {
	request := e.backendCall(c)
	request.Procedure, request.Arguments = rpc.Procedure, arguments
	if rpc.Tool.Waits {
		request.ExtraTimeout = upstream.WaitTimeout
		defer requestlog.FromContext(ctx).Suspend()()
	}
	answer, err := e.options.Backend.CallTool(ctx, request)
	return e.answerCall(ctx, c, rpc, answer, err)
}

// backendCall returns the call of the backend, without its procedure.
func (e *endpoint) backendCall(c *call) upstream.ToolCall {
	return upstream.ToolCall{Bearer: c.bearer.Token, Visitor: c.visitor, Retry: c.retry}
}

// answerCall returns what the backend answered to a call; rpc is nil for an unknown tool.
func (e *endpoint) answerCall(
	ctx context.Context, c *call, rpc *catalog.RPC, answer upstream.Answer, err error,
) (jsontext.Value, metrics.Outcome, *failure) {
	tool := "The tool"
	if rpc != nil {
		tool = rpc.Tool.Name
	}
	if err != nil {
		failed := upstream.AsError(err)
		c.replayed = failed.Receipt.Replayed
		if refusal := failed.Refusal; refusal != nil {
			noteCredential(ctx, failed.Receipt)
			f := answerError(int(refusal.GetCode()), refusal.GetMessage())
			if data := refusal.GetData(); data != "" {
				f.data = jsontext.Value(data)
			}
			return nil, outcomeOfRefusal(rpc, f.code), f
		}
		return e.toolFailure(ctx, tool, failed)
	}
	c.replayed = answer.Receipt.Replayed
	noteCredential(ctx, answer.Receipt)
	result, ok := toolResult(answer, e.others[tool])
	if !ok {
		return e.toolFailure(ctx, tool, upstream.AsError(errAnswer))
	}
	return result, metrics.OutcomeOK, nil
}

func noteCredential(ctx context.Context, receipt upstream.Receipt) {
	if receipt.CredentialID != "" {
		requestlog.FromContext(ctx).SetCredential(receipt.CredentialID)
	}
}
