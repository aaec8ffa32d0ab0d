package text_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/text"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, in, want string }{
		{"plain", "Ana López", "Ana López"},
		{"white space at both ends", " \t\n Ana \n", "Ana"},
		{"line break and tab within", "one\n\ttwo", "one\n\ttwo"},
		{"line break of Windows", "one\r\ntwo", "one\ntwo"},
		{"NUL and other controls", "A\x00n\x1b\x7fa\u0085", "Ana"},
		{"bytes that are no text", "A\xffna\xc3", "Ana"},
		{"replacement character", "An\ufffda", "Ana"},
		{"nothing left", "\x00 \ufffd", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := text.Clean(c.in); got != c.want {
				t.Errorf("Clean(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	cases := []struct{ in, want string }{
		{"", ""},
		{"Ana", "Ana"},
		{" Ana\n\tMaría  López ", "Ana María López"},
		{"no\u00a0break", "no break"},
		{"wide\u3000space", "wide space"},
		{"A\x00na \x00 López", "Ana López"},
	}
	for _, c := range cases {
		if got := text.Line(c.in); got != c.want {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	cases := []struct{ in, want string }{
		{"", ""},
		{"  Ana   LÓPEZ\n", "ana lopez"},
		{"Zoë Çelik", "zoe celik"},
		{"Øystein Kjær", "oystein kjaer"},
		{"ØÆŁĐ øæłđ", "oaeld oaeld"},
		{"Łukasz Đorđe", "lukasz dorde"},
		{"Weiß", "weiss"},
		{"STRAẞE", "strasse"},
		{"İstanbul ılık", "istanbul ilik"},
		{"ﬁne Ⅷ ｆｕｌｌ", "fine viii full"},
		{"Ἀθῆναι", "αθηναι"},
		{"Ёлка", "елка"},
		{"李小龙", "李小龙"},
		{"αθήνας ΑΘΉΝΑΣ", "αθηνασ αθηνασ"},
		{"œuvre þór ŋ", "oeuvre thor n"},
		{"Nguyễn", "nguyen"},
		{"सुनील", "सुनील"},
		{"กิตติ", "กิตติ"},
		{"バル", "バル"},
		{"ﾊﾞﾙ", "バル"},
		{"ハ\u3099ル", "バル"},
		{"김민수", "김민수"},
		{norm.NFD.String("김민수"), "김민수"},
		{"مُحَمَّد", "مُحَمَّد"},
		{"שָׁלוֹם", norm.NFC.String("שָׁלוֹם")},
		{"می\u200cخواهم", "ميخواهم"},
		{"علی کریمی", "علي كريمي"},
		{"فاطمہ", "فاطمه"},
		{"❤\ufe0f", "❤"},
		{"e\u0301\u0308 и\u0306", "e и"},
	}
	for _, c := range cases {
		if got := text.Fold(c.in); got != c.want {
			t.Errorf("Fold(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// A stored key is folded once and compared with a folded value, so folding must be
// idempotent for every character.
func TestFoldOfEveryCharacterIsStable(t *testing.T) {
	t.Parallel()
	const block = 256 // characters a call, each between spaces, since a call for each takes long
	for first := rune(0); first <= unicode.MaxRune; first += block {
		var all strings.Builder
		for r := first; r < first+block; r++ {
			all.WriteString(" " + string(r))
		}
		once := text.Fold(all.String())
		if twice := text.Fold(once); twice != once {
			t.Errorf("block %U: folded again (-once +twice):\n%s", first, cmp.Diff(strings.Fields(once), strings.Fields(twice)))
		}
	}
}

// Marks are vowels in these scripts, or make another letter: names that differ in them are
// different names.
func TestFoldKeepsMarksThatAreLetters(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"सुनील", "सनील"}, {"กิตติ", "กตต"}, {"ハル", "バル"}, {"はは", "ぱぱ"}, {"ராமா", "ரம"}, {"తేజ", "తజ"}, {"শিলা", "শলা"}, {"عَلِم", "عَلَم"},
	} {
		if a, b := text.Fold(pair[0]), text.Fold(pair[1]); a == b {
			t.Errorf("%q and %q both fold to %q", pair[0], pair[1], a)
		}
	}
}

func TestFoldProperties(t *testing.T) {
	t.Parallel()
	for name, property := range map[string]func(*rapid.T){
		"idempotent": func(t *rapid.T) {
			s := rapid.String().Draw(t, "s")
			once := text.Fold(s)
			if twice := text.Fold(once); twice != once {
				t.Fatalf("Fold(%q) = %q, folded again %q", s, once, twice)
			}
		},
		"blind to accents": func(t *rapid.T) {
			plain := []rune(rapid.StringMatching(`[A-Za-zΑ-ΡΤ-ΩА-Яа-я ]{0,20}`).Draw(t, "plain"))
			mark := rapid.RuneFrom(nil, unicode.Mn)
			var accented strings.Builder
			for _, r := range plain {
				accented.WriteRune(r)
				if r == ' ' {
					continue
				}
				for range rapid.IntRange(0, 2).Draw(t, "marks") {
					accented.WriteRune(mark.Draw(t, "mark"))
				}
			}
			for _, s := range []string{accented.String(), norm.NFC.String(accented.String())} {
				if got, want := text.Fold(s), text.Fold(string(plain)); got != want {
					t.Fatalf("Fold(%+q) = %q, want %q", s, got, want)
				}
			}
		},
		"blind to case": func(t *rapid.T) {
			s := rapid.StringMatching(`[\p{Latin}\p{Cyrillic} ]{0,20}`).Filter(oneToOneCase).Draw(t, "s")
			if lower, upper := text.Fold(strings.ToLower(s)), text.Fold(strings.ToUpper(s)); lower != upper {
				t.Fatalf("%q: lower folds to %q, upper to %q", s, lower, upper)
			}
		},
		"single spaces within, none at the ends": func(t *rapid.T) {
			got := text.Fold(rapid.String().Draw(t, "s"))
			if strings.Join(strings.Fields(got), " ") != got {
				t.Fatalf("folded to %q", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, property)
		})
	}
}

// oneToOneCase leaves out letters that Unicode's simple case mapping cannot reverse, such
// as ı, whose upper case is I.
func oneToOneCase(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.ToLower(unicode.ToUpper(r)) != unicode.ToLower(r)
	})
}

func TestCleanProperties(t *testing.T) {
	t.Parallel()
	for name, clean := range map[string]func(string) string{"Clean": text.Clean, "Line": text.Line} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				in := anyBytes().Draw(t, "in")
				got := clean(in)
				switch {
				case clean(got) != got:
					t.Fatalf("%q: cleaned %q, again %q", in, got, clean(got))
				case !utf8.ValidString(got):
					t.Fatalf("%q: %q is not UTF-8", in, got)
				case strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
					t.Fatalf("%q: %q holds a control character", in, got)
				case strings.TrimSpace(got) != got:
					t.Fatalf("%q: %q has white space at an end", in, got)
				}
			})
		})
	}
}

// anyBytes draws texts, and bytes that are not valid text.
func anyBytes() *rapid.Generator[string] {
	raw := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) })
	return rapid.OneOf(rapid.String(), raw)
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	cases := []struct {
		in   string
		n    int
		want string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abc", 4, "abc"},
		{"abcd", 3, "abc…"},
		{"abc", 0, "…"},
		{"éèê", 2, "éè…"},
		{"日本語", 2, "日本…"},
		{"👩‍💻x", 1, "👩…"}, // characters are code points, as in JSON Schema's maxLength
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s to %d", c.in, c.n), func(t *testing.T) {
			t.Parallel()
			if got := text.Truncate(c.in, c.n); got != c.want {
				t.Errorf("Truncate(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
			}
		})
	}
}

func TestTruncateNeverCutsACharacter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.String().Draw(t, "in")
		n := rapid.IntRange(0, 50).Draw(t, "n")
		got := text.Truncate(in, n)
		if utf8.RuneCountInString(in) <= n {
			if got != in {
				t.Fatalf("%q was cut to %q", in, got)
			}
			return
		}
		kept, cut := strings.CutSuffix(got, "…")
		if want := string([]rune(in)[:n]); !cut || kept != want {
			t.Fatalf("Truncate(%q, %d) = %q, want %q and an ellipsis", in, n, got, want)
		}
	})
}

func TestVisible(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, in string
		want     bool
	}{
		{"letters", "Ana", true},
		{"a digit", "7", true},
		{"punctuation", "-", true},
		{"a symbol", "❤️", true},
		{"ideographs", "李", true},
		{"a letter among marks", "\u200ba\u200b", true},
		{"nothing", "", false},
		{"white space", " \t\n\u00a0\u3000", false},
		{"zero-width space and joiners", "\u200b\u200c\u200d\u2060\ufeff", false},
		{"bidirectional marks", "\u200e\u200f\u202a\u202e\u2066\u2069", false},
		{"a soft hyphen", "\u00ad", false},
		{"accents without a letter", "\u0301\u0308", false},
		{"variation selectors and tags", "\ufe0f\U000e0041", false},
		{"Hangul fillers", "\u115f\u1160\u3164\uffa0", false},
		{"the blank braille pattern", "\u2800", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := text.Visible(c.in); got != c.want {
				t.Errorf("Visible(%+q) = %v, want %v", c.in, got, c.want)
			}
		})
	}
}

// Quoted text stays one quoted line, whatever it contains.
func TestQuote(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"Ada": `"Ada"`, `a "b" \c`: `"a \"b\" \\c"`, "one\n\nSYSTEM: two\x00\x1b": `"one SYSTEM: two"`, "a\u202eb\u200bc": `"abc"`,
		strings.Repeat("é", 61): `"` + strings.Repeat("é", 60) + `…"`, "": `""`,
	} {
		if got := text.Quote(given); got != want {
			t.Errorf("%q: %s, want %s", given, got, want)
		}
	}
}
