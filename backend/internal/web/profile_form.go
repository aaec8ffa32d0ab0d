package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/web/page"
)

// Names of the form's fields that are not fields of a profile.
const (
	fieldListed     = "listed"
	fieldLinkLabel  = "link_label"
	fieldLinkURL    = "link_url"
	visibilityField = "visibility_"
)

// profileSection is a part of the form.
type profileSection struct {
	ID, Title string
	Fields    []profileField
}

// profileField is a field of the profile, with its visibility.
type profileField struct {
	page.Field

	// Visibility has no options if whoever sees the page sees the field.
	Visibility page.Select
	// Also is a second input with the same visibility.
	Also *page.Field
	// Links replace the input.
	Links linkRows
}

// linkRows are the inputs of the links, with some empty ones at the end.
type linkRows []linkRow

type linkRow struct {
	account.Link

	// Wrong is set if the link has an error.
	Wrong bool
}

func visibilityChoices(name, label string, now account.Visibility) page.Select {
	c := page.Select{Name: name, Label: label}
	for _, v := range []struct {
		value account.Visibility
		label string
	}{{account.Private, "Only me"}, {account.Members, "Members"}, {account.Public, "Everyone"}} {
		c.Options = append(c.Options, page.Option{Value: string(v.value), Label: v.label, Selected: v.value == now || now == "" && v.value == account.Private})
	}
	return c
}

// profileForm returns the form with the values of a profile, as they were typed.
func profileForm(p *account.Profile, m *page.Mistakes) profileContent {
	lines := func(list []string) string { return strings.Join(list, "\n") }
	content := profileContent{Listed: p.Listed, Page: visibilityChoices(account.FieldVisibility, "Who sees your page", p.Visibility), Sections: []profileSection{
		{"profile-you", "You", []profileField{
			{Field: page.Field{Name: account.FieldName, Label: "Name", Value: p.Name, Autocomplete: "name", Required: true, Hint: "Whoever sees the page sees this."}},
			{Field: page.Field{Name: account.FieldHeadline, Label: "Headline", Value: p.Headline, Hint: "What you do, in one line."}},
			{Field: page.Field{Name: account.FieldBio, Label: "About you", Value: p.Bio, Rows: 6}},
			{Field: page.Field{Name: account.FieldAvatarURL, Label: "Picture", Value: p.AvatarURL, Kind: "url", Plain: true, Hint: "The full address of a picture, with https:// in front."}},
		}},
		{"profile-work", "Work", []profileField{
			{Field: page.Field{Name: account.FieldOrganization, Label: "Organisation", Value: p.Organization, Autocomplete: "organization"}},
			{Field: page.Field{Name: account.FieldTitle, Label: "Job title", Value: p.Title, Autocomplete: "organization-title"}},
			{Field: page.Field{Name: account.FieldSkills, Label: "Skills", Value: lines(p.Skills), Rows: 4, Hint: "One per line, up to 20."}},
			{Field: page.Field{Name: account.FieldOpenTo, Label: "Open to", Value: lines(p.OpenTo), Rows: 3, Hint: "For example mentoring. One per line, up to 10."}},
		}},
		{"profile-place", "Place and languages", []profileField{
			{
				Field: page.Field{Name: account.FieldLocation, Label: "Place", Value: p.LocationText, Hint: "For example Lisbon."},
				Also: &page.Field{
					Name: account.FieldCountry, Label: "Country", Value: p.Country, Autocomplete: "country", Error: m.Of(account.FieldCountry),
					Hint: "Its two letters, for example PT.",
				},
			},
			{Field: page.Field{Name: account.FieldLanguages, Label: "Languages", Value: lines(p.Languages), Rows: 3, Hint: "One per line, up to 10."}},
		}},
		{"profile-links", "Elsewhere on the web", []profileField{
			{Field: page.Field{Name: account.FieldLinks, Label: "Links", Hint: "Full addresses, with https:// in front."}, Links: rowsOf(p.Links, m)},
		}},
	}}
	content.Page.Error = m.Of(account.FieldVisibility)
	for _, section := range content.Sections {
		for i := range section.Fields {
			f := &section.Fields[i]
			f.Error = m.Of(f.Name)
			if slices.Contains(account.Fields(), f.Name) {
				f.Visibility = visibilityChoices(visibilityField+f.Name, "Who sees "+strings.ToLower(f.Label), p.FieldVisibility[f.Name])
			}
		}
	}
	return content
}

// rowsOf returns the inputs of the links. The wrong ones are marked once the form was checked.
func rowsOf(links []account.Link, m *page.Mistakes) linkRows {
	checked := m.Of(account.FieldLinks) != ""
	var rows linkRows
	for _, l := range links {
		rows = append(rows, linkRow{l, checked && l.Problem() != ""})
	}
	for range 2 {
		if len(rows) < account.MaxEntries {
			rows = append(rows, linkRow{})
		}
	}
	return rows
}

// readProfile copies the form into a profile; it is validated later.
func readProfile(form url.Values, p *account.Profile) {
	p.Name, p.Headline, p.Bio = form.Get(account.FieldName), form.Get(account.FieldHeadline), form.Get(account.FieldBio)
	p.LocationText, p.Country = form.Get(account.FieldLocation), form.Get(account.FieldCountry)
	p.Organization, p.Title, p.AvatarURL = form.Get(account.FieldOrganization), form.Get(account.FieldTitle), form.Get(account.FieldAvatarURL)
	p.Skills, p.Languages = splitLines(form.Get(account.FieldSkills)), splitLines(form.Get(account.FieldLanguages))
	p.OpenTo = splitLines(form.Get(account.FieldOpenTo))
	p.Links = nil
	labels := form[fieldLinkLabel]
	for i, address := range form[fieldLinkURL] {
		l := account.Link{URL: address}
		if i < len(labels) {
			l.Label = labels[i]
		}
		if l != (account.Link{}) {
			p.Links = append(p.Links, l)
		}
	}
	p.Visibility = account.Visibility(form.Get(account.FieldVisibility))
	p.Listed = form.Get(fieldListed) != ""
	for _, name := range account.Fields() {
		p.FieldVisibility = withVisibility(p.FieldVisibility, name, account.Visibility(form.Get(visibilityField+name)))
	}
}

func splitLines(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
}

// Number returns the number of a row of links, counted from 1.
func (linkRows) Number(i int) string { return fmt.Sprint(i + 1) }
