package account_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/account"
	"github.com/kith-crm/kith/backend/internal/fault"
)

// wrong returns the names of the fields that Check rejected.
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
		change func(p *account.Profile)
		wrong  string // the field; empty when it may be kept
	}{
		{"full", func(*account.Profile) {}, ""},
		{"an empty page", func(p *account.Profile) { *p = account.Profile{Name: "x", Visibility: account.Private} }, ""},
		{"no name", func(p *account.Profile) { p.Name = "" }, account.FieldName},
		{"an invisible name", func(p *account.Profile) { p.Name = "\u200b\u200f" }, account.FieldName},
		{"the longest name", func(p *account.Profile) { p.Name = long(100) }, ""},
		{"a name too long", func(p *account.Profile) { p.Name = long(101) }, account.FieldName},
		{"a headline too long", func(p *account.Profile) { p.Headline = long(161) }, account.FieldHeadline},
		{"the longest biography", func(p *account.Profile) { p.Bio = long(4000) }, ""},
		{"a biography too long", func(p *account.Profile) { p.Bio = long(4001) }, account.FieldBio},
		{"a place too long", func(p *account.Profile) { p.LocationText = long(121) }, account.FieldLocation},
		{"an organisation too long", func(p *account.Profile) { p.Organization = long(121) }, account.FieldOrganization},
		{"a title too long", func(p *account.Profile) { p.Title = long(121) }, account.FieldTitle},
		{"a country in small letters", func(p *account.Profile) { p.Country = "pt" }, ""},
		{"a country of three letters", func(p *account.Profile) { p.Country = "PRT" }, account.FieldCountry},
		{"an unknown country", func(p *account.Profile) { p.Country = "XX" }, account.FieldCountry},
		{"a region of numbers", func(p *account.Profile) { p.Country = "150" }, account.FieldCountry},
		{"twenty skills", func(p *account.Profile) { p.Skills = entries(20, 40) }, ""},
		{"21 skills", func(p *account.Profile) { p.Skills = entries(21, 4) }, account.FieldSkills},
		{"a skill too long", func(p *account.Profile) { p.Skills = []string{long(41)} }, account.FieldSkills},
		{"11 languages", func(p *account.Profile) { p.Languages = entries(11, 4) }, account.FieldLanguages},
		{"11 things open to", func(p *account.Profile) { p.OpenTo = entries(11, 4) }, account.FieldOpenTo},
		{"11 links", func(p *account.Profile) { p.Links = make11() }, account.FieldLinks},
		{"a link's label too long", func(p *account.Profile) { p.Links[0].Label = long(41) }, account.FieldLinks},
		{"no visibility", func(p *account.Profile) { p.Visibility = "" }, account.FieldVisibility},
		{"another visibility", func(p *account.Profile) { p.Visibility = "friends" }, account.FieldVisibility},
		{"another field's visibility", func(p *account.Profile) { p.FieldVisibility = map[string]account.Visibility{"title": "friends"} }, account.FieldVisibility},
		{"the visibility of a field without one", func(p *account.Profile) { p.FieldVisibility = map[string]account.Visibility{"email": account.Public} }, account.FieldVisibility},
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

func make11() (links []account.Link) {
	for range 11 {
		links = append(links, account.Link{URL: "https://a.example"})
	}
	return links
}

// An address is refused as a link or picture if it runs a script, looks like another host, or is
// not https.
func TestCheckRefusesAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\tscript:alert(1)", "data:text/html,<script>", "vbscript:x",
		"http://a.example", "//a.example", "/a", "a.example", "ftp://a.example", "https://", "https:///path", "https:a.example",
		"https://user@a.example", "https://user:password@a.example", "https://a.example\\@b.example", "https://a.example/\" onclick=\"x",
		"https://a.example/<script>", "https://a.example/a b", "https://" + strings.Repeat("a", 500) + ".example", "https://a.example/%zz",
	} {
		p := full()
		p.Links = []account.Link{{Label: "x", URL: address}}
		if diff := cmp.Diff([]string{account.FieldLinks}, wrong(t, p.Check())); diff != "" {
			t.Errorf("link %q:\n%s", address, diff)
		}
		p = full()
		p.AvatarURL = address
		if diff := cmp.Diff([]string{account.FieldAvatarURL}, wrong(t, p.Check())); diff != "" {
			t.Errorf("picture %q:\n%s", address, diff)
		}
	}
	for _, address := range []string{"https://a.example", "https://a.example:8443/b?c=d#e", "https://xn--bcher-kva.example/ü"} {
		p := full()
		p.Links, p.AvatarURL = []account.Link{{URL: address}}, address
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
	p.Links = []account.Link{{}, {Label: " Site ", URL: " https://ana.example "}, {Label: "\u200b", URL: "https://b.example"}}
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	want := full()
	want.Name, want.Headline, want.Bio, want.Skills = "Ana López", "ab c", "one\ntwo", []string{"Go", "Wood work"}
	want.Links = []account.Link{{Label: "Site", URL: "https://ana.example"}, {URL: "https://b.example"}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCheckNamesEveryField(t *testing.T) {
	t.Parallel()
	p := &account.Profile{Country: "XX", AvatarURL: "x", Links: []account.Link{{URL: "x"}}}
	want := []string{account.FieldName, account.FieldCountry, account.FieldLinks, account.FieldAvatarURL, account.FieldVisibility}
	if diff := cmp.Diff(want, wrong(t, p.Check())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
