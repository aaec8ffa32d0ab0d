package contacts

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/text"
)

func TestParseLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]captured{
		"": {},
		"Ada Stone, CTO at Helios, met at Tideline Days, ada@helios.example": {
			Name: "Ada Stone", Title: "CTO", Organization: "Helios", MetHow: "Tideline Days", Emails: []string{"ada@helios.example"},
		},
		"Ada Stone CTO at Helios met through Ben":         {Name: "Ada Stone", Title: "CTO", Organization: "Helios", MetHow: "through Ben"},
		"Ada Stone <ada@helios.example> +44 20 7946 0123": {Name: "Ada Stone", Emails: []string{"ada@helios.example"}, Phones: []string{"+44 20 7946 0123"}},
		"Ada Stone; Head of Design; Helios; in Lisbon":    {Name: "Ada Stone", Title: "Head of Design", Organization: "Helios", Location: "Lisbon"},
		"Ada Stone at Helios, #investor #rower, https://ada.example/about": {
			Name: "Ada Stone", Organization: "Helios", Tags: []string{"investor", "rower"}, URLs: []string{"https://ada.example/about"},
		},
		"Ada Stone, likes rowing, met, lives in Porto, based in Faro": {Name: "Ada Stone", Location: "Porto", Note: "likes rowing\nmet\nbased in Faro"},
		"ada@helios.example":                     {Emails: []string{"ada@helios.example"}},
		"Ben, works for Helios, Engineer, 1 2 3": {Name: "Ben", Title: "Engineer", Organization: "Helios", Note: "1 2 3"},
		"Ben, at":                                {Name: "Ben", Note: "at"},
		"José\nMet at the Fair\n(555) 010-0123":  {Name: "José", MetHow: "the Fair", Phones: []string{"(555) 010-0123"}},
		"Ada, # and #, @ada":                     {Name: "Ada", Note: "# and #\n@ada"},
	} {
		if diff := cmp.Diff(want, parseLine(line)); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	}
}

// FuzzParseLine: no line makes the parser panic, and every word of it is in a field, except
// those that say what a part is.
func FuzzParseLine(f *testing.F) {
	for _, line := range []string{
		"Ada Stone, CTO at Helios, met at Tideline Days, ada@helios.example", "A met at B at C met met at", "at at at, x at, CEO, works at, lives in",
		"#,##a,<a@b.c>(+1 (2) 345678", "a;b\r\nc\nd", "CEO at at\u200b x,CTO,\xff",
	} {
		f.Add(line)
	}
	says := []string{"met", "at", "in", "from", "lives", "based", "works", "for"}
	words := func(s string) []string {
		return slices.DeleteFunc(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;#<>()", r) }),
			func(word string) bool { return slices.Contains(says, strings.ToLower(word)) })
	}
	f.Fuzz(func(t *testing.T, line string) {
		c := parseLine(line)
		all := []string{c.Name, c.Title, c.Organization, c.Location, c.MetHow, c.Note}
		all = slices.Concat(all, c.Emails, c.Phones, c.URLs, c.Tags)
		got, want := words(strings.Join(all, " ")), words(text.Line(line))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: the words are %q, not %q", line, got, want)
		}
	})
}
