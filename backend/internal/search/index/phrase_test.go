package index_test

import (
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/search/index/indextest"
)

func TestWordsHits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		query, text string
		hits        int
	}{
		{"tea", "Tea", 2}, {"tea", "teapot", 1}, {"te", "tea", 0}, {"te", "te", 2}, {"tea", "steam", 0},
		{"cafe", "Café", 2}, {"CAFÉ", "cafe", 2}, {"strasse", "Straße", 2},
		{"tea milk", "milk, then tea", 4}, {"tea milk", "tea", 0}, {"tea of milk", "tea milk", 4}, {"the", "the", 2},
		{"tea", strings.Repeat("tea ", 50), 6},
		{"o'brien", "met O’Brien", 2}, {"brien", "met O'Brien", 2},
		{"boats", "a boat", 2}, {"boat", "Boats!", 2}, {"party", "two parties", 2}, {"parties", "the party", 2}, {"parti", "parties", 1}, {"boxes", "a box", 2},
		{"movies", "a movie", 2}, {"glass", "glasses", 2}, {"glasses", "glas", 0}, {"this", "thi", 0}, {"gas", "ga", 0},
		{"北京", "去北京大学", 1}, {"大学", "去北京大学", 1}, {"上海", "去北京大学", 0},
		{"", "tea", 0}, {"...", "tea", 0}, {"tea", "", 0},
	} {
		w := index.ParseWords(c.query)
		if got := indextest.Hits(w, c.text); got != c.hits {
			t.Errorf("%q in %q: %d, want %d", c.query, c.text, got, c.hits)
		}
		if snippet := w.Snippet(c.text); (snippet != "") != (c.text != "") {
			t.Errorf("%q in %q: snippet %q", c.query, c.text, snippet)
		}
	}
}

func FuzzWordsHits(f *testing.F) {
	f.Add("tea", "a cup of tea")
	f.Add("o'b 北", "O'Brien 北京")
	f.Fuzz(func(t *testing.T, query, text string) {
		w := index.ParseWords(query)
		if indextest.Hits(w, text) > 0 && w.Snippet(text) == "" {
			t.Errorf("%q is in %q, but the snippet is empty", query, text)
		}
	})
}
