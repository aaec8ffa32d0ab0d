package web

import (
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
)

// accountContent is the content of the account page.
type accountContent struct {
	Username string
	Fields   []field
}

func (v *request) showAccount() error {
	v.renderAccount(http.StatusOK, "", &mistakes{})
	return nil
}

func (v *request) renderAccount(status int, typed string, wrong *mistakes) {
	v.render(status, "account", page{Title: "Account", Section: pathAccount, Errors: wrong.list, Content: accountContent{
		Username: v.login.Username,
		Fields: []field{
			{
				Name: fieldUsername, Label: "Your username", Value: typed, Required: true, Plain: true, Autocomplete: "off",
				Hint: "To be sure that you mean it, type " + v.login.Username + ".", Error: wrong.of(fieldUsername),
			},
			passwordField("Your password", wrong),
		},
	}})
}

// deleteAccount deletes the member and all their data, if they typed their username and
// their password.
func (v *request) deleteAccount() error {
	m, err := account.GetMemberByID(v.r.Context(), v.Store, v.login.MemberID)
	if err != nil {
		return err
	}
	wrong := &mistakes{}
	typed := v.line(fieldUsername)
	if typed != m.Username {
		wrong.add(fieldUsername, "This is not your username.")
	}
	right, err := v.checkOwnPassword(m, fieldPassword)
	if err != nil {
		return err
	}
	if !right {
		wrong.add(fieldPassword, notYourPassword)
	}
	if len(wrong.list) > 0 {
		v.renderAccount(http.StatusUnprocessableEntity, typed, wrong)
		return nil
	}
	if err := account.DeleteMember(v.r.Context(), v.Store, m.ID); err != nil {
		return err
	}
	// The member's rows are deleted, so the event names the member only by the hash.
	v.events.Record(v.r.Context(), account.SecurityEvent{
		Kind: account.AccountDeleted, Subject: account.SubjectOf(m.ID), Address: v.addressBucket(),
	})
	v.clearCookie(v.w, sessionCookie)
	v.login, v.secret = nil, ""
	v.renderProblem(http.StatusOK, "Your account is deleted",
		"Everything you kept is gone, and every agent and token with it. Farewell.", link{pathStart, "Go to the start page"})
	return nil
}
