package web

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/oauth"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Current implements oauth.Sessions. A POST from another site has no session, whichever
// handler serves it.
func (web *Web) Current(r *http.Request) (*account.LoginSession, error) {
	secret := web.sessionSecret(r)
	if secret == "" || web.crossOrigin.Check(r) != nil {
		return nil, nil
	}
	login, err := account.GetLoginSession(r.Context(), web.Store, account.HashSecret(secret))
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return login, err
}

const returnParameter = "return_to"

// SignIn implements oauth.Sessions.
func (web *Web) SignIn(returnTo string) string {
	return withReturn(pathSignIn, localPath(returnTo))
}

// withReturn adds the return path to a path; nothing if there is none.
func withReturn(path, returnTo string) string {
	if returnTo == "" {
		return path
	}
	return path + "?" + url.Values{returnParameter: {returnTo}}.Encode()
}

// maxReturn limits the return path, in bytes.
const maxReturn = 4096

// localPath returns a path of this site that a browser may be sent to after it signed
// in, or nothing. It accepts the authorization endpoint and the settings pages, by
// their full path, and never another host in any notation.
func localPath(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || len(raw) > maxReturn || !utf8.ValidString(raw) || !strings.HasPrefix(raw, "/") || u.IsAbs() || u.Host != "" || u.User != nil ||
		u.Fragment != "" || u.RawPath != "" || path.Clean(u.Path) != u.Path || strings.Contains(raw, "\\") {
		return ""
	}
	if u.Path != oauth.PathAuthorize && u.Path != pathSettings && !strings.HasPrefix(u.Path, pathSettings+"/") {
		return ""
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}

// begin signs the browser in, always with a new secret, which replaces the session
// before. So a session that an attacker planted is useless (session fixation).
func (v *request) begin(owner tenant.ID) error {
	secret, err := account.NewSecret("")
	if err != nil {
		return err
	}
	if old := v.sessionSecret(v.r); old != "" {
		if err := account.DeleteLoginSession(v.r.Context(), v.Store, account.HashSecret(old)); err != nil {
			return err
		}
	}
	err = account.CreateLoginSession(v.r.Context(), v.Store, &account.LoginSession{
		Hash: account.HashSecret(secret), MemberID: owner, ExpiresAt: v.Now().UTC().Add(v.SessionLifetime),
	})
	if err != nil {
		return err
	}
	v.setCookie(v.w, sessionCookie, secret, v.SessionLifetime)
	v.clearCookie(v.w, formCookie)
	return nil
}

// signOut ends this browser's session.
func (v *request) signOut() error {
	// Sign the member out even if the browser has disconnected.
	ctx := context.WithoutCancel(v.r.Context())
	if err := account.DeleteLoginSession(ctx, v.Store, v.login.Hash); err != nil {
		return err
	}
	v.clearCookie(v.w, sessionCookie)
	if back := localPath(v.r.PostForm.Get(returnParameter)); back != "" {
		v.redirect(v.SignIn(back))
		return nil
	}
	v.redirectDone(pathSignIn, "signed-out")
	return nil
}

// signOutEverywhere ends all sessions of the member.
func (v *request) signOutEverywhere() error {
	if err := account.DeleteLoginSessions(v.r.Context(), v.Store, v.login.MemberID, ""); err != nil {
		return err
	}
	v.record(account.AccessRevoked, v.login.MemberID, "")
	v.clearCookie(v.w, sessionCookie)
	v.redirectDone(pathSignIn, "signed-out-everywhere")
	return nil
}

func (v *request) showSettings() error {
	v.redirect(pathProfile)
	return nil
}
