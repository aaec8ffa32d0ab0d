package people_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/people"
	"pgregory.net/rapid"
)

func TestNormalValue(t *testing.T) {
	t.Parallel()
	cases := []struct{ kind, value, want string }{
		{people.KindEmail, "Ana.Lopez@Example.COM", "ana.lopez@example.com"},
		{people.KindEmail, "ana+work@example.com", "ana+work@example.com"},
		{people.KindEmail, "ÉLODIE@example.com", "élodie@example.com"},
		{people.KindEmail, "", ""},

		{people.KindPhone, "+49 30 1234-567", "+49301234567"},
		{people.KindPhone, "0049 (30) 1234.567", "+49301234567"},
		{people.KindPhone, "00 49 30 1234567", "+49301234567"},
		{people.KindPhone, "+44 (0)20 7946 0123", "+442079460123"},
		{people.KindPhone, "(+44) 20-7946-0123", "+442079460123"},
		{people.KindPhone, "+1 212 555 0100 x12", "+12125550100x12"},
		{people.KindPhone, "+999 12", "+99912"}, // no such country
		{people.KindPhone, "030/1234567", "0301234567"},
		{people.KindPhone, "(212) 555-0100", "2125550100"},
		{people.KindPhone, "1+2", "12"},
		{people.KindPhone, "٠١٢", ""}, // digits that the contract does not allow
		{people.KindPhone, "()", ""},
		{people.KindPhone, "", ""},

		{people.KindURL, "https://www.Example.com/", "example.com"},
		{people.KindURL, "http://example.com", "example.com"},
		{people.KindURL, "HTTPS://EXAMPLE.com/In/Ana-Lopez/", "example.com/In/Ana-Lopez"},
		{people.KindURL, "https://example.com:8443/x", "example.com:8443/x"},
		{people.KindURL, "https://example.com/p?id=7", "example.com/p?id=7"},
		{people.KindURL, "https://example.com/p/#about", "example.com/p"},
		{people.KindPhone, "+49 (0) 30 123456", "+4930123456"},
		{people.KindPhone, "+49000000", "+49000000"}, // no number
		{people.KindURL, "https://example.com/in/élodie", "example.com/in/%C3%A9lodie"},
		{people.KindURL, "https://example.com/in/%C3%A9lodie", "example.com/in/%C3%A9lodie"},
		{people.KindURL, "https://www2.example.com", "www2.example.com"},
		{people.KindURL, "Example.com/Ana", "example.com/ana"}, // no scheme: the host cannot be told from the path
		{people.KindURL, "https://%zz", "https://%zz"},
		{people.KindURL, "", ""},
		{people.KindSocial, "https://www.linkedin.example/in/ana-lopez/", "linkedin.example/in/ana-lopez"},
	}
	for _, c := range cases {
		t.Run(c.kind+" "+c.value, func(t *testing.T) {
			t.Parallel()
			if got := people.NormalValue(c.kind, c.value); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// NormalValue of a phone number is idempotent.
func TestNormalPhoneIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[+0-9(][0-9 ()./x-]{2,38}`).Draw(t, "value")
		once := people.NormalValue(people.KindPhone, value)
		if strings.Trim(once, "+0123456789x") != "" || strings.LastIndexByte(once, '+') > 0 {
			t.Fatalf("%q became %q", value, once)
		}
		if again := people.NormalValue(people.KindPhone, once); again != once {
			t.Fatalf("%q became %q, then %q", value, once, again)
		}
	})
}

func TestNormalOrganization(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, want string }{
		{"Helios", "helios"},
		{"  HELIOS  Energy ", "helios energy"},
		{"Helios, Inc.", "helios"},
		{"Helios Energy Co., Ltd.", "helios energy"},
		{"Helios S.A.", "helios"},
		{"Helios S.p.A.", "helios"},
		{"Helios GmbH", "helios"},
		{"Müller AG", "muller"},
		{"Łódź Sp", "lodz sp"},
		{"Corporation", "corporation"}, // a legal form alone is the name
		{"The Company Company", "the"},
		{"Inc. Magazine", "inc magazine"}, // only at the end
		{"A.B.C.", "abc"},
		{"A.\u0300 Stone", "a stone"}, // an accent after the dot joins the letter before it
		{"株式会社ヘリオス", "株式会社ヘリオス"},
		{"", ""},
		{" , . ", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := people.NormalOrganization(c.name); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// NormalOrganization is idempotent: stored normal names are compared with the normal form
// of input.
func TestNormalOrganizationIsStable(t *testing.T) {
	t.Parallel()
	word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"Inc.", "GmbH", "S.A.", "Co", "Helios", ",", "ẞ"}))
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(word, 0, 5).Draw(t, "words"), " ")
		once := people.NormalOrganization(name)
		if again := people.NormalOrganization(once); again != once {
			t.Fatalf("%q became %q, then %q", name, once, again)
		}
	})
}

func TestSplitEmail(t *testing.T) {
	t.Parallel()
	cases := []struct{ email, local, domain string }{
		{"ana@example.com", "ana", "example.com"},
		{`"a@b"@example.com`, `"a@b"`, "example.com"},
		{"ana", "ana", ""},
		{"ana@", "ana", ""},
		{"", "", ""},
	}
	for _, c := range cases {
		if local, domain := people.SplitEmail(c.email); local != c.local || domain != c.domain {
			t.Errorf("SplitEmail(%q) = %q, %q", c.email, local, domain)
		}
	}
}

func TestNameIsGuessedFromAnAddress(t *testing.T) {
	t.Parallel()
	cases := []struct {
		what         string
		emails, urls []string
		phones       []string
		want         string // empty when the draft is refused
	}{
		{what: "dots", emails: []string{"ana.lopez@example.com"}, want: "Ana Lopez"},
		{what: "underscores and hyphens", emails: []string{"ana_maria-lopez@example.com"}, want: "Ana Maria Lopez"},
		{what: "a tag after a plus", emails: []string{"ana.lopez+kith@example.com"}, want: "Ana Lopez"},
		{what: "the case typed is kept", emails: []string{"Ana.McLopez@example.com"}, want: "Ana McLopez"},
		{what: "one word", emails: []string{"ana@example.com"}, want: "Ana"},
		{what: "an accent first", emails: []string{"élodie.ñandú@example.com"}, want: "Élodie Ñandú"},
		{what: "a social page", urls: []string{"https://www.linkedin.com/in/ana-lopez/"}, want: "Ana Lopez"},
		{what: "a page with a query", urls: []string{"https://x.example/ana.lopez?ref=a/b"}, want: "Ana Lopez"},
		{what: "an escaped page", urls: []string{"https://x.example/in/%C3%A9lodie%20ray"}, want: "Élodie Ray"},
		{what: "an accent in a page", urls: []string{"https://x.example/in/élodie"}, want: "Élodie"},
		{what: "a domain", urls: []string{"https://www.ana-lopez.example"}, want: "Ana Lopez Example"},
		{what: "the e-mail goes first", emails: []string{"ana@x.example"}, urls: []string{"https://x.example/bob"}, want: "Ana"},
		{what: "punctuation only, then a page", emails: []string{"_@x.example"}, urls: []string{"https://x.example/bob"}, want: "Bob"},
		{what: "controls only, then a page", urls: []string{"https://x.example/%00", "https://x.example/bob"}, want: "Bob"},
		{what: "a page longer than a name", urls: []string{"https://x.example/" + strings.Repeat("a", 300)}, want: "A" + strings.Repeat("a", 198) + "…"},
		{what: "a phone number tells no name", phones: []string{"+49301234567"}},
		{what: "nothing"},
		{what: "nothing visible", urls: []string{"https://x.example/%E2%80%8B"}},
	}
	for _, c := range cases {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t)
			got, err := w.create(people.Draft{Emails: c.emails, URLs: c.urls, Phones: c.phones})
			if c.want == "" {
				wantInvalid(t, err, "name")
				w.wantNothingWritten(t)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Connection.Name != c.want {
				t.Errorf("named %q, want %q", got.Connection.Name, c.want)
			}
		})
	}
}

// For any address, the guessed name is text that fits the contract.
func TestGuessedNameProperty(t *testing.T) {
	t.Parallel()
	w := newWriter(t)
	rapid.Check(t, func(t *rapid.T) {
		w.reset()
		draft := people.Draft{
			Emails: []string{rapid.StringN(0, 64, -1).Draw(t, "local") + "@x.example"},
			URLs:   []string{"https://x.example/" + rapid.StringN(0, 480, -1).Draw(t, "path")},
		}
		got, err := w.create(draft)
		if err != nil {
			return // neither has visible characters
		}
		name := got.Connection.Name
		if !utf8.ValidString(name) || utf8.RuneCountInString(name) > 200 || strings.ContainsAny(name, "\x00\n") {
			t.Fatalf("named %q", name)
		}
	})
}
