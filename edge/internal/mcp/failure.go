package mcp

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/kith-crm/kith/observability/metrics"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/edge/internal/route"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// challenge is the kind of WWW-Authenticate header of a failure.
type challenge uint8

const (
	challengeNone challenge = iota
	challengeMissing
	challengeInvalid
)

// failure is the JSON-RPC error with which a request ends.
type failure struct {
	status    int
	code      int
	message   string
	data      jsontext.Value // or nil
	challenge challenge
}

// refusal returns the failure of an invalid request, which has no message.
func refusal(status int, message string) *failure {
	return &failure{status: status, code: codeInvalidRequest, message: message}
}

// answerError returns a failure that MCP answers with a 200.
func answerError(code int, message string) *failure {
	return &failure{status: http.StatusOK, code: code, message: message}
}

// writeFailure sends the failure; a nil id is written as null.
func (e *endpoint) writeFailure(w http.ResponseWriter, r *http.Request, id jsontext.Value, f *failure) {
	switch f.challenge {
	case challengeMissing:
		w.Header().Set("WWW-Authenticate", e.challenge.Missing())
	case challengeInvalid:
		w.Header().Set("WWW-Authenticate", e.challenge.InvalidToken())
	case challengeNone:
	}
	if f.status == http.StatusServiceUnavailable || f.status == http.StatusConflict {
		w.Header().Set("Retry-After", httpapi.RetryAfter)
	}
	httpapi.WriteJSON(w, r, f.status, errorMessage(id, f))
}

// Errors writes the errors of a request that is refused before its message is decoded. Its zero
// value works.
type Errors struct{}

// WriteError writes the code's status with a JSON-RPC error. A 429 says how many seconds to wait, and
// has the id of the request if its body is small.
func (Errors) WriteError(w http.ResponseWriter, r *http.Request, e httpapi.Error) {
	f := refusal(e.Code.Status(), e.Detail)
	var id jsontext.Value
	switch e.Code {
	case httpapi.RateLimited:
		f.code, id = codeRateLimited, peekID(w, r)
		if wait := w.Header().Get("Retry-After"); wait != "" {
			unit := " seconds."
			if wait == "1" {
				unit = " second."
			}
			f.message = "Too many requests: send this one again in " + wait + unit
		}
	case httpapi.Unavailable, httpapi.Internal:
		f.code = codeInternal
	}
	httpapi.WriteJSON(w, r, f.status, errorMessage(id, f))
}

// maxPeeked is the largest body, in bytes, that is read for the id of a request that is refused.
const maxPeeked = 16 << 10

// peekID returns the id of the JSON-RPC message in a body, as it was sent; nil if the body is large
// or is not a message with an id.
func peekID(w http.ResponseWriter, r *http.Request) jsontext.Value {
	if r.Method != http.MethodPost || r.ContentLength <= 0 || r.ContentLength > maxPeeked || !httpapi.IsJSON(r) {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPeeked))
	if err != nil {
		return nil
	}
	var message struct {
		ID jsontext.Value `json:"id"`
	}
	if json.Unmarshal(body, &message) != nil || message.ID.Kind() != '"' && message.ID.Kind() != '0' {
		return nil
	}
	return message.ID
}

// backendFailure returns the answer to a failed backend call that is not a tool's own failure. Only
// a bearer that the backend itself refuses is a 401, because clients discard their tokens after a
// 401.
func (e *endpoint) backendFailure(ctx context.Context, err *upstream.Error) *failure {
	e.logBackend(ctx, err)
	code := httpapi.BackendCode(err.Kind, httpapi.Internal)
	switch {
	case code == httpapi.Unauthenticated && e.policy != demoAccount:
		requestlog.FromContext(ctx).Dead = true
		return deadBearer()
	case code == httpapi.Unauthenticated:
		return unavailable("The demo account is not ready yet.")
	case code == httpapi.Unavailable:
		return unavailable("The service is not available right now.")
	case code == httpapi.IdempotencyConflict:
		return refusal(code.Status(), "A request with this Idempotency-Key is still in progress. Send the same request again in a second.")
	case code == httpapi.IdempotencyMismatch:
		return refusal(code.Status(), "This Idempotency-Key was used for another request within the last 24 hours. Send the same bytes to repeat that one, or use a new key.")
	default:
		return &failure{
			status: http.StatusInternalServerError, code: codeInternal,
			message: "Something went wrong on our side; the request id is " + requestlog.RequestID(ctx) + ".",
		}
	}
}

// logBackend logs the cause of a failure, which the caller does not see.
func (e *endpoint) logBackend(ctx context.Context, err *upstream.Error) {
	if err.Kind != upstream.Internal && err.Kind != upstream.Unavailable {
		return
	}
	upstream.LogFailure(ctx, e.options.Logger, err)
}

func missingBearer() *failure {
	return &failure{
		status: http.StatusUnauthorized, code: codeUnauthorized, challenge: challengeMissing,
		message: "A bearer token is needed.",
	}
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

// toolFailure returns how a failed call is reported: in the result, if the model can correct the
// call; as a JSON-RPC error, if a retry cannot help; or in the HTTP status.
func (e *endpoint) toolFailure(ctx context.Context, tool string, err *upstream.Error) (jsontext.Value, metrics.Outcome, *failure) {
	noteCredential(ctx, err.Receipt)
	switch err.Kind {
	case upstream.Invalid:
		return toolError(argumentsText(tool, err), err.Receipt), metrics.OutcomeInvalidArguments, nil
	case upstream.ToolFailed:
		if err.Approval != nil {
			return approvalResult(err), metrics.OutcomeRefused, nil
		}
		return toolError(sentence(err.Message), err.Receipt), metrics.OutcomeToolError, nil
	case upstream.Exhausted:
		return toolError(sentence(err.Message), err.Receipt), metrics.OutcomeRefused, nil
	case upstream.Refused:
		return nil, metrics.OutcomeRefused, e.refusedCall(tool, err)
	case upstream.InFlight, upstream.KeyReused:
		return nil, metrics.OutcomeRefused, e.backendFailure(ctx, err)
	case upstream.Internal:
		e.logBackend(ctx, err)
		return toolError(internalText(ctx, tool), err.Receipt), metrics.OutcomeInternal, nil
	default:
		f := e.backendFailure(ctx, err)
		return nil, outcomeOf(f), f
	}
}

// Reasons for a refusal: the backend's, and the caller's own headers.
const (
	reasonMissingScope = "missing_scope"
	reasonReadOnly     = "read_only_account"
	reasonToolLimit    = "limited_to_tools"
	reasonNarrowed     = "narrowed_by_header"
)

// argumentsText lists the invalid arguments for a model, one per line.
func argumentsText(tool string, err *upstream.Error) string {
	var text strings.Builder
	text.WriteString("The arguments of " + tool + " are not valid:")
	for _, f := range err.Fields {
		text.WriteString("\n- " + f.Message)
	}
	if len(err.Fields) == 0 {
		text.WriteString("\n- " + sentence(err.Message))
	}
	return text.String()
}

// sentence returns the backend's message, or a default for an empty one.
func sentence(message string) string {
	if message == "" {
		return "The backend gave no reason."
	}
	return message
}

func internalText(ctx context.Context, tool string) string {
	return tool + " failed on our side, so nothing is wrong with the call; the request id is " +
		requestlog.RequestID(ctx) + "."
}

// refusedCall is the error for a valid credential that may not call the tool.
func (e *endpoint) refusedCall(tool string, err *upstream.Error) *failure {
	f := answerError(codeRefused, refusedText(tool, err))
	data := refusalJSON{Reason: err.Reason, RequiredScopes: err.RequiredScopes, AllowedTools: err.AllowedTools}
	if err.Reason == reasonMissingScope {
		data.AuthorizeURL = e.options.BaseURL + route.PathAgents
		if id := err.Receipt.CredentialID; id != "" {
			data.AuthorizeURL += "#" + id
		}
		f.message += " The person can allow more to this agent at " + data.AuthorizeURL + "."
	}
	f.data = encode(data)
	return f
}

// refusalJSON is the data of a refused call.
type refusalJSON struct {
	Reason         string   `json:"reason"`
	RequiredScopes []string `json:"required_scopes"`
	AllowedTools   []string `json:"allowed_tools,omitempty"`
	// AuthorizeURL is the page on which the person sees what this agent may do, and can allow more.
	AuthorizeURL string `json:"authorize_url,omitempty"`
}

func refusedText(tool string, err *upstream.Error) string {
	switch err.Reason {
	case reasonMissingScope:
		scopes := "the scope "
		if len(err.RequiredScopes) > 1 {
			scopes = "the scopes "
		}
		return "Refused: " + tool + " needs a credential with " + scopes + strings.Join(err.RequiredScopes, " and ") + "."
	case reasonReadOnly:
		return "Refused: " + tool + " writes, and this account is read-only."
	case reasonToolLimit:
		return "Refused: this token is limited to named tools, and " + tool + " is not one of them. It may call " + strings.Join(err.AllowedTools, ", ") + "."
	default:
		return "Refused: " + sentence(err.Message)
	}
}
