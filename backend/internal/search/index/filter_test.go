package index_test

import (
	"slices"
	"testing"

	"github.com/kith-crm/kith/backend/internal/search/index"
)

func TestFilters(t *testing.T) {
	t.Parallel()
	full := index.Document{
		ID: "full", Name: "Ann Full", Organization: "Café Aurora", Organizations: []string{"Old Helios"}, Title: "Chief Engineer",
		Location: "São Paulo", Tags: []string{"Ünder"}, Groups: []string{"Chess"}, Emails: []string{"a@b.example"},
		Phones: []string{"1"}, URLs: []string{"x.example"}, Notes: []string{"n"}, Interactions: []string{"i"}, LastInteractionAt: day,
	}
	ix := indexOf(full, index.Document{ID: "bare", Name: "Ann Bare"})
	cases := map[string]struct {
		query index.Query
		want  []string
	}{
		"none":              {index.Query{}, []string{"full", "bare"}},
		"company":           {index.Query{Company: "CAFE"}, []string{"full"}},
		"past company":      {index.Query{Company: "helios"}, []string{"full"}},
		"title":             {index.Query{Title: "engineer"}, []string{"full"}},
		"location":          {index.Query{Location: "sao paulo"}, []string{"full"}},
		"tag":               {index.Query{Tag: "ÜNDER"}, []string{"full"}},
		"tag, no accents":   {index.Query{Tag: "under"}, []string{"full"}},
		"part of a tag":     {index.Query{Tag: "ünd"}, nil},
		"group":             {index.Query{Group: "chess"}, []string{"full"}},
		"after, inclusive":  {index.Query{LastContactAfter: day}, []string{"full"}},
		"after":             {index.Query{LastContactAfter: day.Add(1)}, nil},
		"before, exclusive": {index.Query{LastContactBefore: day}, nil},
		"before":            {index.Query{LastContactBefore: day.Add(1)}, []string{"full"}},
		"has all":           {index.Query{Has: []string{"email", "phone", "url", "note", "interaction"}}, []string{"full"}},
		"has unknown":       {index.Query{Has: []string{"fax"}}, nil},
		"two that disagree": {index.Query{Title: "engineer", Location: "berlin"}, nil},
	}
	for name, c := range cases {
		for _, text := range []string{"", "ann", "an"} {
			c.query.Text = text
			if got := ids(ix.Search(c.query)); !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
				t.Errorf("%s, text %q: found %v, want %v", name, text, got, c.want)
			}
		}
	}
}

func TestSorts(t *testing.T) {
	t.Parallel()
	ix := indexOf(
		index.Document{ID: "1", Name: "Maria Ébert", CreatedAt: day},
		index.Document{ID: "2", Name: "maria adler", Starred: true, CreatedAt: day.Add(2)},
		index.Document{ID: "3", Name: "Maria Fox", LastInteractionAt: day.Add(1), CreatedAt: day.Add(1)},
		index.Document{ID: "4", Name: "Zed", Organization: "Maria", LastInteractionAt: day.Add(9)},
		index.Document{ID: "5", Name: "Marta Adler", LastInteractionAt: day.Add(20)}, // a guess
	)
	for order, want := range map[string][]string{
		index.SortName:        {"2", "1", "3", "4"},
		index.SortLastContact: {"4", "3", "2", "1"},
		index.SortRecent:      {"2", "3", "1", "4"},
		index.SortRelevance:   {"2", "3", "1", "5", "4"},
		"unknown":             {"2", "3", "1", "5", "4"},
	} {
		if got := ids(ix.Search(index.Query{Text: "maria", Sort: order})); !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", order, got, want)
		}
	}
	wantIDs(t, ix.Search(index.Query{Text: "mrata", Sort: index.SortName}), "5")
}

func TestPaging(t *testing.T) {
	t.Parallel()
	ix := indexOf(people(300)...)
	for _, text := range []string{"", "ma", "a", "li", "helios", "maria", "engineer", "robert", "margaret", "@labs3.example"} {
		for _, order := range []string{index.SortRelevance, index.SortName} {
			whole := ix.Search(index.Query{Text: text, Sort: order, Limit: 1000})
			if whole.TotalCapped || whole.Total != len(whole.Hits) {
				t.Errorf("%q: total %d of %d hits, capped %v", text, whole.Total, len(whole.Hits), whole.TotalCapped)
			}
			var pages []string
			for more := true; more; {
				r := ix.Search(index.Query{Text: text, Sort: order, Offset: len(pages), Limit: 7})
				pages = append(pages, ids(r)...)
				more = r.Total > len(pages)
				if more && len(r.Hits) < 7 {
					t.Fatalf("%q: a page of %d before the last", text, len(r.Hits))
				}
			}
			if !slices.Equal(pages, ids(whole)) {
				t.Errorf("%q by %s: pages differ from the whole", text, order)
			}
		}
	}
	if r := ix.Search(index.Query{Text: "a", Offset: -5, Limit: -1}); len(r.Hits) != 10 {
		t.Errorf("%d hits by default", len(r.Hits))
	}
	if r := ix.Search(index.Query{Text: "a", Offset: 1 << 60, Limit: 1 << 60}); len(r.Hits) != 0 {
		t.Errorf("%d hits beyond the end", len(r.Hits))
	}
}
