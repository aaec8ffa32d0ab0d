package account

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/text"
	"golang.org/x/text/language"
)

// Bounds of a profile, in characters and entries.
const (
	MaxName     = 100
	MaxHeadline = 160
	MaxBio      = 4000
	MaxLine     = 120
	MaxEntry    = 40
	MaxSkills   = 20
	MaxEntries  = 10
	MaxURL      = 500
)

// Names of checked fields that have no visibility of their own.
const (
	FieldName       = "name"
	FieldCountry    = "country"
	FieldVisibility = "visibility"
)

// Check cleans the fields and fails with fault.Invalid, naming each field that breaks a
// rule.
func (p *Profile) Check() error {
	c := checker{}
	p.Name = c.name(p.Name)
	p.Headline = c.line(FieldHeadline, p.Headline, MaxHeadline)
	p.Bio = text.Clean(strings.ReplaceAll(p.Bio, "\r\n", "\n"))
	c.length(FieldBio, p.Bio, MaxBio)
	p.LocationText = c.line(FieldLocation, p.LocationText, MaxLine)
	p.Country = c.country(p.Country)
	p.Organization = c.line(FieldOrganization, p.Organization, MaxLine)
	p.Title = c.line(FieldTitle, p.Title, MaxLine)
	p.Skills = c.list(FieldSkills, p.Skills, MaxSkills)
	p.Languages = c.list(FieldLanguages, p.Languages, MaxEntries)
	p.OpenTo = c.list(FieldOpenTo, p.OpenTo, MaxEntries)
	p.Links = c.links(p.Links)
	p.AvatarURL = text.Line(p.AvatarURL)
	if p.AvatarURL != "" && !isWebAddress(p.AvatarURL) {
		c.refuse(FieldAvatarURL, "enter an address that starts with https://")
	}
	c.visibilities(p)
	return c.fault()
}

// checker collects the errors, at most one sentence for each field.
type checker struct{ fields []fault.Field }

func (c *checker) refuse(field, format string, args ...any) {
	if !slices.ContainsFunc(c.fields, func(f fault.Field) bool { return f.Name == field }) {
		c.fields = append(c.fields, fault.Field{Name: field, Message: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) fault() error {
	if len(c.fields) == 0 {
		return nil
	}
	err := fault.InvalidField(c.fields[0].Name, "%s", c.fields[0].Message)
	err.Fields = c.fields
	return err
}

func (c *checker) length(field, s string, most int) {
	if n := utf8.RuneCountInString(s); n > most {
		c.refuse(field, "use %d characters at most; these are %d", most, n)
	}
}

func (c *checker) line(field, s string, most int) string {
	s = text.Line(s)
	c.length(field, s, most)
	return s
}

// list cleans the entries and removes empty and repeated ones.
func (c *checker) list(field string, entries []string, most int) []string {
	var kept []string
	for _, entry := range entries {
		entry = text.Line(entry)
		if !text.Visible(entry) || slices.Contains(kept, entry) {
			continue
		}
		if utf8.RuneCountInString(entry) > MaxEntry {
			c.refuse(field, "use %d characters at most for each entry", MaxEntry)
		}
		kept = append(kept, entry)
	}
	if len(kept) > most {
		c.refuse(field, "enter %d at most; these are %d", most, len(kept))
	}
	return kept
}

func (c *checker) name(typed string) string {
	name := c.line(FieldName, typed, MaxName)
	if !text.Visible(name) {
		c.refuse(FieldName, "enter the name that others see")
	}
	return name
}

// country accepts an ISO 3166-1 code of two letters.
func (c *checker) country(code string) string {
	code = strings.ToUpper(text.Line(code))
	if code == "" {
		return ""
	}
	region, err := language.ParseRegion(code)
	if err != nil || !region.IsCountry() || len(code) != 2 {
		c.refuse(FieldCountry, "enter a country's two letters, for example DE")
	}
	return code
}

func (c *checker) links(links []Link) []Link {
	var kept []Link
	for _, l := range links {
		l.Label, l.URL = text.Line(l.Label), text.Line(l.URL)
		if l == (Link{}) {
			continue
		}
		if problem := l.Problem(); problem != "" {
			c.refuse(FieldLinks, "%s", problem)
		} else if !text.Visible(l.Label) {
			l.Label = ""
		}
		kept = append(kept, l)
	}
	if len(kept) > MaxEntries {
		c.refuse(FieldLinks, "enter %d at most; these are %d", MaxEntries, len(kept))
	}
	return kept
}

// Problem returns what is wrong with a link; empty if nothing is.
func (l Link) Problem() string {
	switch {
	case !isWebAddress(text.Line(l.URL)):
		return "each link needs an address that starts with https://"
	case utf8.RuneCountInString(text.Line(l.Label)) > MaxEntry:
		return fmt.Sprintf("use %d characters at most for each label", MaxEntry)
	}
	return ""
}

func (c *checker) visibilities(p *Profile) {
	known := []Visibility{Private, Members, Public}
	if !slices.Contains(known, p.Visibility) {
		c.refuse(FieldVisibility, "choose who sees the page")
	}
	for field, v := range p.FieldVisibility {
		if !slices.Contains(Fields(), field) || !slices.Contains(known, v) {
			c.refuse(FieldVisibility, "choose who sees each field")
		}
	}
}

// isWebAddress reports whether s is an absolute https address that is safe to link:
// without any part that could be mistaken for another host.
func isWebAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && len(s) <= MaxURL && u.Scheme == "https" && u.Hostname() != "" && u.User == nil &&
		!strings.ContainsAny(s, " \\\"'<>`") && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
