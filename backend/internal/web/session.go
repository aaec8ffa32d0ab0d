package web

import (
	"context"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// begin signs the browser in, always with a new secret, which replaces the session
// before. So a session that an attacker planted is useless (session fixation).
func (v *request) begin(owner tenant.ID) error {
	secret, err := account.NewSecret("")
	if err != nil {
		return err
	}
	if old := v.SessionSecret(v.R); old != "" {
		if err := account.DeleteLoginSession(v.R.Context(), v.Store, account.HashSecret(old)); err != nil {
			return err
		}
	}
	err = account.CreateLoginSession(v.R.Context(), v.Store, &account.LoginSession{
		Hash: account.HashSecret(secret), MemberID: owner, ExpiresAt: v.Now().UTC().Add(v.SessionLifetime),
	})
	if err != nil {
		return err
	}
	v.SetCookie(v.W, page.SessionCookie, secret, v.SessionLifetime)
	v.ClearCookie(v.W, page.FormCookie)
	return nil
}

// signOut ends this browser's session.
func (v *request) signOut() error {
	// Sign the member out even if the browser has disconnected.
	ctx := context.WithoutCancel(v.R.Context())
	if err := account.DeleteLoginSession(ctx, v.Store, v.Login.Hash); err != nil {
		return err
	}
	v.ClearCookie(v.W, page.SessionCookie)
	if back := page.LocalPath(v.R.PostForm.Get(page.ReturnParameter)); back != "" {
		v.Redirect(v.SignIn(back))
		return nil
	}
	v.RedirectDone(page.PathSignIn, "signed-out")
	return nil
}

// signOutEverywhere ends all sessions of the member.
func (v *request) signOutEverywhere() error {
	if err := account.DeleteLoginSessions(v.R.Context(), v.Store, v.Login.MemberID, ""); err != nil {
		return err
	}
	v.record(account.AccessRevoked, v.Login.MemberID, "")
	v.ClearCookie(v.W, page.SessionCookie)
	v.RedirectDone(page.PathSignIn, "signed-out-everywhere")
	return nil
}

func (v *request) showSettings() error {
	v.Redirect(page.PathProfile)
	return nil
}
