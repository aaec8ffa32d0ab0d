package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/search/index"
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
		{"北京", "去北京大学", 1}, {"大学", "去北京大学", 1}, {"上海", "去北京大学", 0},
		{"", "tea", 0}, {"...", "tea", 0}, {"tea", "", 0},
	} {
		w := index.ParseWords(c.query)
		if got := w.Hits(c.text); got != c.hits {
			t.Errorf("%q in %q: %d, want %d", c.query, c.text, got, c.hits)
		}
		if snippet := w.Snippet(c.text); (snippet != "") != (c.hits > 0) && !strings.Contains(c.query, " ") {
			t.Errorf("%q in %q: snippet %q", c.query, c.text, snippet)
		}
	}
}

// Mentioned finds people by their notes and interactions only.
func TestMentioned(t *testing.T) {
	t.Parallel()
	ix := index.New()
	ix.Put(
		index.Document{ID: "a", Name: "Tea", Notes: []string{"likes Milk", "likes teapots"}},
		index.Document{ID: "b", Name: "Milk Tea", Bio: "tea milk"},
		index.Document{ID: "c", Interactions: []string{"tea with café au lait"}},
		index.Document{ID: "archived", Notes: []string{"tea milk"}, Archived: true},
		index.Document{ID: "deleted", Notes: []string{"tea milk"}},
	)
	ix.Put(index.Document{ID: "d", Notes: []string{"tea 去北京大学"}})
	ix.Delete("deleted")
	for query, want := range map[string]string{
		"tea": "[a c d] true", "milk tea": "[a] true", "te": "[] true", "cafe": "[c] true", "大学": "[d] true",
		"dragons": "[] true", "tea dragons": "[] true", "": "[] true", "li": "[] true", "lik": "[a] true",
	} {
		ids, all := ix.Mentioned(index.ParseWords(query), 3)
		slices.Sort(ids)
		if got := fmt.Sprint(ids, all); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	if ids, all := ix.Mentioned(index.ParseWords("tea"), 2); ids != nil || all {
		t.Errorf("more than the limit: %v, %v", ids, all)
	}
}

func FuzzWordsHits(f *testing.F) {
	f.Add("tea", "a cup of tea")
	f.Add("o'b 北", "O'Brien 北京")
	f.Fuzz(func(t *testing.T, query, text string) {
		w := index.ParseWords(query)
		if w.Hits(text) > 0 && w.Snippet(text) == "" {
			t.Errorf("%q is in %q, but the snippet is empty", query, text)
		}
		// A non-ASCII character disables the shortcut of absentFrom, and must not change the
		// result.
		if n, same := w.Hits(text), w.Hits(text+" ☃"); n != same {
			t.Errorf("%q in %q: %d, read word by word %d", query, text, n, same)
		}
		ix := index.New()
		ix.Put(index.Document{ID: "with", Notes: []string{text}}, index.Document{ID: "in parts", Interactions: []string{"nothing", text}})
		if ids, all := ix.Mentioned(w, 2); w.Hits(text) > 0 && (len(ids) != 2 || !all) {
			t.Errorf("%q is in %q, but the index finds it for %q", query, text, ids)
		}
	})
}

func BenchmarkWordsHits(b *testing.B) {
	plain := strings.Repeat("Met Ana at the harbour; she's into sailing and talked about her new boat. ", 7)
	for name, c := range map[string]struct{ query, text string }{
		"found":             {"sailing boat", plain},
		"not there":         {"sailing dragons", plain},
		"not there, accent": {"sailing dragons", "López " + plain},
	} {
		b.Run(name, func(b *testing.B) {
			w := index.ParseWords(c.query)
			b.SetBytes(int64(len(c.text)))
			for b.Loop() {
				w.Hits(c.text)
			}
		})
	}
}
