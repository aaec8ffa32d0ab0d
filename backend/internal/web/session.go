package web

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// sessionRow is a login session on the security page.
type sessionRow struct {
	account.LoginSession

	// Here is set on this browser's.
	Here bool
}

// sessionRows returns the member's sessions, this browser's first.
func (v *request) sessionRows() ([]sessionRow, error) {
	sessions, err := account.ListLoginSessions(v.R.Context(), v.Store, v.Login.MemberID, v.IdleSince())
	var here, others []sessionRow
	for _, s := range sessions {
		if s.ID == v.Login.ID {
			here = append(here, sessionRow{s, true})
			continue
		}
		others = append(others, sessionRow{s, false})
	}
	return append(here, others...), err
}

// signOut ends this browser's session.
func (v *request) signOut() error {
	// Sign the member out even if the browser has disconnected.
	ctx := context.WithoutCancel(v.R.Context())
	if err := account.DeleteLoginSession(ctx, v.Store, v.Login.Hash); err != nil {
		return err
	}
	v.record(account.SignedOut, v.Login.MemberID, "")
	v.ClearCookie(v.W, page.SessionCookie)
	if back := page.LocalPath(v.R.PostForm.Get(page.ReturnParameter)); back != "" {
		return v.Redirect(v.SignIn(back))
	}
	return v.RedirectDone(page.PathSignIn, "signed-out")
}

// endSession ends one of the member's sessions. The next request of that browser is refused.
func (v *request) endSession() error {
	sessionID := v.Line("id")
	if sessionID == v.Login.ID {
		return v.signOut()
	}
	if err := account.EndLoginSession(v.R.Context(), v.Store, v.Login.MemberID, sessionID); err != nil {
		return err
	}
	v.record(account.SessionEnded, v.Login.MemberID, sessionID)
	return v.RedirectDone(page.PathSecurity, "session-ended")
}

// endOtherSessions ends all of the member's sessions but this one, which gets a new secret: another
// browser may have a copy of the cookie.
func (v *request) endOtherSessions() error {
	if err := account.DeleteLoginSessions(v.R.Context(), v.Store, v.Login.MemberID, v.Login.Hash); err != nil {
		return err
	}
	if err := v.Rotate(); err != nil {
		return err
	}
	v.record(account.OtherSessionsEnded, v.Login.MemberID, "")
	return v.RedirectDone(page.PathSecurity, "sessions-ended")
}

// signOutEverywhere ends all sessions of the member.
func (v *request) signOutEverywhere() error {
	if err := account.DeleteLoginSessions(v.R.Context(), v.Store, v.Login.MemberID, ""); err != nil {
		return err
	}
	v.record(account.SessionsEnded, v.Login.MemberID, "")
	v.ClearCookie(v.W, page.SessionCookie)
	return v.RedirectDone(page.PathSignIn, "signed-out-everywhere")
}

func (v *request) showSettings() error {
	return v.Redirect(page.PathAccount)
}
