package search_test

import (
	"slices"
	"testing"

	"github.com/kith-crm/kith/backend/internal/search"
)

func TestFilters(t *testing.T) {
	t.Parallel()
	full := search.Document{
		ID: "full", Name: "Ann Full", Organization: "Café Aurora", Organizations: []string{"Old Helios"}, Title: "Chief Engineer",
		Location: "São Paulo", Tags: []string{"Ünder"}, Groups: []string{"Chess"}, Emails: []string{"a@b.example"},
		Phones: []string{"1"}, URLs: []string{"x.example"}, Notes: []string{"n"}, Interactions: []string{"i"}, LastInteractionAt: day,
	}
	ix := indexOf(full, search.Document{ID: "bare", Name: "Ann Bare"})
	cases := map[string]struct {
		query search.Query
		want  []string
	}{
		"none":              {search.Query{}, []string{"full", "bare"}},
		"company":           {search.Query{Company: "CAFE"}, []string{"full"}},
		"past company":      {search.Query{Company: "helios"}, []string{"full"}},
		"title":             {search.Query{Title: "engineer"}, []string{"full"}},
		"location":          {search.Query{Location: "sao paulo"}, []string{"full"}},
		"tag":               {search.Query{Tag: "ÜNDER"}, []string{"full"}},
		"tag, no accents":   {search.Query{Tag: "under"}, []string{"full"}},
		"part of a tag":     {search.Query{Tag: "ünd"}, nil},
		"group":             {search.Query{Group: "chess"}, []string{"full"}},
		"after, inclusive":  {search.Query{LastContactAfter: day}, []string{"full"}},
		"after":             {search.Query{LastContactAfter: day.Add(1)}, nil},
		"before, exclusive": {search.Query{LastContactBefore: day}, nil},
		"before":            {search.Query{LastContactBefore: day.Add(1)}, []string{"full"}},
		"has all":           {search.Query{Has: []string{"email", "phone", "url", "note", "interaction"}}, []string{"full"}},
		"has unknown":       {search.Query{Has: []string{"fax"}}, nil},
		"two that disagree": {search.Query{Title: "engineer", Location: "berlin"}, nil},
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
		search.Document{ID: "1", Name: "Maria Ébert", CreatedAt: day},
		search.Document{ID: "2", Name: "maria adler", Starred: true, CreatedAt: day.Add(2)},
		search.Document{ID: "3", Name: "Maria Fox", LastInteractionAt: day.Add(1), CreatedAt: day.Add(1)},
		search.Document{ID: "4", Name: "Zed", Organization: "Maria", LastInteractionAt: day.Add(9)},
		search.Document{ID: "5", Name: "Marta Adler", LastInteractionAt: day.Add(20)}, // a guess
	)
	for order, want := range map[string][]string{
		search.SortName:        {"2", "1", "3", "4"},
		search.SortLastContact: {"4", "3", "2", "1"},
		search.SortRecent:      {"2", "3", "1", "4"},
		search.SortRelevance:   {"2", "3", "1", "5", "4"},
		"unknown":              {"2", "3", "1", "5", "4"},
	} {
		if got := ids(ix.Search(search.Query{Text: "maria", Sort: order})); !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", order, got, want)
		}
	}
	wantIDs(t, ix.Search(search.Query{Text: "mrata", Sort: search.SortName}), "5")
}

func TestPaging(t *testing.T) {
	t.Parallel()
	ix := indexOf(people(300)...)
	for _, text := range []string{"", "ma", "a", "li", "helios", "maria", "engineer", "robert", "margaret", "@labs3.example"} {
		for _, order := range []string{search.SortRelevance, search.SortName} {
			whole := ix.Search(search.Query{Text: text, Sort: order, Limit: 1000})
			if whole.TotalCapped || whole.Total != len(whole.Hits) {
				t.Errorf("%q: total %d of %d hits, capped %v", text, whole.Total, len(whole.Hits), whole.TotalCapped)
			}
			var pages []string
			for more := true; more; {
				r := ix.Search(search.Query{Text: text, Sort: order, Offset: len(pages), Limit: 7})
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
	if r := ix.Search(search.Query{Text: "a", Offset: -5, Limit: -1}); len(r.Hits) != 10 {
		t.Errorf("%d hits by default", len(r.Hits))
	}
	if r := ix.Search(search.Query{Text: "a", Offset: 1 << 60, Limit: 1 << 60}); len(r.Hits) != 0 {
		t.Errorf("%d hits beyond the end", len(r.Hits))
	}
}
