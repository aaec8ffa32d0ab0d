package index

import (
	"slices"
	"strings"
	"testing"
)

func TestScanner(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ text, words, parts string }{
		"empty":               {"", "", ""},
		"case and separators": {"Maria  LÓPEZ-Ruiz, (Dr.) x_y", "maria lópez ruiz dr x y", ""},
		"apostrophe":          {"O'Brien d’Arc", "obrien darc", "o brien d arc"},
		"possessive":          {"Maria's and O'Hara's", "maria and ohara", "o hara"},
		"ampersand":           {"AT&T R & D", "att r d", "at t"},
		"joiners at the edge": {"'quoted' rock'n'roll' a''b", "quoted rocknroll a b", "rock n roll"},
		"decomposed":          {"e\u0301t\u00e9", "été", ""},
		"format characters":   {"zero\u200bwidth so\u00adft", "zerowidth soft", ""},
		"mark alone":          {"\u0301 a", "a", ""},
		"digits":              {"7up 007", "7up 007", ""},
		"script change":       {"Acme株式会社3号店", "acme 株式会社 3 号店", ""},
		"kana":                {"アレクサンダー・スミス", "アレクサンダー スミス", ""},
		"Turkish":             {"İZMİR Işık", "izmir işık", ""},
		"invalid":             {"a\xffb", "a b", ""},
		"emoji":               {"🚀rocket", "rocket", ""},
		"cut":                 {strings.Repeat("a", 100), strings.Repeat("a", maxWordBytes), ""},
	}
	for name, c := range cases {
		var words, parts []string
		var s scanner
		s.reset(c.text)
		for s.next() {
			words = append(words, string(s.word))
			s.parts(func(part []byte) { parts = append(parts, string(part)) })
		}
		if got := strings.Join(words, " "); got != c.words {
			t.Errorf("%s: words %q, want %q", name, got, c.words)
		}
		if got := strings.Join(parts, " "); got != c.parts {
			t.Errorf("%s: parts %q, want %q", name, got, c.parts)
		}
	}
}

func TestChunks(t *testing.T) {
	t.Parallel()
	var got []string
	chunks([]byte("王小明先生"), func(piece []byte, whole bool) {
		if whole {
			t.Errorf("%s is not whole", piece)
		}
		got = append(got, string(piece))
	})
	if want := []string{"王小明先", "小明先生", "明先生", "先生", "生"}; !slices.Equal(got, want) {
		t.Errorf("pieces %v, want %v", got, want)
	}
	chunks([]byte("王小"), func(piece []byte, whole bool) {
		if whole != (string(piece) == "王小") {
			t.Errorf("%s: whole %v", piece, whole)
		}
	})
}

func TestFoldWord(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"": "", "plain": "plain", "josé": "jose", "müller": "muller", "straße": "strasse", "søren": "soren",
		"łukasz": "lukasz", "æsir": "aesir", "œuvre": "oeuvre", "þór": "thor", "ðað": "dad", "đorđe": "dorde",
		"ışık": "isik", "dvořák": "dvorak", "nguyễn": "nguyen", "ｍａｒｉａ": "maria", "ﬁlip": "filip", "ℳax": "max",
		"ёлка": "елка", "αθήνας": "αθηνασ", "مُحَمَّد": "مُحَمَّد", "أحمد": "أحمد", "שָׁלוֹם": "שָׁלוֹם",
		"ガ": "ガ", "ｶﾞ": "ガ", "김민수": "김민수", "हिन्दी": "हिन्दी", "กรุงเทพ": "กรุงเทพ", "ـ": "ـ",
	} {
		if got := foldWord(word); got != want {
			t.Errorf("%q folds to %q, want %q", word, got, want)
		}
	}
}

func TestFirstRunes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		n    int
		want string
	}{{"abc", 5, "abc"}, {"abc", 2, "ab"}, {"ééé", 2, "éé"}, {"ééé", 3, "ééé"}, {"a", 0, ""}} {
		if got := firstRunes(c.text, c.n); got != c.want {
			t.Errorf("first %d of %q are %q", c.n, c.text, got)
		}
	}
}
