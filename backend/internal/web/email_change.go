package web

import (
	"context"
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// The paths of a change of the member's e-mail address: where the form goes, and the page
// that the mailed link opens.
const (
	pathEmail        = page.PathSecurity + "/email"
	pathEmailConfirm = pathEmail + "/confirm"
)

// Names of the form's fields. The password has a name of its own, because the form that
// changes the password is on the same page.
const (
	fieldNewEmail      = "new_email"
	fieldEmailPassword = "email_password"
)

// emailFields returns the fields of the form, with what was typed, except for the password.
func (v *request) emailFields(wrong *page.Mistakes) []page.Field {
	return []page.Field{
		{
			Name: fieldNewEmail, Label: "New e-mail address", Kind: "email", Value: v.Line(fieldNewEmail), Autocomplete: "email",
			Required: true, Plain: true, Error: wrong.Of(fieldNewEmail),
		},
		passwordField(fieldEmailPassword, "Your password", wrong),
	}
}

// askEmailChange sends a link to the new address and tells the present one. The answer is the
// same whether or not the new address belongs to a member: only its owner learns that.
func (v *request) askEmailChange() error {
	if v.Mailer == nil {
		return v.noEmailChange()
	}
	m, err := account.GetMemberByID(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return err
	}
	disputed, err := account.AddressIsDisputed(v.R.Context(), v.Store, m.ID)
	if err != nil {
		return err
	}
	if disputed {
		return inDispute()
	}
	wrong := &page.Mistakes{}
	address, err := account.CheckEmail(v.Line(fieldNewEmail))
	if err := wrong.Take(fieldNewEmail, err); err != nil {
		return err
	}
	if address == m.Email {
		wrong.Add(fieldNewEmail, "This is your address already.")
	}
	right, err := v.checkOwnPassword(m, fieldEmailPassword)
	if err != nil {
		return err
	}
	if !right {
		wrong.Add(fieldEmailPassword, notYourPassword)
	}
	if len(wrong.List) > 0 {
		return v.renderSecurity(http.StatusUnprocessableEntity, m, wrong)
	}
	if !v.enqueue(address, func(ctx context.Context) (*mail.Message, error) { return v.writeEmailChange(ctx, m, address) }) {
		return page.Refuse(http.StatusServiceUnavailable, "Kith cannot send mail right now", "Your address stays as it is. Try again in a few minutes.")
	}
	v.record(account.EmailChangeAsked, m.ID, "")
	return v.RedirectDone(page.PathSecurity, "email-asked")
}

// writeEmailChange writes the email to the new address.
func (web *Web) writeEmailChange(ctx context.Context, m *account.Member, address string) (*mail.Message, error) {
	owner, err := account.FindMember(ctx, web.Store, address)
	if err == nil {
		return web.emails.addressTaken(owner)
	}
	if !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	secret, err := web.storeLink(ctx, &account.MailLink{MemberID: m.ID, Purpose: account.PurposeChange, Email: m.Email, NewEmail: address})
	if err != nil {
		return nil, err
	}
	return web.emails.confirmChange(m, address, secret)
}

func (v *request) noEmailChange() error {
	return page.Refuse(http.StatusNotFound, "This server can’t send mail",
		"A new address is confirmed by a link in an email, so your address stays as it is. Its owner can set up mail with KITH_SMTP_URL.")
}

// memberWithLink admits signed-in browsers. It asks others to sign in and open the link again. It
// does not redirect them to sign in and back: then other addresses, and the rows of unfinished
// sign-ins, would contain the link.
func memberWithLink(v *page.Request) (bool, error) {
	if v.Login == nil {
		refused := page.Refuse(http.StatusForbidden, "Sign in first",
			"Only the member whose address changes can confirm it. Sign in, and open the link in the email again.")
		refused.Next = page.Link{Path: page.PathSignIn, Title: "Sign in"}
		return false, refused
	}
	return page.MembersOnly(v)
}

// emailChange returns the signed-in member's link. The link is not enough by itself: if the
// member mistyped the address, a stranger reads the email, and could take the account over
// with a confirmed address.
func (v *request) emailChange(secret string) (*account.MailLink, error) {
	l, err := account.GetMailLink(v.R.Context(), v.Store, account.HashSecret(secret), account.PurposeChange)
	if fault.Is(err, fault.NotFound) || err == nil && l.MemberID != v.Login.MemberID {
		return nil, linkOver()
	}
	return l, err
}

// emailChangeContent is the content of the page that the link opens.
type emailChangeContent struct{ Link, From, To string }

// showEmailChange shows what the link confirms. It changes nothing.
func (v *request) showEmailChange() error {
	secret := v.R.URL.Query().Get(fieldLink)
	l, err := v.emailChange(secret)
	if err != nil {
		return err
	}
	return v.Render(http.StatusOK, "email-change", page.Page{
		Title: "Confirm your new e-mail address", Section: page.PathSecurity,
		Content: emailChangeContent{Link: secret, From: l.Email, To: l.NewEmail},
	})
}

// changeEmail gives the member the address that the link was sent to. As with a new password,
// every other browser is signed out.
func (v *request) changeEmail() error {
	l, err := v.emailChange(v.R.PostForm.Get(fieldLink))
	if err != nil {
		return err
	}
	err = account.ChangeEmail(v.R.Context(), v.Store, v.Login.Access(), v.Login.Hash, l.Hash)
	switch {
	case fault.Is(err, fault.NotFound):
		return linkOver()
	case fault.Is(err, fault.Conflict):
		return page.Refuse(http.StatusConflict, "This address belongs to another account", "Your address stays as it is. Choose another one.")
	case err != nil:
		return err
	}
	// The old address is told, in case another person changed it.
	v.recordEvent(account.SecurityEvent{Kind: account.EmailChanged, TenantID: l.MemberID, Email: l.Email})
	if err := v.Rotate(); err != nil {
		return err
	}
	return v.RedirectDone(page.PathSecurity, "email-changed")
}
