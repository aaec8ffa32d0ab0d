package page

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/proto/connectheader"
)

// Current implements oauth.Sessions. A POST from another site has no session, whichever
// handler serves it.
func (s *Site) Current(r *http.Request) (*account.LoginSession, error) {
	secret := s.SessionSecret(r)
	if secret == "" || s.crossOrigin.Check(r) != nil {
		return nil, nil
	}
	login, err := account.GetLoginSession(r.Context(), s.Store, account.HashSecret(secret))
	if fault.Is(err, fault.NotFound) || err == nil && !login.LastUsedAt.After(s.IdleSince()) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.markUsed(login)
	return login, nil
}

// IdleSince returns the earliest time of last use of a session that has not ended.
func (s *Site) IdleSince() time.Time { return s.Now().UTC().Add(-s.SessionIdle) }

// markUsed records the use of a session, unless one was recorded a short time ago.
func (s *Site) markUsed(login *account.LoginSession) {
	const most, part = 5 * time.Minute, 10 // of the idle time, so that the session ends about when it should
	now := s.Now().UTC()
	if s.Used != nil && now.Sub(login.LastUsedAt) >= min(most, s.SessionIdle/part) {
		s.Used(login.ID, now)
	}
}

// Begin signs the browser in, always with a new secret, which replaces the session before. So a
// session that an attacker planted is useless (session fixation). The member has just proved who
// they are, with everything that the account asks for. It fails with account.ErrAccessEnded if that
// access was revoked in the meantime.
func (v *Request) Begin(access account.Access) error {
	return v.BeginWith(access, func(row *account.LoginSession) error { return account.CreateLoginSession(v.R.Context(), v.Store, row) })
}

// BeginWith is Begin with a function that stores the session.
func (v *Request) BeginWith(access account.Access, create func(*account.LoginSession) error) error {
	owner := access.Owner
	secret, err := account.NewSecret("")
	if err != nil {
		return err
	}
	if old := v.SessionSecret(v.R); old != "" {
		if err := account.DeleteLoginSession(v.R.Context(), v.Store, account.HashSecret(old)); err != nil {
			return err
		}
	}
	row := &account.LoginSession{
		Hash: account.HashSecret(secret), MemberID: owner, AccessEpoch: access.Epoch, Device: v.Device(), Address: v.Network(),
		ExpiresAt: v.Now().UTC().Add(v.SessionLifetime),
	}
	if v.Login != nil && v.Login.MemberID == owner {
		row.SeenEvent = v.Login.SeenEvent
	}
	if err := create(row); err != nil {
		return err
	}
	v.began = row.ID
	v.W.Header().Set(connectheader.Placement, owner.Placement())
	v.keep(secret, row.ExpiresAt)
	return nil
}

// Rotate gives the browser's session a new secret. Call it when its rights change: a copy of the
// old cookie is then worth nothing. Forms that are open in other tabs are out of date.
func (v *Request) Rotate() error { return v.rotate(time.Time{}) }

// Reauthenticated gives the browser's session a new secret, as Rotate does, and records that the
// member has just proved who they are, with everything that the account asks for.
func (v *Request) Reauthenticated() error { return v.rotate(v.Now().UTC()) }

func (v *Request) rotate(authenticatedAt time.Time) error {
	secret, err := account.NewSecret("")
	if err != nil {
		return err
	}
	hash := account.HashSecret(secret)
	err = account.RotateLoginSession(v.R.Context(), v.Store, v.Login.Hash, hash, authenticatedAt)
	if fault.Is(err, fault.NotFound) {
		return Refuse(http.StatusForbidden, "You are signed out", "Your session ended in the meantime. Sign in again.")
	}
	if err != nil {
		return err
	}
	if !authenticatedAt.IsZero() {
		v.Login.AuthenticatedAt = authenticatedAt
	}
	v.Login.Hash = hash
	v.keep(secret, v.Login.ExpiresAt)
	// The rest of this request works with the new secret.
	v.replaceCookie(SessionCookie, secret)
	v.Secret = secret
	return nil
}

// replaceCookie puts the new value of a cookie into the request, for what reads it later.
func (v *Request) replaceCookie(name, value string) {
	cookies := v.R.Cookies()
	v.R.Header.Del("Cookie")
	for _, c := range cookies {
		if c.Name != v.CookieName(name) {
			v.R.AddCookie(c)
		}
	}
	v.R.AddCookie(&http.Cookie{Name: v.CookieName(name), Value: value}) //nolint:gosec // of a request
}

// keep gives the browser the secret of its session.
func (v *Request) keep(secret string, until time.Time) {
	v.SetCookie(v.W, SessionCookie, secret, until.Sub(v.Now()))
	v.ClearCookie(v.W, FormCookie)
}

// SessionID returns the id of the browser's session, of the new one after Begin; empty if there is
// none.
func (v *Request) SessionID() string {
	if v.began != "" || v.Login == nil {
		return v.began
	}
	return v.Login.ID
}

// Device returns the browser and the system of the request, in words.
func (v *Request) Device() string { return account.DeviceOf(v.R.UserAgent()) }

// Network returns the network of the request, as account.CoarseAddress does.
func (v *Request) Network() string { return account.CoarseAddress(v.ClientAddress(v.R)) }

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
