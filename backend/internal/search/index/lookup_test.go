package index_test

import (
	"testing"

	"github.com/kith-crm/kith/backend/internal/search/index"
)

func TestLookupFindsWhatTheFiltersAdmit(t *testing.T) {
	t.Parallel()
	ix := indexOf(
		index.Document{ID: "a", Name: "Ana", Location: "Zürich", Tags: []string{"chess"}},
		index.Document{ID: "b", Name: "Bob", Location: "Oslo"},
		index.Document{ID: "c", Name: "Cat", Archived: true},
	)
	ix.Put(index.Document{ID: "b", Name: "Robert", Location: "Bergen"})
	before := ix.Lookup(index.Query{Text: "nobody"})
	ix.Delete("a")
	for name, c := range map[string]struct {
		in   *index.Lookup
		want map[string]string
	}{
		"no filter":        {ix.Lookup(index.Query{}), map[string]string{"b": "Robert"}},
		"an earlier state": {before, map[string]string{"a": "Ana", "b": "Robert"}},
		"a filter":         {ix.Lookup(index.Query{Location: "bergen"}), map[string]string{"b": "Robert"}},
		"none admitted":    {ix.Lookup(index.Query{Tags: []string{"chess"}}), map[string]string{}},
		"an empty index":   {index.New().Lookup(index.Query{}), map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, id := range []string{"a", "b", "c", "d", ""} {
				d, ok := c.in.Find(id)
				if name := c.want[id]; ok != (name != "") || ok && d.Name != name {
					t.Errorf("%s: %v, want %q", id, d, name)
				}
			}
		})
	}
}

func TestIdentifiersAreTold(t *testing.T) {
	t.Parallel()
	ix := indexOf(index.Document{ID: "a", Name: "Ana Lima", Emails: []string{"ana@x.example"}})
	for text, want := range map[string]bool{"ana@x.example": true, "Ana Lima": false, "ana": false, "bob@x.example": false} {
		if got := ix.Search(index.Query{Text: text}); got.ByIdentifier != want {
			t.Errorf("%s: %v", text, got.ByIdentifier)
		}
	}
	if got := ix.Search(index.Query{Text: "ana lima"}).Hits[0].Score; got < index.NameScore {
		t.Errorf("a full name scores %v", got)
	}
	if got := ix.Search(index.Query{Text: "ana"}).Hits[0].Score; got >= index.NameScore {
		t.Errorf("a given name scores %v", got)
	}
}
