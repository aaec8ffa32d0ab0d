package page

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
)

// Current implements oauth.Sessions. A POST from another site has no session, whichever
// handler serves it.
func (s *Site) Current(r *http.Request) (*account.LoginSession, error) {
	secret := s.SessionSecret(r)
	if secret == "" || s.crossOrigin.Check(r) != nil {
		return nil, nil
	}
	login, err := account.GetLoginSession(r.Context(), s.Store, account.HashSecret(secret))
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return login, err
}

// ReturnParameter is the parameter with the page that sign-in leads back to.
const ReturnParameter = "return_to"

// SignIn implements oauth.Sessions.
func (s *Site) SignIn(returnTo string) string {
	return WithReturn(PathSignIn, LocalPath(returnTo))
}

// WithReturn adds the page to return to, if there is one, to a path.
func WithReturn(path, returnTo string) string {
	if returnTo == "" {
		return path
	}
	return path + "?" + url.Values{ReturnParameter: {returnTo}}.Encode()
}

// maxReturn limits the return path, in bytes.
const maxReturn = 4096

// LocalPath returns a path of this site that a browser may be sent to after it signed
// in, or nothing. It accepts the authorization endpoint and the pages of the areas of the
// site, by their full path, and never another host in any notation.
func LocalPath(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || len(raw) > maxReturn || !utf8.ValidString(raw) || !strings.HasPrefix(raw, "/") || u.IsAbs() || u.Host != "" || u.User != nil ||
		u.Fragment != "" || u.RawPath != "" || path.Clean(u.Path) != u.Path || strings.Contains(raw, "\\") {
		return ""
	}
	if _, ok := PlaceOf(u.Path); !ok && u.Path != oauth.PathAuthorize {
		return ""
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}
