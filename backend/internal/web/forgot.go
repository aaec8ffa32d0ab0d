package web

import (
	"context"
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/mail"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// linkContent is the content of the pages that mailed links open.
type linkContent struct {
	Fields   []page.Field
	Link     string
	Username string
	Email    string
	// NewMember is set if the link completes a sign-up.
	NewMember bool
}

func (v *request) noMail() error {
	return page.Refuse(http.StatusNotFound, "This server can’t send mail", "Its owner sets a new password with: kith member set-password USERNAME")
}

func (v *request) showForgot() error {
	if v.Mailer == nil {
		return v.noMail()
	}
	return v.Render(http.StatusOK, "forgot", page.Page{Title: "Forgot your password?", Content: page.Field{
		Name: fieldLogin, Label: "Username or e-mail address", Autocomplete: "username", Required: true, Plain: true,
	}})
}

func (v *request) forgot() error {
	if v.Mailer == nil {
		return v.noMail()
	}
	if err := v.attempt(v.addressLimit("forgot")); err != nil {
		return err
	}
	login := v.Line(fieldLogin)
	return v.sendAndTell(login, func(ctx context.Context) (*mail.Message, error) {
		m, err := account.FindMember(ctx, v.Store, login)
		if fault.Is(err, fault.NotFound) || err == nil && !m.Active() {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if disputed, err := account.AddressIsDisputed(ctx, v.Store, m.ID); err != nil || disputed {
			return nil, err // both addresses were told
		}
		secret, err := v.newLink(ctx, m, account.PurposeReset)
		if err != nil {
			return nil, err
		}
		return v.emails.reset(m, secret)
	})
}

// newLink stores a new mail link to the member's address and returns its secret.
func (web *Web) newLink(ctx context.Context, m *account.Member, purpose account.LinkPurpose) (string, error) {
	return web.storeLink(ctx, &account.MailLink{MemberID: m.ID, Purpose: purpose, Email: m.Email})
}

// storeLink stores a mail link with a new secret, which it returns.
func (web *Web) storeLink(ctx context.Context, l *account.MailLink) (string, error) {
	secret, err := account.NewSecret("")
	if err != nil {
		return "", err
	}
	l.Hash = account.HashSecret(secret)
	return secret, account.CreateMailLink(ctx, web.Store, l)
}

// linkOver answers a link that was used or has expired.
func linkOver() error {
	return page.Refuse(http.StatusNotFound, "This link has expired", "Links work once, for 30 minutes. Ask for a new one.")
}

func (v *request) showReset() error {
	secret := v.R.URL.Query().Get(fieldLink)
	l, err := account.GetMailLink(v.R.Context(), v.Store, account.HashSecret(secret), account.PurposeReset)
	if err := ifMissing(err, linkOver()); err != nil {
		return err
	}
	return v.renderReset(http.StatusOK, l, secret, &page.Mistakes{})
}

func (v *request) renderReset(status int, l *account.MailLink, secret string, m *page.Mistakes) error {
	return v.Render(status, "reset", page.Page{Title: "Choose a new password", Errors: m.List, Content: linkContent{
		Fields: newPasswordFields("New password", m), Link: secret, Username: l.Username,
	}})
}

func (v *request) reset() error {
	secret := v.R.PostForm.Get(fieldLink)
	hash := account.HashSecret(secret)
	if err := v.attemptLink("reset", hash); err != nil {
		return err
	}
	l, err := account.GetMailLink(v.R.Context(), v.Store, hash, account.PurposeReset)
	if err := ifMissing(err, linkOver()); err != nil {
		return err
	}
	m := &page.Mistakes{}
	chosen, err := v.newPassword(m, l.Username, l.Email)
	if err != nil {
		return err
	}
	if len(m.List) > 0 {
		return v.renderReset(http.StatusUnprocessableEntity, l, secret, m)
	}
	passwordHash, err := v.hashPassword(chosen)
	if err != nil {
		return err
	}
	err = account.ResetPassword(v.R.Context(), v.Store, l.Hash, passwordHash)
	if err := ifMissing(err, linkOver()); err != nil {
		return err
	}
	v.record(account.PasswordReset, l.MemberID, "")
	v.ClearCookie(v.W, page.SessionCookie)
	return v.RedirectDone(page.PathSignIn, "reset")
}
