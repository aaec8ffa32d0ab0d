package jobsapi

import (
	"net/http"
	"strings"

	"github.com/kith-crm/kith/edge/internal/bearer"
	"github.com/kith-crm/kith/edge/internal/exchange"
	"github.com/kith-crm/kith/edge/internal/problem"
	"github.com/kith-crm/kith/edge/internal/upstream"
)

// credential returns the bearer of a request, or asks for one.
func (a *API) credential(w http.ResponseWriter, r *http.Request) (token string, ok bool) {
	given := bearer.Read(r.Header)
	if given.Token == "" {
		a.refuse(w, r, given.Presented)
		return "", false
	}
	return given.Token, true
}

// refuse asks for a live bearer.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, presented bool) {
	challenge := a.challenge
	if presented {
		exchange.FromContext(r.Context()).Dead = true
		challenge += bearer.InvalidToken
	}
	w.Header().Set("WWW-Authenticate", challenge)
	a.options.Problems.Write(w, r, problem.Unauthenticated, "Jobs need a live bearer token.")
}

// fail answers a failed call. What a tool refused to do is told as the code.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err *upstream.Error, refused problem.Code) {
	problems := a.options.Problems
	switch err.Kind {
	case upstream.Unauthenticated:
		a.refuse(w, r, true)
	case upstream.Refused:
		a.refuseScope(w, r, err)
	case upstream.Invalid:
		problems.Write(w, r, problem.InvalidParameter, sentence(err.Message), fields(err)...)
	case upstream.ToolFailed:
		problems.Write(w, r, refused, sentence(err.Message))
	case upstream.Exhausted:
		problems.Write(w, r, problem.OutOfCredits, sentence(err.Message))
	case upstream.Unavailable:
		a.log(r, err)
		problems.Write(w, r, problem.Unavailable, "Please try again in a moment.")
	default:
		a.log(r, err)
		problems.Write(w, r, problem.Internal, "The error was logged under the id of this request.")
	}
}

// refuseScope answers a credential that may not do this. The challenge names the
// scopes that are needed (RFC 6750, section 3.1), unless the refusal is for another
// reason.
func (a *API) refuseScope(w http.ResponseWriter, r *http.Request, err *upstream.Error) {
	challenge, detail := a.challenge+`, error="insufficient_scope"`, sentence(err.Message)
	if scopes := strings.Join(err.RequiredScopes, " "); scopes != "" {
		challenge += `, scope="` + scopes + `"`
		detail = "The credential lacks a scope; this needs " + scopes + "."
	}
	w.Header().Set("WWW-Authenticate", challenge)
	a.options.Problems.Write(w, r, problem.InsufficientScope, detail)
}

func fields(err *upstream.Error) []problem.Field {
	var out []problem.Field
	for _, f := range err.Fields {
		out = append(out, problem.Field{Field: f.Path, Message: f.Message})
	}
	return out
}

// sentence makes one of the backend's message.
func sentence(message string) string {
	if message == "" {
		return "It was refused."
	}
	return strings.ToUpper(message[:1]) + strings.TrimSuffix(message[1:], ".") + "."
}

func (a *API) log(r *http.Request, err error) {
	upstream.LogFailure(r.Context(), a.options.Logger, err)
}
