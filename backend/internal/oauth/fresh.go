package oauth

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
)

// requiredStep returns the address of the page that a member has to complete requiredStep they can consent, or
// an empty string: to set up a second factor, or to reauthenticate. A member reauthenticates if the
// client asks for it by prompt=login or max_age (OpenID Connect Core §3.1.2.1), and if the session
// is no longer fresh.
func (s *Server) requiredStep(u *url.URL, query url.Values, login *account.LoginSession) string {
	if first := s.Sessions.MustEnroll(login); first != "" {
		return first
	}
	maxAge, _ := maxAgeOf(query) // checkRequest has validated it
	now := s.Now()
	if asksForLogin(query) || query.Has("max_age") && now.Sub(login.AuthenticatedAt) > maxAge || !login.Fresh(now) {
		return s.Sessions.Confirm(withoutPrompt(u, query))
	}
	return ""
}

func asksForLogin(query url.Values) bool {
	return slices.Contains(strings.Fields(query.Get("prompt")), "login")
}

// maxAgeOf returns the parameter max_age, and whether it is valid; a missing one is valid.
func maxAgeOf(query url.Values) (time.Duration, bool) {
	if !query.Has("max_age") {
		return 0, true
	}
	seconds, err := strconv.ParseUint(query.Get("max_age"), 10, 31)
	return time.Duration(seconds) * time.Second, err == nil
}

// withoutPrompt returns the path of a request without prompt and max_age. The browser returns to it
// after reauthentication, which these parameters would ask for once more.
func withoutPrompt(u *url.URL, query url.Values) string {
	if !query.Has("prompt") && !query.Has("max_age") {
		return u.RequestURI()
	}
	rest := maps.Clone(query)
	rest.Del("prompt")
	rest.Del("max_age")
	return u.Path + "?" + rest.Encode()
}

// confirmFirst redirects a member whose session is no longer fresh to reauthenticate, and then to a
// new consent page of the same request. It allows nothing.
func (s *Server) confirmFirst(w http.ResponseWriter, r *http.Request, secret string, login *account.LoginSession) {
	req, err := GetRequest(r.Context(), s.Store, Hash(secret), login.Hash)
	switch {
	case fault.Is(err, fault.NotFound):
		s.showExpired(w, r, err)
	case err != nil:
		s.unavailable(w, r, "read request", err)
	default:
		http.Redirect(w, r, s.Sessions.Confirm(addressOf(req)), http.StatusSeeOther)
	}
}
