package web

import (
	"context"
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
)

// securityContent is the content of the security page.
type securityContent struct {
	Email    string
	Verified bool
	// CanVerify is set if a link can be sent to the address.
	CanVerify bool
	Username  string
	Fields    []field
	// Linked are the identities that the member can sign in with.
	Linked         []linkedRow
	UnlinkPassword field
	Events         []eventRow
}

func (v *request) showSecurity() error {
	m, err := account.GetMemberByID(v.r.Context(), v.Store, v.login.MemberID)
	if err != nil {
		return err
	}
	return v.renderSecurity(http.StatusOK, m, &mistakes{})
}

func (v *request) renderSecurity(status int, m *account.Member, wrong *mistakes) error {
	links, err := signin.ListIdentities(v.r.Context(), v.Store, m.ID)
	if err != nil {
		return err
	}
	events, err := v.eventRows(m.ID)
	if err != nil {
		return err
	}
	verified := !m.EmailVerifiedAt.IsZero()
	v.render(status, "security", page{Title: "Security", Section: pathSecurity, Errors: wrong.list, Content: securityContent{
		Email: m.Email, Verified: verified, CanVerify: v.Mailer != nil && !verified, Username: m.Username,
		Fields: append([]field{passwordField("Current password", wrong)}, newPasswordFields("New password", wrong)...),
		Events: events, Linked: v.linkedRows(links), UnlinkPassword: field{
			Name: fieldUnlinkPassword, Label: "Your password", Kind: "password", Autocomplete: "current-password", Required: true,
			Error: wrong.of(fieldUnlinkPassword),
		},
	}})
	return nil
}

const notYourPassword = "This is not your password."

func (v *request) changePassword() error {
	m, err := account.GetMemberByID(v.r.Context(), v.Store, v.login.MemberID)
	if err != nil {
		return err
	}
	wrong := &mistakes{}
	right, err := v.checkOwnPassword(m, fieldPassword)
	if err != nil {
		return err
	}
	if !right {
		wrong.add(fieldPassword, notYourPassword)
	}
	chosen, err := wrong.newPassword(v.r, m.Username, m.Email)
	if err != nil {
		return err
	}
	if len(wrong.list) > 0 {
		return v.renderSecurity(http.StatusUnprocessableEntity, m, wrong)
	}
	hash, err := v.hashPassword(chosen)
	if err != nil {
		return err
	}
	if err := account.SetPassword(v.r.Context(), v.Store, m.ID, hash); err != nil {
		return err
	}
	v.tellPasswordChanged(m.Username, m.Email, "other browsers were signed out")
	// All sessions ended; this browser, which knew both passwords, gets a new one.
	if err := v.begin(m.ID); err != nil {
		return err
	}
	m.PasswordHash = hash
	if err := v.rememberDevice(m); err != nil {
		return err
	}
	v.record(account.PasswordChanged, m.ID, "")
	v.redirectDone(pathSecurity, "password-changed")
	return nil
}

// sendVerification sends the member a link to confirm their address.
func (v *request) sendVerification() error {
	if v.Mailer == nil {
		return v.noMail()
	}
	owner, email := v.login.MemberID, v.login.Email
	taken := v.enqueue(email, func(ctx context.Context) (*mail.Message, error) {
		m, err := account.GetMemberByID(ctx, v.Store, owner)
		if err != nil || !m.EmailVerifiedAt.IsZero() {
			return nil, err
		}
		secret, err := v.newLink(ctx, m, account.PurposeVerify)
		if err != nil {
			return nil, err
		}
		return v.emails.verify(m, secret)
	})
	if !taken {
		return refuse(http.StatusServiceUnavailable, "Kith cannot send mail right now", "Try again in a few minutes.")
	}
	v.redirectDone(pathSecurity, "verify-sent")
	return nil
}
