package text_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/text"
)

func TestForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ singular, plural string }{
		{"boat", "boats"}, {"party", "parties"}, {"day", "days"}, {"box", "boxes"}, {"church", "churches"}, {"wish", "wishes"}, {"glass", "glasses"},
		{"movie", "movies"}, {"house", "houses"}, {"idea", "ideas"}, {"tea", "teas"}, {"amigo", "amigos"},
	} {
		for _, pair := range [][2]string{{c.singular, c.plural}, {c.plural, c.singular}} {
			if forms := text.Forms(pair[0]); forms[0] != pair[0] || !slices.Contains(forms, pair[1]) {
				t.Errorf("%s: %v", pair[0], forms)
			}
		}
	}
	for word, other := range map[string]string{"bus": "bu", "this": "thi", "gas": "ga", "glass": "glas", "status": "statu", "boat": "boa"} {
		if forms := text.Forms(word); slices.Contains(forms, other) {
			t.Errorf("%s: %v", word, forms)
		}
	}
	for _, word := range []string{"", "is", "2024s", "łódź", "北京"} {
		if forms := text.Forms(word); strings.Join(forms, " ") != word {
			t.Errorf("%s: %v", word, forms)
		}
	}
}
