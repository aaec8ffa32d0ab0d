package publicapi

import (
	"net/url"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	directoryv1 "github.com/kith-crm/kith/proto/gen/kith/directory/v1"
)

// humanJSON is a public profile as JSON; the page shows the same fields. A field that the member
// did not make public is left out.
type humanJSON struct {
	Object       string        `json:"object"`
	Username     string        `json:"username"`
	Name         *string       `json:"name,omitzero"`
	Headline     *string       `json:"headline,omitzero"`
	Bio          *string       `json:"bio,omitzero"`
	Location     *locationJSON `json:"location,omitzero"`
	Organization *string       `json:"organization,omitzero"`
	Title        *string       `json:"title,omitzero"`
	Skills       []string      `json:"skills,omitempty"`
	Languages    []string      `json:"languages,omitempty"`
	Links        []linkJSON    `json:"links,omitempty"`
	OpenTo       []string      `json:"open_to,omitempty"`
	AvatarURL    *string       `json:"avatar_url,omitzero"`
	URL          string        `json:"url"`
	UpdatedAt    string        `json:"updated_at,omitzero"`
}

type locationJSON struct {
	Text    string `json:"text,omitzero"`
	Country string `json:"country,omitzero"`
}

type linkJSON struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

func newHuman(p *directoryv1.Profile, base string) humanJSON {
	return humanJSON{
		Object:       "human",
		Username:     p.GetUsername(),
		Name:         p.Name,
		Headline:     p.Headline,
		Bio:          p.Bio,
		Location:     newLocationJSON(p.GetLocation()),
		Organization: p.Organization,
		Title:        p.Title,
		Skills:       p.GetSkills(),
		Languages:    p.GetLanguages(),
		Links:        newLinksJSON(p.GetLinks()),
		OpenTo:       p.GetOpenTo(),
		AvatarURL:    secureAddress(p.AvatarUrl),
		URL:          ProfileURL(base, p.GetUsername()),
		UpdatedAt:    formatTime(p.GetUpdatedAt()),
	}
}

func newLocationJSON(l *directoryv1.Location) *locationJSON {
	if l.GetText() == "" && l.GetCountry() == "" {
		return nil
	}
	return &locationJSON{Text: l.GetText(), Country: l.GetCountry()}
}

func newLinksJSON(links []*directoryv1.Link) []linkJSON {
	var shown []linkJSON
	for _, l := range links {
		if isHTTPS(l.GetUrl()) {
			shown = append(shown, linkJSON{Label: l.GetLabel(), URL: l.GetUrl()})
		}
	}
	return shown
}

// secureAddress returns the address if it is a valid https address.
func secureAddress(address *string) *string {
	if address == nil || !isHTTPS(*address) {
		return nil
	}
	return address
}

// isHTTPS reports whether the address can be shown as a link: https, with a host, without
// credentials and without characters that could end the link early.
func isHTTPS(address string) bool {
	if strings.ContainsAny(address, " <>\"\\`") || strings.IndexFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f }) >= 0 {
		return false
	}
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil
}

// formatTime writes a time as RFC 3339 in UTC, to the second; "" for none.
func formatTime(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().UTC().Format(time.RFC3339)
}
