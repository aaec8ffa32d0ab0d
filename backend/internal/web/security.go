package web

import (
	"context"
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/oauth/signin"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// securityContent is the content of the security page.
type securityContent struct {
	Email    string
	Verified bool
	// CanVerify is set if a link can be sent to the address.
	CanVerify bool
	// EmailFields are those of the form that changes the address; empty if it cannot be
	// changed, because no mail is sent.
	EmailFields []page.Field
	Username    string
	Fields      []page.Field
	// SecondFactor is set if the member has one.
	SecondFactor bool
	// Linked are the identities that the member can sign in with.
	Linked         []linkedRow
	UnlinkPassword page.Field
	// Sessions are the browsers in which the member is signed in.
	Sessions []sessionRow
	Events   eventList
}

func (v *request) showSecurity() error {
	m, err := account.GetMemberByID(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return err
	}
	return v.renderSecurity(http.StatusOK, m, &page.Mistakes{})
}

func (v *request) renderSecurity(status int, m *account.Member, wrong *page.Mistakes) error {
	links, err := signin.ListIdentities(v.R.Context(), v.Store, m.ID)
	if err != nil {
		return err
	}
	sessions, err := v.sessionRows()
	if err != nil {
		return err
	}
	events, err := v.eventList()
	if err != nil {
		return err
	}
	verified := !m.EmailVerifiedAt.IsZero()
	var emailFields []page.Field
	if v.Mailer != nil {
		emailFields = v.emailFields(wrong)
	}
	return v.Render(status, "security", page.Page{Title: "Security", Section: page.PathSecurity, Errors: wrong.List, Content: securityContent{
		Email: m.Email, Verified: verified, CanVerify: v.Mailer != nil && !verified, Username: m.Username, EmailFields: emailFields, SecondFactor: v.Login.SecondFactor,
		Fields:   append([]page.Field{passwordField(fieldPassword, "Current password", wrong)}, newPasswordFields("New password", wrong)...),
		Sessions: sessions, Events: events, Linked: v.linkedRows(links), UnlinkPassword: passwordField(fieldUnlinkPassword, "Your password", wrong),
	}})
}

const notYourPassword = "This is not your password."

func (v *request) changePassword() error {
	m, err := account.GetMemberByID(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return err
	}
	wrong := &page.Mistakes{}
	right, err := v.checkOwnPassword(m, fieldPassword)
	if err != nil {
		return err
	}
	if !right {
		wrong.Add(fieldPassword, notYourPassword)
	}
	chosen, err := v.newPassword(wrong, m.Username, m.Email)
	if err != nil {
		return err
	}
	if len(wrong.List) > 0 {
		return v.renderSecurity(http.StatusUnprocessableEntity, m, wrong)
	}
	hash, err := v.hashPassword(chosen)
	if err != nil {
		return err
	}
	// The session must still live: its member may have ended it while the password was hashed.
	access := v.Login.Access()
	access.Epoch = m.AccessEpoch
	if access, err = account.SetPassword(v.R.Context(), v.Store, access, hash); err != nil {
		return err
	}
	// All sessions have ended. This browser gets a new one: its user knew both passwords.
	if err := v.Begin(access); err != nil {
		return err
	}
	m.PasswordHash, m.AccessEpoch = hash, access.Epoch
	if err := v.rememberDevice(m); err != nil {
		return err
	}
	v.record(account.PasswordChanged, m.ID, "")
	return v.RedirectDone(page.PathSecurity, "password-changed")
}

// sendVerification sends the member a link to confirm their address.
func (v *request) sendVerification() error {
	if v.Mailer == nil {
		return v.noMail()
	}
	owner, email := v.Login.MemberID, v.Login.Email
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
		return page.Refuse(http.StatusServiceUnavailable, "Kith cannot send mail right now", "Try again in a few minutes.")
	}
	return v.RedirectDone(page.PathSecurity, "verify-sent")
}
