package account

import (
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Visibility is who may see a profile or one of its fields.
type Visibility string

// The visibilities; an unset one means private.
const (
	Private Visibility = "private"
	Members Visibility = "members"
	Public  Visibility = "public"
)

// The fields that have their own visibility.
const (
	FieldHeadline     = "headline"
	FieldBio          = "bio"
	FieldLocation     = "location"
	FieldOrganization = "organization"
	FieldTitle        = "title"
	FieldSkills       = "skills"
	FieldLanguages    = "languages"
	FieldLinks        = "links"
	FieldOpenTo       = "open_to"
	FieldAvatarURL    = "avatar_url"
)

// Fields returns the names of all fields that have their own visibility.
func Fields() []string {
	return []string{FieldHeadline, FieldBio, FieldLocation, FieldOrganization, FieldTitle, FieldSkills,
		FieldLanguages, FieldLinks, FieldOpenTo, FieldAvatarURL}
}

// Profile is a member's profile, and its row. E-mail, phone and birthday are not part of it,
// because they can never be made public.
type Profile struct {
	MemberID     tenant.ID `bun:",pk" json:"-"`
	Name         string    `json:"name"`
	Headline     string    `json:"headline"`
	Bio          string    `json:"bio"`
	LocationText string    `json:"location_text"`
	Country      string    `json:"country"`
	Organization string    `json:"organization"`
	Title        string    `json:"title"`
	Skills       []string  `bun:"type:text" json:"skills"`
	Languages    []string  `bun:"type:text" json:"languages"`
	Links        []Link    `bun:"type:text" json:"links"`
	OpenTo       []string  `bun:"type:text" json:"open_to"`
	AvatarURL    string    `json:"avatar_url"`
	// Visibility of the whole profile.
	Visibility Visibility `json:"visibility"`
	// FieldVisibility is the visibility of single fields; a missing field is private.
	FieldVisibility map[string]Visibility `bun:"type:text" json:"field_visibility"`
	// Listed is set if the member chose to be in the directory.
	Listed bool `json:"listed"`
	// SearchText contains the folded public words that the directory searches,
	// MemberText those that only members can search.
	SearchText string `json:"-"`
	MemberText string `json:"-"`
	// SortName is the folded name by which the directory is sorted.
	SortName  string    `json:"-"`
	UpdatedAt time.Time `json:"updated_at"`
	// Username is the member's, which never changes.
	Username string `json:"-"`
}

// Link is a web address with its name.
type Link struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

// Position is a place in the directory's order.
type Position struct{ SortName, Username string }

// Shows reports whether a field is visible to the audience.
func (p *Profile) Shows(field string, audience Visibility) bool {
	v := p.FieldVisibility[field]
	return v == Public || v == Members && audience == Members
}

// ShowsMore reports whether the page or one of its fields has become visible to more people.
func (p *Profile) ShowsMore(before *Profile) bool {
	if p.Visibility.wider(before.Visibility) || p.Listed && !before.Listed {
		return true
	}
	return slices.ContainsFunc(Fields(), func(field string) bool { return p.FieldVisibility[field].wider(before.FieldVisibility[field]) })
}

// wider reports whether the visibility includes more people than another one.
func (v Visibility) wider(than Visibility) bool {
	order := []Visibility{Private, Members, Public}
	return slices.Index(order, v) > max(0, slices.Index(order, than))
}

// Reduce clears every field that the audience may not see.
func (p *Profile) Reduce(audience Visibility) {
	for field, blank := range map[string]func(){
		FieldHeadline:     func() { p.Headline = "" },
		FieldBio:          func() { p.Bio = "" },
		FieldLocation:     func() { p.LocationText, p.Country = "", "" },
		FieldOrganization: func() { p.Organization = "" },
		FieldTitle:        func() { p.Title = "" },
		FieldSkills:       func() { p.Skills = nil },
		FieldLanguages:    func() { p.Languages = nil },
		FieldLinks:        func() { p.Links = nil },
		FieldOpenTo:       func() { p.OpenTo = nil },
		FieldAvatarURL:    func() { p.AvatarURL = "" },
	} {
		if !p.Shows(field, audience) {
			blank()
		}
	}
}

// Index sets SearchText, MemberText and SortName from the fields that each audience can see. fold
// is the text folding of searches. The texts do not include the username, which the directory
// searches separately.
func (p *Profile) Index(fold func(string) string) {
	words := func(audience Visibility) string {
		seen := *p
		seen.Reduce(audience)
		return fold(strings.Join(append([]string{p.Name, seen.Headline, seen.Organization, seen.Title, seen.LocationText}, seen.Skills...), " "))
	}
	p.SearchText, p.MemberText, p.SortName = words(Public), words(Members), fold(p.Name)
}
