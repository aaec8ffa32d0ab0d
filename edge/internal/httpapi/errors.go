package httpapi

import "net/http"

// Error describes a refused or failed request. An ErrorWriter writes it in the format of a protocol.
type Error struct {
	Code Code
	// Detail is one sentence about this occurrence. It is shown to the caller.
	Detail string
	Fields []Field
}

// Field is one invalid part of a request.
type Field struct {
	// Field is the name of the parameter or the path of the member.
	Field string `json:"field"`
	// Message says what is wrong with it.
	Message string `json:"message"`
}

// ErrorWriter answers with an error in the format of a protocol: a problem document, a JSON-RPC
// error, an OAuth error or a page.
type ErrorWriter interface {
	WriteError(w http.ResponseWriter, r *http.Request, e Error)
}

const (
	// NoPathDetail is the detail of NotFound for a path that no route has.
	NoPathDetail = "No resource has this path."
	// BusyDetail is the detail of Unavailable when the concurrency limiter refuses a request.
	BusyDetail = "The service is busy. Try again in a moment."
	// InternalDetail is the detail of Internal.
	InternalDetail = "The error was logged under the id of this request."
	// RetryAfter is the Retry-After of a 503, in seconds.
	RetryAfter = "1"
)

// Code identifies a kind of error. Codes are stable: clients may compare them. Each has a page
// under /docs/errors/.
type Code string

// The codes. Their statuses and titles are in the table below.
const (
	MalformedRequest        Code = "malformed_request"
	InvalidParameter        Code = "invalid_parameter"
	CredentialInQuery       Code = "credential_in_query"
	UnsupportedIdentityType Code = "unsupported_identity_type"
	Unauthenticated         Code = "unauthenticated"
	OutOfCredits            Code = "out_of_credits"
	InsufficientScope       Code = "insufficient_scope"
	AgentPaused             Code = "agent_paused"
	ForbiddenOrigin         Code = "forbidden_origin"
	NotBatchable            Code = "not_batchable"
	NotFound                Code = "not_found"
	MethodNotAllowed        Code = "method_not_allowed"
	NotAcceptable           Code = "not_acceptable"
	RequestTimeout          Code = "request_timeout"
	Gone                    Code = "gone"
	ContentTooLarge         Code = "content_too_large"
	UnsupportedMediaType    Code = "unsupported_media_type"
	MisdirectedRequest      Code = "misdirected_request"
	HeadersTooLarge         Code = "headers_too_large"
	JobNotStarted           Code = "job_not_started"
	IdempotencyConflict     Code = "idempotency_conflict"
	IdempotencyMismatch     Code = "idempotency_mismatch"
	RateLimited             Code = "rate_limited"
	AnswerTooLarge          Code = "answer_too_large"
	Internal                Code = "internal"
	NotImplemented          Code = "not_implemented"
	Unavailable             Code = "unavailable"
)

// codeInfo is an entry of the table.
type codeInfo struct {
	code   Code
	status int
	title  string
}

// table returns every code with its status and its title. The title is the same for each
// occurrence (RFC 9457, section 3.1.3).
func table() []codeInfo {
	return []codeInfo{
		{MalformedRequest, http.StatusBadRequest, "The request is malformed"},
		{InvalidParameter, http.StatusBadRequest, "A parameter is not valid"},
		{CredentialInQuery, http.StatusBadRequest, "Credentials in the query string are not accepted"},
		{UnsupportedIdentityType, http.StatusBadRequest, "The identity type is unknown"},
		{Unauthenticated, http.StatusUnauthorized, "A valid credential is required"},
		{OutOfCredits, http.StatusPaymentRequired, "The month's credits are used up"},
		{InsufficientScope, http.StatusForbidden, "The credential lacks a scope"},
		{AgentPaused, http.StatusForbidden, "The member has paused this agent"},
		{ForbiddenOrigin, http.StatusForbidden, "This origin or host is not allowed"},
		{NotBatchable, http.StatusForbidden, "This request cannot be an item of a batch"},
		{NotFound, http.StatusNotFound, "There is nothing here"},
		{MethodNotAllowed, http.StatusMethodNotAllowed, "The method is not allowed here"},
		{NotAcceptable, http.StatusNotAcceptable, "No acceptable representation"},
		{RequestTimeout, http.StatusRequestTimeout, "The request took too long to arrive"},
		{JobNotStarted, http.StatusConflict, "The job cannot be started"},
		{IdempotencyConflict, http.StatusConflict, "A request with this Idempotency-Key is in progress"},
		{Gone, http.StatusGone, "This path has been removed"},
		{ContentTooLarge, http.StatusRequestEntityTooLarge, "The request body is too large"},
		{UnsupportedMediaType, http.StatusUnsupportedMediaType, "The media type is not supported"},
		{MisdirectedRequest, http.StatusMisdirectedRequest, "This server does not serve that host"},
		{IdempotencyMismatch, http.StatusUnprocessableEntity, "The Idempotency-Key was used for another request"},
		{HeadersTooLarge, http.StatusRequestHeaderFieldsTooLarge, "The request's headers are too large"},
		{RateLimited, http.StatusTooManyRequests, "Too many requests"},
		{AnswerTooLarge, http.StatusInternalServerError, "The answer is too large"},
		{Internal, http.StatusInternalServerError, "Something went wrong on our side"},
		{NotImplemented, http.StatusNotImplemented, "The method is not implemented"},
		{Unavailable, http.StatusServiceUnavailable, "The service is not available right now"},
	}
}

// Codes returns every code, in a fixed order.
func Codes() []Code {
	var codes []Code
	for _, e := range table() {
		codes = append(codes, e.code)
	}
	return codes
}

// Status returns the HTTP status of the code: 500 for one that is not in the table.
func (c Code) Status() int { return lookup(c).status }

// Title returns the code's short summary for people.
func (c Code) Title() string { return lookup(c).title }

func lookup(c Code) codeInfo {
	for _, e := range table() {
		if e.code == c {
			return e
		}
	}
	return lookup(Internal)
}
