package web

import (
	"net/http"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/civil"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// The parts of the address of an owner link.
const (
	PathOwner  = page.PathOwner
	PathSignIn = page.PathSignIn
	FieldLink  = fieldLink
)

// ownerContent is the content of the page that creates the first member.
type ownerContent struct {
	Fields   []page.Field
	Timezone page.Field
	// Zones are the names of time zones to choose from.
	Zones []string
	Link  string
	// Guess is set until the form is sent: the script then fills in the browser's time zone.
	Guess bool
}

func ownerLinkOver() error {
	return page.Refuse(http.StatusNotFound, "This link does not work any more",
		"It works once, for 15 minutes. If you have created your account, sign in. If not, run “kith owner-link” on the server, and open the link that it prints.")
}

func (v *request) showOwner() error {
	secret := v.R.URL.Query().Get(fieldLink)
	if err := v.checkOwnerLink(secret); err != nil {
		return err
	}
	return v.renderOwner(http.StatusOK, secret, account.Owner{Timezone: "UTC"}, "", &page.Mistakes{})
}

func (v *request) checkOwnerLink(secret string) error {
	err := account.CheckOwnerLink(v.R.Context(), v.Store, account.HashSecret(secret))
	if fault.Is(err, fault.NotFound) {
		return ownerLinkOver()
	}
	return err
}

// renderOwner renders the form. chosen is the password that was typed.
func (v *request) renderOwner(status int, secret string, o account.Owner, chosen string, m *page.Mistakes) error {
	const zones = "zones"
	fields := []page.Field{
		usernameField(o.Username, m),
		{Name: account.FieldName, Label: "Your name", Value: o.Name, Autocomplete: "name", Required: true, Error: m.Of(account.FieldName)},
		{Name: fieldEmail, Label: "E-mail address", Kind: "email", Value: o.Email, Autocomplete: "email", Required: true, Plain: true, Error: m.Of(fieldEmail)},
	}
	return v.Render(status, "owner", page.Page{Title: "Create your account", Errors: m.List, Script: page.ScriptZone, Content: ownerContent{
		Fields: append(fields, v.keepPassword("Password", chosen, m)...), Zones: civil.ZoneNames(), Link: secret, Guess: len(m.List) == 0,
		Timezone: page.Field{
			Name: account.FieldTimezone, Label: "Time zone", Value: o.Timezone, Required: true, Plain: true, Autocomplete: "off", List: zones,
			Hint: "Used for reminders and dates. For example Europe/Berlin.", Error: m.Of(account.FieldTimezone),
		},
	}})
}

// createOwner creates the first member and signs them in.
func (v *request) createOwner() error {
	if err := v.attempt(v.addressLimit("sign-up")); err != nil {
		return err
	}
	secret := v.R.PostForm.Get(fieldLink)
	if err := v.checkOwnerLink(secret); err != nil {
		return err
	}
	o, chosen, m, err := v.readOwner()
	if err != nil {
		return err
	}
	var made *account.Member
	if len(m.List) == 0 {
		if o.PasswordHash, err = v.hashPassword(chosen); err != nil {
			return err
		}
		made, err = account.CreateOwner(v.R.Context(), v.Store, account.HashSecret(secret), o)
	}
	switch {
	case fault.Is(err, fault.NotFound):
		return ownerLinkOver()
	case fault.Is(err, fault.AlreadyExists):
		m.Add(fieldUsername, "This username or e-mail address is taken.")
	case err != nil:
		return err
	}
	if len(m.List) > 0 {
		return v.renderOwner(http.StatusUnprocessableEntity, secret, o, chosen, m)
	}
	if err := v.enter(made, account.SignedIn); err != nil {
		return err
	}
	v.record(account.OwnerLinkUsed, made.ID, "")
	return v.RedirectDone(page.PathStart, "owner")
}

// readOwner returns the form, with the password, and what is wrong with it.
func (v *request) readOwner() (o account.Owner, chosen string, m *page.Mistakes, err error) {
	f, m, err := v.readNames()
	if err != nil {
		return o, "", m, err
	}
	o = account.Owner{Username: f.username, Name: v.Line(account.FieldName), Email: f.email, Timezone: v.Line(account.FieldTimezone)}
	checked := o
	if err := checked.Check(); err == nil {
		o = checked
	} else if err := m.TakeAll(err); err != nil {
		return o, "", m, err
	}
	chosen, err = v.newPassword(m, f.username, f.email)
	return o, chosen, m, err
}
