package web

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/kith-crm/kith/backend/internal/profile"
)

// Names of the form's fields that are no field of a profile by themselves.
const (
	fieldListed     = "listed"
	fieldLinkLabel  = "link_label"
	fieldLinkURL    = "link_url"
	visibilityField = "visibility_"
)

// profileField is a field of the profile with who sees it.
type profileField struct {
	field

	Visibility choices
	// Also is a second input that the same visibility holds for.
	Also *field
	// Links stands in the place of the input.
	Links *linkRows
}

// choices is a list to choose one of.
type choices struct {
	Name, Label string
	Options     []choice
}

type choice struct {
	Value, Label string
	Selected     bool
}

// linkRows are the inputs of the links, some empty ones at the end.
type linkRows struct {
	Rows  []profile.Link
	Error string
}

func visibilityChoices(name, label string, now profile.Visibility) choices {
	c := choices{Name: name, Label: label}
	for _, v := range []struct {
		value profile.Visibility
		label string
	}{{profile.Private, "Only me"}, {profile.Members, "Members"}, {profile.Public, "Everyone"}} {
		c.Options = append(c.Options, choice{string(v.value), v.label, v.value == now || now == "" && v.value == profile.Private})
	}
	return c
}

// profileForm shows a profile as a form.
func profileForm(p *profile.Profile, m *mistakes) profileContent {
	lines := func(list []string) string { return strings.Join(list, "\n") }
	inputs := []profileField{
		{field: field{Name: profile.FieldHeadline, Label: "Headline", Value: p.Headline, Hint: "What you do, in one line."}},
		{field: field{Name: profile.FieldBio, Label: "About you", Value: p.Bio, Rows: 6}},
		{
			field: field{Name: profile.FieldLocation, Label: "Place", Value: p.LocationText, Hint: "For example Lisbon."},
			Also: &field{
				Name: profile.FieldCountry, Label: "Country", Value: p.Country, Autocomplete: "country", Error: m.of(profile.FieldCountry),
				Hint: "Its two letters, for example PT.",
			},
		},
		{field: field{Name: profile.FieldOrganization, Label: "Organisation", Value: p.Organization, Autocomplete: "organization"}},
		{field: field{Name: profile.FieldTitle, Label: "Job title", Value: p.Title, Autocomplete: "organization-title"}},
		{field: field{Name: profile.FieldSkills, Label: "Skills", Value: lines(p.Skills), Rows: 4, Hint: "One on each line, 20 at most."}},
		{field: field{Name: profile.FieldLanguages, Label: "Languages", Value: lines(p.Languages), Rows: 3, Hint: "One on each line, 10 at most."}},
		{field: field{Name: profile.FieldLinks, Label: "Links", Hint: "Full addresses, with https:// in front."}, Links: rowsOf(p.Links, m)},
		{field: field{Name: profile.FieldOpenTo, Label: "Open to", Value: lines(p.OpenTo), Rows: 3, Hint: "For example mentoring. One on each line, 10 at most."}},
		{field: field{Name: profile.FieldAvatarURL, Label: "Picture", Value: p.AvatarURL, Kind: "url", Plain: true, Hint: "The full address of a picture, with https:// in front."}},
	}
	for i := range inputs {
		f := &inputs[i]
		f.Error = m.of(f.Name)
		f.Visibility = visibilityChoices(visibilityField+f.Name, "Who sees "+strings.ToLower(f.Label), p.FieldVisibility[f.Name])
	}
	return profileContent{
		Fields: inputs, Listed: p.Listed,
		Name: field{
			Name: profile.FieldName, Label: "Name", Value: p.Name, Autocomplete: "name", Required: true, Error: m.of(profile.FieldName),
			Hint: "Whoever sees the page sees this.",
		},
		Page: visibilityChoices(profile.FieldVisibility, "Who sees your page", p.Visibility),
	}
}

func rowsOf(links []profile.Link, m *mistakes) *linkRows {
	rows := append([]profile.Link{}, links...)
	for range 2 {
		if len(rows) < profile.MaxEntries {
			rows = append(rows, profile.Link{})
		}
	}
	return &linkRows{Rows: rows, Error: m.of(profile.FieldLinks)}
}

// readProfile puts what was typed into a profile; its rules look at it later.
func readProfile(form url.Values, p *profile.Profile) {
	p.Name, p.Headline, p.Bio = form.Get(profile.FieldName), form.Get(profile.FieldHeadline), form.Get(profile.FieldBio)
	p.LocationText, p.Country = form.Get(profile.FieldLocation), form.Get(profile.FieldCountry)
	p.Organization, p.Title, p.AvatarURL = form.Get(profile.FieldOrganization), form.Get(profile.FieldTitle), form.Get(profile.FieldAvatarURL)
	p.Skills, p.Languages = splitLines(form.Get(profile.FieldSkills)), splitLines(form.Get(profile.FieldLanguages))
	p.OpenTo = splitLines(form.Get(profile.FieldOpenTo))
	p.Links = nil
	labels := form[fieldLinkLabel]
	for i, address := range form[fieldLinkURL] {
		l := profile.Link{URL: address}
		if i < len(labels) {
			l.Label = labels[i]
		}
		p.Links = append(p.Links, l)
	}
	p.Visibility = profile.Visibility(form.Get(profile.FieldVisibility))
	p.Listed = form.Get(fieldListed) != ""
	for _, name := range profile.Fields() {
		p.FieldVisibility = withVisibility(p.FieldVisibility, name, profile.Visibility(form.Get(visibilityField+name)))
	}
}

func splitLines(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
}

// Number names a row of links to people, beginning with 1.
func (linkRows) Number(i int) string { return fmt.Sprint(i + 1) }
