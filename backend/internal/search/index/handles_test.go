package index

import (
	"testing"
)

func TestParseHandles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]handles{
		"maria":                     {},
		"maria lopez":               {},
		"Maria@X.example":           {email: "maria@x.example"},
		"mailto:a@b.example":        {email: "a@b.example"},
		"a @b":                      {},
		"@X.example":                {domain: "x.example"},
		"x.example":                 {domain: "x.example", url: "x.example"},
		"www.X.example/":            {domain: "x.example", url: "x.example"},
		"https://x.example/In/Me/#": {url: "x.example/in/me"},
		"ftp://x.example?q=1":       {domain: "x.example?q=1", url: "x.example?q=1"},
		"+1 (212) 555-0100":         {phone: "12125550100"},
		"0044 20.7946/0123":         {phone: "442079460123"},
		"12":                        {},
		"555-CALL":                  {},
	} {
		if got := parseHandles(text); got != want {
			t.Errorf("%q is read as %+v, want %+v", text, got, want)
		}
	}
}

func TestHandleWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"maria.lopez":              "maria.lopez",
		"maria.lopez@mail.x.test":  "maria.lopez mail.x",
		"a@localhost":              "a localhost",
		"https://x.test/in/ml-7?a": "ml-7",
		"x.test":                   "x.test",
	} {
		if got := parseHandles(text).words(text); got != want {
			t.Errorf("words of %q are %q, want %q", text, got, want)
		}
	}
}

func TestSamePhone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"+44 20 7946 0123", "020 7946 0123", true},
		{"+44 20 7946 0123", "0044 (20) 79460123", true},
		{"79460123", "+44 20 7946 0123", true},
		{"460123", "+44 20 7946 0123", false},
		{"112", "112", true},
		{"+1 212 555 0100", "+1 213 555 0100", false},
	} {
		a, b := normalizePhone(c.a), normalizePhone(c.b)
		if samePhone(a, b) != c.same || samePhone(b, a) != c.same {
			t.Errorf("%s and %s: want %v", c.a, c.b, c.same)
		}
		if c.same && phoneKey(a) != phoneKey(b) {
			t.Errorf("%s and %s have different keys", c.a, c.b)
		}
	}
}
