package index_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/search/index"
)

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// FuzzSearch searches for any text in ordinary documents and in one that contains the text. That one
// must be found if the text has a word.
func FuzzSearch(f *testing.F) {
	for _, text := range []string{
		"", " ", "maria lopez", "@", "@.", "a@", "a@b", "+", "0000000", "://", "http://", "www.", "#", "x.y/",
		"'", "o'", "'s", "a''b", "é", "e\u0301", "\u0301", "ß", "ـ", "王小明王小明王小明", "กรุงเทพ", "김민수", "ｱｲｳ", "a\u200bb",
		"\xff\xfe", "\x00", "🚀 rocket", "ﬁ ½ ㈱", "İI ıi", "a b c d e f g h i j k l m n o p q r s t u v w x y z",
	} {
		f.Add(text)
	}
	common := people(40)
	f.Fuzz(func(t *testing.T, text string) {
		ix := indexOf(common...)
		ix.Put(index.Document{
			ID: "it", Name: text, Nickname: text, Title: text, Location: text, Organization: text,
			Emails: []string{text}, Phones: []string{text}, URLs: []string{text},
			Tags: []string{text}, Notes: []string{text + " " + text},
		})
		for _, order := range []string{index.SortRelevance, index.SortName} {
			r := ix.Search(index.Query{Text: text, Company: text, Tags: []string{text}, Sort: order})
			check(t, r)
		}
		r := ix.Search(index.Query{Text: text, Limit: 50})
		check(t, r)
		if len(text) < 64 && strings.ContainsAny(text, alphanumeric) && !slices.Contains(ids(r), "it") {
			t.Errorf("%q does not find a person of that name", text)
		}
	})
}

func check(t *testing.T, r index.Result) {
	t.Helper()
	if r.Total < len(r.Hits) {
		t.Errorf("total %d of %d hits", r.Total, len(r.Hits))
	}
	for _, h := range r.Hits {
		if h.Score < 0 || h.Score > 1 {
			t.Errorf("score %v", h.Score)
		}
		if h.Doc == nil || h.Doc.ID != h.ID {
			t.Errorf("hit %+v", h)
		}
		if utf8.RuneCountInString(h.Snippet) > 160 {
			t.Errorf("snippet of %d characters", utf8.RuneCountInString(h.Snippet))
		}
	}
}
