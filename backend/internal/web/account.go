package web

import (
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// accountContent is the content of the account page.
type accountContent struct {
	Username string
	Fields   []page.Field
	// Used and Quota are the space that photos, uploaded files and recorded changes take, and how
	// much they may take, in words; Quota is empty without a limit.
	Used, Quota string
	// Zone is the member's time zone. Profile and Time are the addresses of the pages on which the profile and the time zone
	// are changed.
	Zone, Profile, Time string
	// Credits are those of the month; nil without a limit.
	Credits *Credits
}

func (v *request) showAccount() error {
	return v.renderAccount(http.StatusOK, "", &page.Mistakes{})
}

func (v *request) renderAccount(status int, typed string, wrong *page.Mistakes) error {
	kept, quota, err := v.data().Space(v.R.Context())
	if err != nil {
		return err
	}
	content := accountContent{Username: v.Login.Username, Used: db.Megabytes(kept), Zone: v.Login.Timezone, Profile: page.PathProfile, Time: page.PathTime}
	if content.Credits, err = v.Credits(v.R.Context(), v.Login.MemberID); err != nil {
		return err
	}
	if quota > 0 {
		content.Quota = db.Megabytes(quota)
	}
	content.Fields = []page.Field{
		{
			Name: fieldUsername, Label: "Your username", Value: typed, Required: true, Plain: true, Autocomplete: "off",
			Hint: v.Text("To be sure that you mean it, type %s.", v.Login.Username), Error: wrong.Of(fieldUsername),
		},
		passwordField(fieldPassword, "Your password", wrong),
	}
	return v.Render(status, "account", page.Page{Title: "Account", Section: page.PathAccount, Errors: wrong.List, Content: content})
}

// deleteAccount deletes the member and all their data, if they typed their username and
// their password.
func (v *request) deleteAccount() error {
	m, err := account.GetMemberByID(v.R.Context(), v.Store, v.Login.MemberID)
	if err != nil {
		return err
	}
	wrong := &page.Mistakes{}
	typed := v.Line(fieldUsername)
	if typed != m.Username {
		wrong.Add(fieldUsername, "This is not your username.")
	}
	right, err := v.checkOwnPassword(m, fieldPassword)
	if err != nil {
		return err
	}
	if !right {
		wrong.Add(fieldPassword, notYourPassword)
	}
	if len(wrong.List) > 0 {
		return v.renderAccount(http.StatusUnprocessableEntity, typed, wrong)
	}
	if err := account.DeleteMember(v.R.Context(), v.Store, m.ID); err != nil {
		return err
	}
	// The member's rows are deleted, so the event names the member only by the hash.
	v.events.Record(v.R.Context(), account.SecurityEvent{
		Kind: account.AccountDeleted, Subject: account.SubjectOf(m.ID), Address: v.addressBucket(),
	})
	v.ClearCookie(v.W, page.SessionCookie)
	v.Login, v.Secret = nil, ""
	return v.RenderProblem(http.StatusOK, "Your account is deleted",
		"Your people and notes are deleted, and your agents and tokens with them.", page.Link{Path: page.PathStart, Title: "Go to the start page"})
}
