package index_test

import (
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/search/index"
)

func TestLookupAppliesFilters(t *testing.T) {
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

func TestSharing(t *testing.T) {
	t.Parallel()
	at := func(id string, days int, organizations ...string) index.Document {
		return index.Document{ID: id, Name: id, Organizations: organizations, LastInteractionAt: day.AddDate(0, 0, days)}
	}
	ix := indexOf(at("a", 1, "Helios"), at("b", 2, "HELIOS", "Acme"), at("c", 3, "Acme"), at("d", 4, "Helios", "Alone"))
	ix.Put(at("e", 5, "Acme"), index.Document{ID: "f", Organizations: []string{"Acme"}, Archived: true})
	ix.Put(at("g", 0, "Duo"), at("h", 0, "Duo"))
	ids := func(docs []*index.Document) string {
		out := ""
		for _, d := range docs {
			out += d.ID
		}
		return out
	}
	look := ix.Lookup(index.Query{})
	for most, want := range map[int]string{1: "e", 2: "ec", 9: "ecb"} {
		if got := ids(look.Sharing(index.ByOrganization, "acme", most)); got != want {
			t.Errorf("the first %d: %s, want %s", most, got, want)
		}
	}
	for rows, want := range map[int]string{0: "", 1: "gh", 2: "gh", 3: "gh ec", 9: "gh ec db"} {
		var got []string
		for _, circle := range look.Circles(index.ByOrganization, 2, rows) {
			got = append(got, ids(circle))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%d rows: %q, want %q", rows, got, want)
		}
	}
	computed := 0
	for range 2 {
		index.Once(look, "n", func() int { computed++; return computed })
		index.Once(ix.Lookup(index.Query{}), "n", func() int { computed++; return computed })
	}
	ix.Delete("a")
	if n := index.Once(ix.Lookup(index.Query{}), "n", func() int { computed++; return computed }); n != 2 {
		t.Errorf("computed %d times for two states", n)
	}
}

func TestByIdentifier(t *testing.T) {
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
