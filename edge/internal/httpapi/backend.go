package httpapi

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/kith-crm/kith/edge/internal/bearer"
	"github.com/kith-crm/kith/edge/internal/requestlog"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// BackendCode returns the error code for a failed backend call, the same in every protocol.
// upstream.ToolFailed has no fixed code: the caller passes the code for its request.
func BackendCode(kind upstream.Kind, ofDomain Code) Code {
	switch kind {
	case upstream.Unavailable:
		return Unavailable
	case upstream.Unauthenticated:
		return Unauthenticated
	case upstream.Refused:
		return InsufficientScope
	case upstream.Invalid:
		return InvalidParameter
	case upstream.ToolFailed:
		return ofDomain
	case upstream.Exhausted:
		return OutOfCredits
	case upstream.InFlight:
		return IdempotencyConflict
	case upstream.KeyReused:
		return IdempotencyMismatch
	default:
		return Internal
	}
}

// BackendErrors answers requests whose backend call failed, and logs the causes that the caller must
// not see.
type BackendErrors struct {
	// Errors writes the answers: problems or pages.
	Errors ErrorWriter
	Logger *slog.Logger
	// Challenge makes the WWW-Authenticate of a 401 and a 403. NeedsBearer is the detail of a
	// 401. Both are empty for paths that take no credential.
	Challenge   bearer.Challenge
	NeedsBearer string
	// InvalidDetail is the detail of a 400; if empty, it is the backend's message.
	// InvalidField is the invalid parameter if the backend names none; it may be empty.
	InvalidDetail, InvalidField string
}

// Write answers a request whose call failed with err. ofDomain is the code for
// upstream.ToolFailed.
func (b *BackendErrors) Write(w http.ResponseWriter, r *http.Request, err error, ofDomain Code) {
	failure := upstream.AsError(err)
	code := BackendCode(failure.Kind, ofDomain)
	if code == InsufficientScope && failure.Reason == string(AgentPaused) { // no scope would help
		code = AgentPaused
	}
	if b.Challenge == (bearer.Challenge{}) && code != InvalidParameter && code != Unavailable {
		code = Internal // the path takes no credential
	}
	switch code {
	case Unauthenticated:
		b.WriteUnauthenticated(w, r, true)
	case InsufficientScope:
		b.writeInsufficientScope(w, r, failure)
	case InvalidParameter:
		detail, fields := b.invalid(failure)
		b.write(w, r, code, detail, fields...)
	case Unavailable:
		upstream.LogFailure(r.Context(), b.Logger, err)
		b.write(w, r, code, "Please try again in a moment.")
	case Internal:
		upstream.LogFailure(r.Context(), b.Logger, err)
		b.write(w, r, code, InternalDetail)
	default:
		b.write(w, r, code, sentence(failure.Message))
	}
}

// WriteUnauthenticated answers 401. presented is set if a bearer was sent.
func (b *BackendErrors) WriteUnauthenticated(w http.ResponseWriter, r *http.Request, presented bool) {
	challenge := b.Challenge.Missing()
	if presented {
		requestlog.FromContext(r.Context()).Dead = true
		challenge = b.Challenge.InvalidToken()
	}
	w.Header().Set("WWW-Authenticate", challenge)
	b.write(w, r, Unauthenticated, b.NeedsBearer)
}

func (b *BackendErrors) write(w http.ResponseWriter, r *http.Request, code Code, detail string, fields ...Field) {
	b.Errors.WriteError(w, r, Error{Code: code, Detail: detail, Fields: fields})
}

// writeInsufficientScope answers 403. The challenge names the required scopes (RFC 6750,
// section 3.1), unless the call was refused for another reason.
func (b *BackendErrors) writeInsufficientScope(w http.ResponseWriter, r *http.Request, err *upstream.Error) {
	detail := sentence(err.Message)
	if scopes := strings.Join(err.RequiredScopes, " "); scopes != "" {
		detail = "The credential lacks a scope; this needs " + scopes + "."
	}
	w.Header().Set("WWW-Authenticate", b.Challenge.InsufficientScope(err.RequiredScopes))
	b.write(w, r, InsufficientScope, detail)
}

func (b *BackendErrors) invalid(err *upstream.Error) (detail string, fields []Field) {
	for _, f := range err.Fields {
		fields = append(fields, Field{Field: f.Path, Message: f.Message})
	}
	if len(fields) == 0 && b.InvalidField != "" {
		fields = []Field{{Field: b.InvalidField, Message: err.Message}}
	}
	if b.InvalidDetail != "" {
		return b.InvalidDetail, fields
	}
	return sentence(err.Message), fields
}

// sentence returns the backend's message with a capital letter and a full stop.
func sentence(message string) string {
	if message == "" {
		return "It was refused."
	}
	return strings.ToUpper(message[:1]) + strings.TrimSuffix(message[1:], ".") + "."
}
