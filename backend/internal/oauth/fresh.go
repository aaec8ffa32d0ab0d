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

// before returns the address that a member has to pass before they can consent; empty if they need
// not: to set up a second factor, or to prove again who they are. A client asks for the latter with
// prompt=login or max_age (OpenID Connect Core §3.1.2.1), and consent needs a proof that is fresh.
func (s *Server) before(u *url.URL, query url.Values, login *account.LoginSession) string {
	if first := s.Sessions.MustEnroll(login); first != "" {
		return first
	}
	maxAge, _ := maxAgeOf(query) // it was checked
	now := s.Now()
	if asksForLogin(query) || query.Has("max_age") && now.Sub(login.AuthenticatedAt) > maxAge || !login.Fresh(now) {
		return s.Sessions.Confirm(afterProof(u, query))
	}
	return ""
}

func asksForLogin(query url.Values) bool {
	return slices.Contains(strings.Fields(query.Get("prompt")), "login")
}

// maxAgeOf returns how old a proof may be, and whether the parameter max_age is valid, if it is
// given.
func maxAgeOf(query url.Values) (time.Duration, bool) {
	if !query.Has("max_age") {
		return 0, true
	}
	seconds, err := strconv.ParseUint(query.Get("max_age"), 10, 31)
	return time.Duration(seconds) * time.Second, err == nil
}

// afterProof returns the path of a request once the member has proved who they are: the parameters
// that ask for a proof are gone, since they would ask for another one.
func afterProof(u *url.URL, query url.Values) string {
	if !query.Has("prompt") && !query.Has("max_age") {
		return u.RequestURI()
	}
	rest := maps.Clone(query)
	rest.Del("prompt")
	rest.Del("max_age")
	return u.Path + "?" + rest.Encode()
}

// confirmFirst leads a member whose session is not fresh any more to the page that asks again who
// they are, and then to a new page of the same request. Nothing was allowed.
func (s *Server) confirmFirst(w http.ResponseWriter, r *http.Request, secret string, login *account.LoginSession) {
	req, err := GetRequest(r.Context(), s.Store, Hash(secret), login.Hash)
	switch {
	case fault.Is(err, fault.NotFound):
		s.over(w, r, err)
	case err != nil:
		s.unavailable(w, r, "read request", err)
	default:
		http.Redirect(w, r, s.Sessions.Confirm(addressOf(req)), http.StatusSeeOther)
	}
}
