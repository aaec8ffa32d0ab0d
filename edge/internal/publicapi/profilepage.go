package publicapi

import (
	"fmt"
	"strings"

	"github.com/kith-crm/kith/edge/internal/httpapi"
	"github.com/kith-crm/kith/edge/internal/page"
)

// maxDescription is how many characters of the biography are the description of a page
// without a headline.
const maxDescription = 160

// personData is a profile as schema.org's Person (https://schema.org/Person).
type personData struct {
	Context       string            `json:"@context"`
	Type          string            `json:"@type"`
	ID            string            `json:"@id"`
	URL           string            `json:"url"`
	Name          string            `json:"name"`
	AlternateName string            `json:"alternateName"`
	Description   *string           `json:"description,omitempty"`
	Image         *string           `json:"image,omitempty"`
	JobTitle      *string           `json:"jobTitle,omitempty"`
	WorksFor      *organizationData `json:"worksFor,omitempty"`
	Address       *addressData      `json:"address,omitempty"`
	KnowsAbout    []string          `json:"knowsAbout,omitempty"`
	KnowsLanguage []string          `json:"knowsLanguage,omitempty"`
	SameAs        []string          `json:"sameAs,omitempty"`
}

type organizationData struct {
	Type string `json:"@type"`
	Name string `json:"name"`
}

type addressData struct {
	Type     string `json:"@type"`
	Locality string `json:"addressLocality,omitempty"`
	Country  string `json:"addressCountry,omitempty"`
}

func newPersonData(h humanJSON, name, address string) personData {
	person := personData{
		Context: "https://schema.org", Type: "Person", ID: address, URL: address, Name: name, AlternateName: h.Username,
		Description: h.Headline, Image: h.AvatarURL, JobTitle: h.Title, KnowsAbout: h.Skills, KnowsLanguage: h.Languages,
	}
	if person.Description == nil {
		person.Description = h.Bio
	}
	if h.Organization != nil {
		person.WorksFor = &organizationData{"Organization", *h.Organization}
	}
	if h.Location != nil {
		person.Address = &addressData{"PostalAddress", h.Location.Text, h.Location.Country}
	}
	for _, l := range h.Links {
		person.SameAs = append(person.SameAs, l.URL)
	}
	return person
}

// renderPage renders the page of a profile.
func (p *profileReader) renderPage(h humanJSON) (*httpapi.Document, error) {
	name, address := text(h.Name), PageURL(p.base, h.Username)
	if name == "" {
		name = h.Username
	}
	alternates := []page.Alternate{{Type: typeJSON, Address: h.URL}, {Type: "text/markdown", Address: h.URL + ".md"}}
	body, err := p.pages.Render(page.Profile, page.Page{
		Title: name, Description: description(h, name), Canonical: address, Kind: "profile", Image: text(h.AvatarURL),
		Alternates: alternates, Data: newPersonData(h, name, address), Content: h,
	})
	if err != nil {
		return nil, fmt.Errorf("render profile: %w", err)
	}
	return newDocument(body, page.Type, page.Header(h.AvatarURL != nil), alternates...), nil
}

// description describes a profile in one line.
func description(h humanJSON, name string) string {
	line := text(h.Headline)
	if line == "" {
		line = strings.Join(strings.Fields(text(h.Bio)), " ")
	}
	if line == "" {
		return name + " on Kith."
	}
	if runes := []rune(line); len(runes) > maxDescription {
		return string(runes[:maxDescription-1]) + "…"
	}
	return line
}

// text returns the text of an optional field; "" for none.
func text(field *string) string {
	if field == nil {
		return ""
	}
	return *field
}
