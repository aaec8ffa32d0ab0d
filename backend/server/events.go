package server

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/kith-crm/kith/backend/internal/authserver"
)

// Kinds of events of authorization and sign-in that go by no path alone.
const (
	eventCode    = "code"    // an authorization code is exchanged
	eventRefresh = "refresh" // a refresh token is rotated
	eventToken   = "token"   // anything else at the token endpoint
)

// Results of events.
const (
	resultOK      = "ok"
	resultDenied  = "denied"  // the member said no
	resultRefused = "refused" // what was sent is not right
	resultLimited = "limited" // too many attempts
	resultFailed  = "failed"  // our fault
)

// OAuthResults are the results that OAuthObserver is told.
func OAuthResults() []string {
	return []string{resultOK, resultDenied, resultRefused, resultLimited, resultFailed}
}

// OAuthKinds are the kinds that OAuthObserver is told.
func OAuthKinds() []string {
	kinds := []string{eventCode, eventRefresh}
	for _, kind := range events() {
		kinds = append(kinds, kind)
	}
	return kinds
}

// events names the requests that are events.
func events() map[string]string {
	return map[string]string{
		"POST " + authserver.PathRegister:  "register",
		"GET " + authserver.PathAuthorize:  "authorize",
		"POST " + authserver.PathConsent:   "consent",
		"POST " + authserver.PathToken:     eventToken,
		"POST " + authserver.PathRevoke:    "revoke",
		"POST /sign-in":                    "sign_in",
		"GET /sign-in/provider/callback":   "provider_sign_in",
		"POST /sign-up":                    "sign_up",
		"POST /sign-out":                   "sign_out",
		"POST /forgot":                     "forgot",
		"POST /reset":                      "reset",
		"POST /verify":                     "verify",
		"POST /settings/mcp/tokens":        "personal_token",
		"POST /settings/mcp/tokens/revoke": "personal_token_revoke",
		"POST /settings/mcp/agents/revoke": "agent_revoke",
		"POST /settings/security/sign-out": "sign_out_everywhere",
		"POST /settings/security/password": "password",
		"POST /settings/account/delete":    "account_delete",
	}
}

// observeEvents tells of each event that next answers.
func observeEvents(next http.Handler, o OAuthObserver) http.Handler {
	if o == nil {
		return next
	}
	kinds := events()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, ok := kinds[r.Method+" "+r.URL.Path]
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		status := &statusWriter{ResponseWriter: w}
		result := resultFailed // of a panic
		defer func() { o.Observe(kind, result) }()
		next.ServeHTTP(status, r)
		if kind == eventToken {
			kind = tokenEvent(r.PostForm)
		}
		result = resultOf(status.status, w.Header().Get("Location"))
	})
}

// tokenEvent tells what was asked of the token endpoint, once it has read the form.
func tokenEvent(form url.Values) string {
	switch form.Get("grant_type") {
	case "authorization_code":
		return eventCode
	case "refresh_token":
		return eventRefresh
	}
	return eventToken
}

// resultOf reads the result from an answer. A client learns of a refusal by the
// address that the browser is sent back to.
func resultOf(status int, location string) string {
	_, query, _ := strings.Cut(location, "?")
	told, _ := url.ParseQuery(query) // an application's own query may be odd
	switch failure := told.Get("error"); {
	case status == http.StatusTooManyRequests:
		return resultLimited
	case status >= http.StatusInternalServerError, failure == "server_error", failure == "temporarily_unavailable":
		return resultFailed
	case failure == "access_denied":
		return resultDenied
	case status >= http.StatusBadRequest, failure != "":
		return resultRefused
	default:
		return resultOK
	}
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter

	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the writer beneath.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
