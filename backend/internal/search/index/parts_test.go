package index_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/search/index"
)

// An index that was built in parts gives the same answers as one that was built by single updates,
// also after later changes.
func TestIndexBuiltInParts(t *testing.T) {
	t.Parallel()
	docs := people(2000)
	whole, bits := index.NewInParts(1000), index.New()
	whole.Put(docs...)
	for bit := range slices.Chunk(docs, 400) {
		bits.Put(bit...)
	}
	whole.Reset(docs...)
	moved := docs[:50]
	for i := range moved {
		moved[i].Location = "Reykjavik"
	}
	for _, ix := range []*index.Index{whole, bits} {
		ix.Put(moved...)
		ix.Delete(docs[1500].ID)
	}
	if whole.Len() != len(docs)-1 || bits.Len() != whole.Len() {
		t.Errorf("%d and %d documents", whole.Len(), bits.Len())
	}
	for _, q := range []index.Query{
		{Text: docs[1234].Name, Limit: 50}, {Text: "stone 11765"}, {Text: "reykjavik", Limit: 100}, {Text: docs[1500].Emails[0]},
		{Text: "enginere", Limit: 20, Offset: 40}, {Tags: docs[7].Tags[:1], Sort: index.SortName, Limit: 40}, {Sort: index.SortLastContact, Limit: 30},
	} {
		got, want := whole.Search(q), bits.Search(q)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v: %s", q, diff)
		}
		if len(got.Hits) == 0 && q.Text != docs[1500].Emails[0] {
			t.Errorf("%+v finds no person", q)
		}
	}
}
