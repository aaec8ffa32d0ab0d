package profile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/profile"
)

// wrong returns the names of the fields that Check refused.
func wrong(t *testing.T, err error) []string {
	t.Helper()
	var names []string
	var coded *fault.Error
	switch {
	case errors.As(err, &coded) && coded.Code == fault.Invalid:
		for _, f := range coded.Fields {
			names = append(names, f.Name)
		}
	case err != nil:
		t.Fatal(err)
	}
	return names
}

func entries(n, length int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%0*d", length, i))
	}
	return out
}

func TestCheckBounds(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("é", n) }
	cases := []struct {
		name   string
		change func(p *profile.Profile)
		wrong  string // the field; empty when it may be kept
	}{
		{"full", func(*profile.Profile) {}, ""},
		{"an empty page", func(p *profile.Profile) { *p = profile.Profile{Name: "x", Visibility: profile.Private} }, ""},
		{"no name", func(p *profile.Profile) { p.Name = "" }, profile.FieldName},
		{"a name of nothing visible", func(p *profile.Profile) { p.Name = "\u200b\u200f" }, profile.FieldName},
		{"the longest name", func(p *profile.Profile) { p.Name = long(100) }, ""},
		{"a name too long", func(p *profile.Profile) { p.Name = long(101) }, profile.FieldName},
		{"a headline too long", func(p *profile.Profile) { p.Headline = long(161) }, profile.FieldHeadline},
		{"the longest biography", func(p *profile.Profile) { p.Bio = long(4000) }, ""},
		{"a biography too long", func(p *profile.Profile) { p.Bio = long(4001) }, profile.FieldBio},
		{"a place too long", func(p *profile.Profile) { p.LocationText = long(121) }, profile.FieldLocation},
		{"an organisation too long", func(p *profile.Profile) { p.Organization = long(121) }, profile.FieldOrganization},
		{"a title too long", func(p *profile.Profile) { p.Title = long(121) }, profile.FieldTitle},
		{"a country in small letters", func(p *profile.Profile) { p.Country = "pt" }, ""},
		{"a country of three letters", func(p *profile.Profile) { p.Country = "PRT" }, profile.FieldCountry},
		{"a country that is none", func(p *profile.Profile) { p.Country = "XX" }, profile.FieldCountry},
		{"a region of numbers", func(p *profile.Profile) { p.Country = "150" }, profile.FieldCountry},
		{"twenty skills", func(p *profile.Profile) { p.Skills = entries(20, 40) }, ""},
		{"21 skills", func(p *profile.Profile) { p.Skills = entries(21, 4) }, profile.FieldSkills},
		{"a skill too long", func(p *profile.Profile) { p.Skills = []string{long(41)} }, profile.FieldSkills},
		{"11 languages", func(p *profile.Profile) { p.Languages = entries(11, 4) }, profile.FieldLanguages},
		{"11 things open to", func(p *profile.Profile) { p.OpenTo = entries(11, 4) }, profile.FieldOpenTo},
		{"11 links", func(p *profile.Profile) { p.Links = make11() }, profile.FieldLinks},
		{"a link's label too long", func(p *profile.Profile) { p.Links[0].Label = long(41) }, profile.FieldLinks},
		{"no visibility", func(p *profile.Profile) { p.Visibility = "" }, profile.FieldVisibility},
		{"another visibility", func(p *profile.Profile) { p.Visibility = "friends" }, profile.FieldVisibility},
		{"another field's visibility", func(p *profile.Profile) { p.FieldVisibility = map[string]profile.Visibility{"title": "friends"} }, profile.FieldVisibility},
		{"the visibility of what has none", func(p *profile.Profile) { p.FieldVisibility = map[string]profile.Visibility{"email": profile.Public} }, profile.FieldVisibility},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := full()
			c.change(p)
			var want []string
			if c.wrong != "" {
				want = []string{c.wrong}
			}
			if diff := cmp.Diff(want, wrong(t, p.Check())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func make11() (links []profile.Link) {
	for range 11 {
		links = append(links, profile.Link{URL: "https://a.example"})
	}
	return links
}

// No address that runs a script, leads elsewhere than it says, or is not https
// becomes a link or a picture.
func TestCheckRefusesAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)", "data:text/html,<script>", "vbscript:x",
		"http://a.example", "//a.example", "/a", "a.example", "ftp://a.example", "https://", "https:///path", "https:a.example",
		"https://user@a.example", "https://user:password@a.example", "https://a.example\\@b.example", "https://a.example/\" onclick=\"x",
		"https://a.example/<script>", "https://a.example/a b", "https://" + strings.Repeat("a", 500) + ".example", "https://a.example/%zz",
	} {
		p := full()
		p.Links = []profile.Link{{Label: "x", URL: address}}
		if diff := cmp.Diff([]string{profile.FieldLinks}, wrong(t, p.Check())); diff != "" {
			t.Errorf("link %q:\n%s", address, diff)
		}
		p = full()
		p.AvatarURL = address
		if diff := cmp.Diff([]string{profile.FieldAvatarURL}, wrong(t, p.Check())); diff != "" {
			t.Errorf("picture %q:\n%s", address, diff)
		}
	}
	for _, address := range []string{"https://a.example", "https://a.example:8443/b?c=d#e", "https://xn--bcher-kva.example/ü"} {
		p := full()
		p.Links, p.AvatarURL = []profile.Link{{URL: address}}, address
		if err := p.Check(); err != nil {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestCheckCleans(t *testing.T) {
	t.Parallel()
	p := full()
	p.Name, p.Headline, p.Bio, p.Country = "  Ana\n López ", "a\x00b\tc", "one\r\ntwo\x07 ", " es "
	p.Skills = []string{" Go ", "", "Go", "\u200b", "Wood  work"}
	p.Links = []profile.Link{{}, {Label: " Site ", URL: " https://ana.example "}, {Label: "\u200b", URL: "https://b.example"}}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	want := full()
	want.Name, want.Headline, want.Bio, want.Skills = "Ana López", "ab c", "one\ntwo", []string{"Go", "Wood work"}
	want.Links = []profile.Link{{Label: "Site", URL: "https://ana.example"}, {URL: "https://b.example"}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCheckNamesEveryField(t *testing.T) {
	t.Parallel()
	p := &profile.Profile{Country: "XX", AvatarURL: "x", Links: []profile.Link{{URL: "x"}}}
	want := []string{profile.FieldName, profile.FieldCountry, profile.FieldLinks, profile.FieldAvatarURL, profile.FieldVisibility}
	if diff := cmp.Diff(want, wrong(t, p.Check())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
