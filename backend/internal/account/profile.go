package account

import (
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/tenant"
)

// Visibility says who may see a profile or one of its fields.
type Visibility string

// The visibilities; an unset one is private.
const (
	Private Visibility = "private"
	Members Visibility = "members"
	Public  Visibility = "public"
)

// The fields that can be shown one by one.
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

// Fields returns the names of all fields that can be shown one by one.
func Fields() []string {
	return []string{FieldHeadline, FieldBio, FieldLocation, FieldOrganization, FieldTitle, FieldSkills,
		FieldLanguages, FieldLinks, FieldOpenTo, FieldAvatarURL}
}

// Profile is a member's page, and the row that holds it. E-mail, phone and
// birthday are not part of it: they can never be made public.
type Profile struct {
	MemberID     tenant.ID `bun:",pk" json:"-"`
	Name         string
	Headline     string
	Bio          string
	LocationText string
	Country      string
	Organization string
	Title        string
	Skills       []string `bun:"type:text"`
	Languages    []string `bun:"type:text"`
	Links        []Link   `bun:"type:text"`
	OpenTo       []string `bun:"type:text"`
	AvatarURL    string
	// Visibility of the page as a whole.
	Visibility Visibility
	// FieldVisibility of single fields; a field that is missing is private.
	FieldVisibility map[string]Visibility `bun:"type:text"`
	// Listed tells that the member chose to be in the directory.
	Listed bool
	// SearchText holds the folded public words that the directory searches,
	// MemberText those that members may search besides.
	SearchText string `json:"-"`
	MemberText string `json:"-"`
	// SortName is the folded name that the directory is ordered by.
	SortName  string `json:"-"`
	UpdatedAt time.Time
	// Username is the member's; read with the profile, kept with the member.
	Username string `bun:",scanonly" json:"-"`
}

// Link is a web address with its name.
type Link struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

// Position is a place in the directory's order.
type Position struct{ SortName, Username string }

// Shows tells whether a field is visible to the audience.
func (p *Profile) Shows(field string, audience Visibility) bool {
	v := p.FieldVisibility[field]
	return v == Public || v == Members && audience == Members
}

// Reduce blanks every field that the audience may not see.
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

// Index fills SearchText, MemberText and SortName from what each audience sees.
// Fold is the text folding that searches use. The username is not among the words:
// it is searched where it is kept.
func (p *Profile) Index(fold func(string) string) {
	words := func(audience Visibility) string {
		seen := *p
		seen.Reduce(audience)
		return fold(strings.Join(append([]string{p.Name, seen.Headline, seen.Organization, seen.Title, seen.LocationText}, seen.Skills...), " "))
	}
	p.SearchText, p.MemberText, p.SortName = words(Public), words(Members), fold(p.Name)
}
