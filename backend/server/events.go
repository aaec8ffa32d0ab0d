package server

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/kith-crm/kith/backend/internal/oauth"
)

// Kinds of events at the token endpoint, by grant type.
const (
	eventCode    = "code"    // exchange of an authorization code
	eventRefresh = "refresh" // rotation of a refresh token
	eventToken   = "token"   // any other request
)

// Results of events.
const (
	resultOK      = "ok"
	resultDenied  = "denied"  // the member did not consent
	resultRefused = "refused" // the request is invalid
	resultLimited = "limited" // too many attempts
	resultFailed  = "failed"  // an error of the service
)

// oauthResults is the closed set of results.
func oauthResults() []string {
	return []string{resultOK, resultDenied, resultRefused, resultLimited, resultFailed}
}

// oauthKinds is the closed set of kinds.
func oauthKinds() []string {
	kinds := []string{eventCode, eventRefresh}
	for _, kind := range events() {
		kinds = append(kinds, kind)
	}
	return kinds
}

// events maps each request that is an event to its kind.
func events() map[string]string {
	return map[string]string{
		"POST " + oauth.PathRegister:            "register",
		"GET " + oauth.PathAuthorize:            "authorize",
		"POST " + oauth.PathConsent:             "consent",
		"POST " + oauth.PathToken:               eventToken,
		"POST " + oauth.PathRevoke:              "revoke",
		"POST /sign-in":                         "sign_in",
		"GET /sign-in/provider/callback":        "provider_sign_in",
		"POST /sign-up":                         "sign_up",
		"POST /owner":                           "owner",
		"POST /sign-out":                        "sign_out",
		"POST /forgot":                          "forgot",
		"POST /reset":                           "reset",
		"POST /verify":                          "verify",
		"POST /settings/mcp/tokens":             "personal_token",
		"POST /settings/mcp/tokens/revoke":      "personal_token_revoke",
		"POST /settings/devices":                "device_add",
		"POST /settings/devices/login":          "device_login",
		"POST /settings/devices/remove":         "device_remove",
		"POST /settings/devices/feeds":          "feed_add",
		"POST /settings/devices/feeds/remove":   "feed_remove",
		"POST /settings/mcp/agents/revoke":      "agent_revoke",
		"POST /settings/agents/narrow":          "agent_narrow",
		"POST /settings/agents/widen":           "agent_widen",
		"POST /settings/agents/pause":           "agent_pause",
		"POST /settings/agents/resume":          "agent_resume",
		"POST /settings/security/sign-out":      "sign_out_everywhere",
		"POST /settings/security/password":      "password",
		"POST /settings/security/email":         "email_change",
		"POST /settings/security/email/confirm": "email_change_confirm",
		"POST /settings/account/delete":         "account_delete",
	}
}

// observeEvents calls observe for each event that next answers.
func observeEvents(next http.Handler, observe func(kind, result string)) http.Handler {
	kinds := events()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, ok := kinds[r.Method+" "+r.URL.Path]
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		status := &statusWriter{ResponseWriter: w}
		result := resultFailed // if next panics
		defer func() { observe(kind, result) }()
		next.ServeHTTP(status, r)
		if kind == eventToken {
			kind = tokenEvent(r.PostForm)
		}
		result = resultOf(status.status, w.Header().Get("Location"))
	})
}

// tokenEvent returns the kind of a request to the token endpoint, from its parsed form.
func tokenEvent(form url.Values) string {
	switch form.Get("grant_type") {
	case "authorization_code":
		return eventCode
	case "refresh_token":
		return eventRefresh
	}
	return eventToken
}

// resultOf returns the result of a response. The error of an authorization request is
// in the query of the redirect (RFC 6749, section 4.1.2.1).
func resultOf(status int, location string) string {
	_, query, _ := strings.Cut(location, "?")
	parameters, _ := url.ParseQuery(query) // a client's own parameters may be malformed
	switch failure := parameters.Get("error"); {
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

// statusWriter records the status of a response.
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

// Unwrap returns the wrapped writer to http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
