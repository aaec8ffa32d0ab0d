package index_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/search/index"
)

func TestFilters(t *testing.T) {
	t.Parallel()
	full := index.Document{
		ID: "full", Name: "Ann Full", Organization: "Café Aurora", Organizations: []string{"Old Helios"}, Title: "Chief Engineer",
		Location: "São Paulo", Tags: []string{"Ünder"}, Groups: []string{"Chess"}, Emails: []string{"a@b.example"},
		Phones: []string{"1"}, URLs: []string{"x.example"}, Notes: []string{"n"}, Interactions: []string{"i"}, LastInteractionAt: day,
		MetOn: "2024-05", MetHow: "At the Tideline conference", Birthday: index.Date{Year: 1990, Month: 12, Day: 30}, Starred: true,
		CadenceDays: 10, CreatedAt: day.AddDate(-1, 0, 0),
	}
	ix := indexOf(full, index.Document{ID: "bare", Name: "Ann Bare", Location: "Porto, Portugal", CreatedAt: day},
		index.Document{ID: "away", Name: "Ann Away", Archived: true, Tags: []string{"Ünder"}})
	yes, no := true, false
	cases := map[string]struct {
		query index.Query
		want  []string
	}{
		"none":                                {index.Query{}, []string{"full", "bare"}},
		"company":                             {index.Query{Company: "CAFE"}, []string{"full"}},
		"past company":                        {index.Query{Company: "helios"}, []string{"full"}},
		"title":                               {index.Query{Title: "engineer"}, []string{"full"}},
		"location":                            {index.Query{Location: "sao paulo"}, []string{"full"}},
		"tag":                                 {index.Query{Tags: []string{"ÜNDER"}}, []string{"full"}},
		"tag, no accents":                     {index.Query{Tags: []string{"under"}}, []string{"full"}},
		"part of a tag":                       {index.Query{Tags: []string{"ünd"}}, nil},
		"group":                               {index.Query{Group: "chess"}, []string{"full"}},
		"after, inclusive":                    {index.Query{LastContactAfter: day}, []string{"full"}},
		"after":                               {index.Query{LastContactAfter: day.Add(time.Microsecond)}, nil},
		"before, exclusive":                   {index.Query{LastContactBefore: day}, []string{"bare"}},
		"before or never":                     {index.Query{LastContactBefore: day.Add(time.Microsecond)}, []string{"full", "bare"}},
		"before, not never":                   {index.Query{LastContactBefore: day.Add(time.Microsecond), NeverContacted: &no}, []string{"full"}},
		"never":                               {index.Query{NeverContacted: &yes}, []string{"bare"}},
		"starred":                             {index.Query{Starred: &yes}, []string{"full"}},
		"not starred":                         {index.Query{Starred: &no}, []string{"bare"}},
		"two tags":                            {index.Query{Tags: []string{"Ünder", "other"}}, nil},
		"country by name":                     {index.Query{Country: "portugal"}, []string{"bare"}},
		"country by code":                     {index.Query{Country: "PT"}, []string{"bare"}},
		"no country":                          {index.Query{Country: "Atlantis"}, nil},
		"missing":                             {index.Query{Missing: []string{"email", "birthday"}}, []string{"bare"}},
		"missing one of two fields":           {index.Query{Missing: []string{"location"}}, nil},
		"met how":                             {index.Query{MetHow: "tideline conf"}, []string{"full"}},
		"met_how without a word":              {index.Query{MetHow: "ideline"}, nil},
		"met_how, person without a text":      {index.Query{MetHow: "…"}, nil},
		"met after":                           {index.Query{MetOnAfter: "2024-04-30"}, []string{"full"}},
		"met in it":                           {index.Query{MetOnAfter: "2024-05-20"}, []string{"full"}},
		"met not after":                       {index.Query{MetOnAfter: "2024-05"}, nil},
		"met after a year":                    {index.Query{MetOnAfter: "2023"}, []string{"full"}},
		"met before":                          {index.Query{MetOnBefore: "2024-06"}, []string{"full"}},
		"met not before":                      {index.Query{MetOnBefore: "2024-05"}, nil},
		"birthday":                            {index.Query{BirthdayFrom: 1201, BirthdayTo: 1231}, []string{"full"}},
		"birthday around":                     {index.Query{BirthdayFrom: 1230, BirthdayTo: 105}, []string{"full"}},
		"no birthday":                         {index.Query{BirthdayFrom: 105, BirthdayTo: 1229}, nil},
		"created after":                       {index.Query{CreatedAfter: day}, []string{"bare"}},
		"overdue":                             {index.Query{CadenceOverdue: &yes, Now: day.AddDate(0, 0, 16)}, []string{"full"}},
		"not overdue":                         {index.Query{CadenceOverdue: &yes, Now: day.AddDate(0, 0, 15)}, nil},
		"others":                              {index.Query{CadenceOverdue: &no, Now: day.AddDate(0, 0, 16)}, []string{"bare"}},
		"archived":                            {index.Query{Archived: true}, []string{"away"}},
		"archived, tagged":                    {index.Query{Archived: true, Tags: []string{"under"}}, []string{"away"}},
		"archived, starred":                   {index.Query{Archived: true, Starred: &yes}, nil},
		"has all":                             {index.Query{Has: []string{"email", "phone", "url", "note", "interaction"}}, []string{"full"}},
		"has unknown":                         {index.Query{Has: []string{"fax"}}, nil},
		"two filters that exclude each other": {index.Query{Title: "engineer", Location: "berlin"}, nil},
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
		index.Document{ID: "2", Name: "maria adler", Starred: true, CreatedAt: day.Add(2 * time.Microsecond)},
		index.Document{ID: "3", Name: "Maria Fox", LastInteractionAt: day.Add(time.Microsecond), CreatedAt: day.Add(time.Microsecond)},
		index.Document{ID: "4", Name: "Zed", Organization: "Maria", LastInteractionAt: day.Add(9 * time.Microsecond)},
		index.Document{ID: "5", Name: "Marta Adler", LastInteractionAt: day.Add(20 * time.Microsecond)}, // a misspelt match
	)
	for order, want := range map[string][]string{
		index.SortName:        {"2", "1", "3", "4"},
		index.SortFamilyName:  {"2", "1", "3", "4"},
		index.SortLastContact: {"4", "3", "2", "1"},
		index.SortCreated:     {"2", "3", "1", "4"},
		index.SortRelevance:   {"2", "3", "1", "4"},
		"unknown":             {"2", "3", "1", "4"},
	} {
		if got := ids(ix.Search(index.Query{Text: "maria", Sort: order})); !slices.Equal(got, want) {
			t.Errorf("%s: found %v, want %v", order, got, want)
		}
	}
	wantIDs(t, ix.Search(index.Query{Text: "mrata", Sort: index.SortName}), "5")
}

// Family names that are known or can be guessed give an order.
func TestSortsByFamilyName(t *testing.T) {
	t.Parallel()
	ix := indexOf(
		index.Document{ID: "stone", Name: "Ada Stone"}, index.Document{ID: "adler", Name: "Zoë Adler PhD"}, index.Document{ID: "berg", Name: "Yara van der Berg"},
		index.Document{ID: "cho", Name: "Minh Cho An", FamilyName: "Cho"}, index.Document{ID: "ada", Name: "Ada"}, index.Document{ID: "brand", Name: "Ben Brand Jr."},
	)
	if got := strings.Join(ids(ix.Search(index.Query{Sort: index.SortFamilyName})), " "); got != "ada adler berg brand cho stone" {
		t.Error(got)
	}
}

// Documents without a value to sort by come last in both directions.
func TestSortsBothWays(t *testing.T) {
	t.Parallel()
	ix := indexOf(
		index.Document{ID: "a", Name: "A", LastInteractionAt: day, CreatedAt: day, Ties: 3, CadenceDays: 30},
		index.Document{ID: "b", Name: "B", LastInteractionAt: day.AddDate(0, 0, 1), CreatedAt: day.AddDate(0, 0, 1), Ties: 2, GroupCadence: 7},
		index.Document{ID: "c", Name: "C", CreatedAt: day.AddDate(0, 0, -9), CadenceDays: 7, SnoozedUntil: day.AddDate(1, 0, 0)},
		index.Document{ID: "d", Name: "D", CreatedAt: day.AddDate(0, 0, -1)},
	)
	for order, want := range map[string][2]string{
		index.SortName:        {"a b c d", "d c b a"},
		index.SortFamilyName:  {"a b c d", "d c b a"},
		index.SortLastContact: {"b a c d", "a b c d"},
		index.SortCreated:     {"b a d c", "c d a b"},
		index.SortStrength:    {"a b c d", "b a c d"},
		index.SortNextDue:     {"b a c d", "c a b d"},
	} {
		for i, reverse := range []bool{false, true} {
			if got := strings.Join(ids(ix.Search(index.Query{Sort: order, Reverse: reverse})), " "); got != want[i] {
				t.Errorf("%s, reverse %v: %s, want %s", order, reverse, got, want[i])
			}
		}
	}
}

// TestGuesses: a strong match with the exact spelling removes misspelt matches.
func TestGuesses(t *testing.T) {
	t.Parallel()
	ix := indexOf(
		index.Document{ID: "name", Name: "Maria Helios"},
		index.Document{ID: "guess", Name: "Marai Lisbon", Location: "Lisbom"},
		index.Document{ID: "place", Name: "A", Location: "Lisbon"},
		index.Document{ID: "note", Name: "B", Notes: []string{"about coffee"}},
		index.Document{ID: "drink", Name: "Coffe Chen"},
	)
	for query, want := range map[string]string{"maria": "name", "mraia": "name", "lisbon": "guess place", "lisbno": "guess place", "coffee": "drink note"} {
		if got := strings.Join(ids(ix.Search(index.Query{Text: query})), " "); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	all := ix.Search(index.Query{Text: "maria", MinScore: new(float64)})
	wantIDs(t, all, "name", "guess")
	least := all.Hits[0].Score
	wantIDs(t, ix.Search(index.Query{Text: "maria", MinScore: &least}), "name")
}

// TestSum: the checksum covers the people that Total counts. It does not depend on the page, the
// order of words or the segments.
func TestSum(t *testing.T) {
	t.Parallel()
	crowd := people(300)
	whole, parts := indexOf(crowd...), index.New()
	for i := range crowd {
		parts.Put(crowd[i])
	}
	for _, text := range []string{"", "ma", "maria", "helios engineer", "robert"} {
		one := whole.Search(index.Query{Text: text, Limit: 1})
		other := parts.Search(index.Query{Text: text, Offset: 3, Limit: 1000, Sort: index.SortName})
		byRelevance := parts.Search(index.Query{Text: text, Limit: 1000})
		if one.Total != byRelevance.Total || one.Sum != byRelevance.Sum || one.Total != len(byRelevance.Hits) {
			t.Errorf("%q: %d people with sum %x, and %d with %x", text, one.Total, one.Sum, byRelevance.Total, byRelevance.Sum)
		}
		if one.Total == other.Total && one.Sum != other.Sum {
			t.Errorf("%q by name: sum %x, want %x", text, other.Sum, one.Sum)
		}
		fewer := whole.Search(index.Query{Text: text, Has: []string{"birthday"}})
		if one.Total > 0 && fewer.Sum == one.Sum {
			t.Errorf("%q: an empty result has the sum of %d people", text, one.Total)
		}
	}
}

func TestPaging(t *testing.T) {
	t.Parallel()
	ix := indexOf(people(300)...)
	for _, text := range []string{"", "ma", "a", "li", "helios", "maria", "engineer", "robert", "margaret", "@labs3.example"} {
		for _, order := range []string{index.SortRelevance, index.SortName} {
			whole := ix.Search(index.Query{Text: text, Sort: order, Limit: 1000})
			if whole.Total != len(whole.Hits) {
				t.Errorf("%q: total %d of %d hits", text, whole.Total, len(whole.Hits))
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
