package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/search/index"
)

// TestOrder checks the order of documents that are each in a different tier.
func TestOrder(t *testing.T) {
	t.Parallel()
	cases := []struct {
		query string
		docs  []index.Document // in the wanted order; ids are given
	}{
		{"maria", []index.Document{
			{Name: "Maria"},
			{Name: "Maria Lopez"},
			{Name: "Mariana Lopez"},
			{Name: "María Lopez"},
			{Name: "Maríana Lopez"},
			{Name: "Marta Lopez"},
			{Name: "Ann Lopez", Nickname: "Maria"},
			{Name: "Mary Lopez"},
			{Name: "Zed", Nickname: "Marias"},
			{Name: "Zed", Title: "Maria"},
			{Name: "Zed", Organization: "Maria"},
			{Name: "Zed", Headline: "Maria"},
			{Name: "Zed", Location: "Maria"},
			{Name: "Zed", Tags: []string{"Maria"}},
			{Name: "Zed", Groups: []string{"Maria"}},
			{Name: "Zed", Notes: []string{"about Maria"}},
			{Name: "Zed", Interactions: []string{"met Maria"}},
			{Name: "Zed", Title: "Marianist"},
			{Name: "Zed", Notes: []string{"about Marianists"}},
			{Name: "Zed", Location: "Mária"},
			{Name: "Zed", Organization: "Mario"},
		}},
		{"maria helios", []index.Document{
			{Name: "Maria Helios"},
			{Name: "Helios Maria"},
			{Name: "Maria Lopez", Organization: "Helios Energy"},
			{Name: "Maria Lopez", Notes: []string{"left Helios"}},
			{Name: "Mariana Lopez", Organization: "Helios Energy"},
			{Name: "María Lopez", Organization: "Helios Energy"},
			{Name: "Marai Lopez", Organization: "Helios Energy"}, // same score as the next
			{Name: "Maria Lopez", Organization: "Helois Energy"},
			{Name: "Mary Lopez", Organization: "Helios Energy"},
			{Name: "Zed", Title: "Maria", Organization: "Helios"},
		}},
		{"elisabet", []index.Document{
			{Name: "Elisabeth Ray"},
			{Name: "Elizabet Ray"},
			{Name: "Elizbet Ray"},
		}},
		{"helios.example", []index.Document{
			{Name: "Zed", URLs: []string{"https://www.helios.example/"}},
		}},
		{"@helios.example", []index.Document{
			{Name: "Zed", Emails: []string{"a@Helios.example"}},
			{Name: "Helios Example"},
			{Name: "Helios Man", Notes: []string{"a good example"}},
		}},
	}
	for _, c := range cases {
		t.Run(c.query, func(t *testing.T) {
			t.Parallel()
			var want []string
			for i := range c.docs {
				c.docs[i].ID = string(rune('a' + len(c.docs) - i)) // opposite to the tie-break
				want = append(want, c.docs[i].ID)
			}
			r := indexOf(c.docs...).Search(index.Query{Text: c.query, Limit: 50, MinScore: new(float64)})
			wantIDs(t, r, want...)
			for i := 1; i < len(r.Hits); i++ {
				if r.Hits[i].Score > r.Hits[i-1].Score {
					t.Errorf("score rises from %v to %v at %d", r.Hits[i-1].Score, r.Hits[i].Score, i)
				}
			}
		})
	}
}

// Words of a name may be written together or apart, as find_duplicates compares them.
func TestWordsTogetherOrApart(t *testing.T) {
	t.Parallel()
	ix := indexOf(
		index.Document{ID: "aj", Name: "A. J. McCoy"},
		index.Document{ID: "jean", Name: "Jean-Luc Moreau"},
		index.Document{ID: "ana", Name: "Ana López Sáez"},
		index.Document{ID: "jan", Name: "Jan van der Berg"},
		index.Document{ID: "tom", Name: "Tom Vanderberg"},
		index.Document{ID: "apart", Name: "Lopez Ana Saez"},
	)
	for query, want := range map[string][]string{
		"aj mccoy": {"aj"}, "ajmccoy": {"aj"}, "a j mc coy": {"aj"}, "jeanluc": {"jean"}, "jeanluc moreau": {"jean"}, "lopezsaez": {"ana"},
		"ana lópezsáez": {"ana"}, "vanderberg": {"tom", "jan"}, "van der berg": {"jan", "tom"}, "jan vander berg": {"jan"}, "saezlopez": {},
	} {
		r := ix.Search(index.Query{Text: query})
		if got := ids(r); !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", query, got, want)
		}
		for _, h := range r.Hits {
			if !slices.Equal(h.Matched, []string{"name"}) {
				t.Errorf("%q: %s matched %v", query, h.ID, h.Matched)
			}
		}
	}
}

// TestWeakTiers: each page is a part of the complete list, and has its total.
func TestWeakTiers(t *testing.T) {
	t.Parallel()
	ix := indexOf(
		index.Document{ID: "strong", Name: "Maria Helios"},
		index.Document{ID: "guess", Name: "Marai Lopez", Organization: "Helios"},
		index.Document{ID: "title", Name: "A", Title: "Maria Helios"},
		index.Document{ID: "note", Name: "B", Notes: []string{"Maria Helios"}},
	)
	for limit := 1; limit <= 4; limit++ {
		r := ix.Search(index.Query{Text: "maria helios", Limit: limit, MinScore: new(float64)})
		wantIDs(t, r, []string{"strong", "guess", "title", "note"}[:limit]...)
		if r.Total != 4 {
			t.Errorf("limit %d: total %d", limit, r.Total)
		}
	}
}

// TestCloserFieldCounts: one word is in the name. For another word, an exact match in a
// different field counts, not a poor one in the name.
func TestCloserFieldCounts(t *testing.T) {
	t.Parallel()
	ix := indexOf(index.Document{ID: "1", Name: "Helios Bobson", Tags: []string{"bob"}})
	r := ix.Search(index.Query{Text: "bob helios"})
	if got := strings.Join(r.Hits[0].Matched, " "); got != "name tag" || r.Hits[0].Score < .85 {
		t.Errorf("matched %q with %v", got, r.Hits[0].Score)
	}
}

func TestTieBreak(t *testing.T) {
	t.Parallel()
	ix := indexOf(
		index.Document{ID: "1", Name: "Ann Zed"},
		index.Document{ID: "3", Name: "Ann Bee"},
		index.Document{ID: "2", Name: "Ann Bee"},
		index.Document{ID: "4", Name: "Ann Zoo", LastInteractionAt: day},
		index.Document{ID: "5", Name: "Ann Zoo", LastInteractionAt: day.Add(time.Hour)},
		index.Document{ID: "6", Name: "Ann Zoo", Starred: true},
	)
	wantIDs(t, ix.Search(index.Query{Text: "ann"}), "6", "5", "4", "2", "3", "1")
}

// TestFinds lists spellings that must find the document, and the matching field.
func TestFinds(t *testing.T) {
	t.Parallel()
	doc := index.Document{
		ID: "1", Name: "Zoë O'Brien-Łuczak 王小明", Nickname: "Dizzy", Title: "Head of R&D", Organization: "Straßenbau Öl AG",
		Organizations: []string{"Straßenbau Öl AG", "Former Ltd"}, Location: "İzmir", Headline: "builds bridges",
		Emails: []string{" Mail.Boss@mail.strassen.example"}, Phones: []string{"+44 (0)20 7946 0123", "0044 7700 900123"},
		URLs: []string{"https://www.Linkedin.example/in/z-77/?x=1#top", "http://homepage.example/"},
		Tags: []string{"Beekeeping"}, Groups: []string{"Book Club"},
		Notes: []string{"Nothing.", "Met at Grünwald's party in 东京都."}, Interactions: []string{"Long call on aeronautics"},
	}
	ix := indexOf(doc)
	cases := []struct{ query, matched string }{
		{"zoë o'brien-łuczak 王小明", "name"},
		{"ZOE OBRIEN LUCZAK", "name"},
		{"brien zoe", "name"},
		{"o’brien", "name"},
		{"Zoe\u200b Obr", "name"},
		{"Luszak", "name"},
		{"王小", "name"},
		{"小明", "name"},
		{"明", "name"},
		{"dizzy", "nickname"},
		{"mail.boss@MAIL.strassen.example", "email"},
		{"<mail.boss@mail.strassen.example>", "email"},
		{"mailto:mail.boss@mail.strassen.example", "email"},
		{"boss", "email"},
		{"mail.strassen.example", "domain"},
		{"@mail.strassen.example", "domain"},
		{"020 7946 0123", "phone"},
		{"+44 7700 900123", "phone"},
		{"7946-0123", "phone"},
		{"linkedin.example/in/z-77/?x=1", "url"},
		{"HTTPS://homepage.example", "url"},
		{"strassenbau", "organization"},
		{"straßenbau", "organization"},
		{"former", "organization"},
		{"head of r&d", "title"},
		{"the head in izmir", "title location"},
		{"bridges", "headline"},
		{"beekeepnig", "tag"},
		{"book club", "group"},
		{"zoe grunwald", "name note"},
		{"京都", "note"},
		{"aeronaut", "interaction"},
	}
	for _, c := range cases {
		r := ix.Search(index.Query{Text: c.query})
		if len(r.Hits) != 1 {
			t.Errorf("%q finds %d documents", c.query, len(r.Hits))
		} else if got := strings.Join(r.Hits[0].Matched, " "); got != c.matched {
			t.Errorf("%q matched %q, want %q", c.query, got, c.matched)
		}
	}
	for _, query := range []string{"", "!!!", "zoe nobody", "tho", "ae", "grunvald", "46 0123", "other.example", "x@mail.strassen.example"} {
		if r := ix.Search(index.Query{Text: query, Tags: []string{"absent"}}); len(r.Hits) != 0 {
			t.Errorf("%q with a filter that no document passes finds something", query)
		}
		if r := ix.Search(index.Query{Text: query}); query != "" && len(r.Hits) != 0 {
			t.Errorf("%q finds %v", query, r.Hits[0].Matched)
		}
	}
}

func TestIdentifierEndsSearch(t *testing.T) {
	t.Parallel()
	ix := indexOf(
		index.Document{ID: "1", Name: "Ann", Emails: []string{"ann@x.example"}},
		index.Document{ID: "2", Name: "Ann X", Emails: []string{"ann@x.example", "ann@x.example"}},
		index.Document{ID: "3", Name: "Ann X Example"},
	)
	r := ix.Search(index.Query{Text: "ANN@x.example"})
	wantIDs(t, r, "1", "2")
	if r.Total != 2 || r.Hits[0].Score != 1 {
		t.Errorf("total %d, score %v", r.Total, r.Hits[0].Score)
	}
	wantIDs(t, ix.Search(index.Query{Text: "@x.example"}), "1", "2", "3")
}

func TestSnippet(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("lorem ipsum dolor ", 30) + "the\n\n accordion   player " + strings.Repeat("sit amet elit ", 30)
	ix := indexOf(
		index.Document{ID: "1", Name: "A", Notes: []string{"none", long}},
		index.Document{ID: "2", Name: "B", Interactions: []string{"an accordion"}},
		index.Document{ID: "3", Name: "Accordion", Notes: []string{"accordion"}},
	)
	r := ix.Search(index.Query{Text: "accordion"})
	wantIDs(t, r, "3", "1", "2")
	if s := r.Hits[0].Snippet; s != "" {
		t.Errorf("snippet %q for a name", s)
	}
	s := r.Hits[1].Snippet
	if !strings.Contains(s, " the accordion player sit") || !strings.HasPrefix(s, "…") || !strings.HasSuffix(s, "…") {
		t.Errorf("snippet %q", s)
	}
	if n := utf8.RuneCountInString(s); n > 160 || n < 120 {
		t.Errorf("snippet of %d characters", n)
	}
	if s := r.Hits[2].Snippet; s != "an accordion" {
		t.Errorf("snippet %q", s)
	}
}

// Names that differ in a vowel sign or a voicing mark are different names: a query finds the exact
// one first, and only that one if no other is similar.
func TestMarksOfOtherScriptsAreLetters(t *testing.T) {
	t.Parallel()
	pairs := [][2]string{{"सुनील", "सनील"}, {"กิตติ", "กตต"}, {"ハル", "バル"}}
	for _, pair := range pairs {
		for _, asked := range []int{0, 1} {
			ix := indexOf(
				index.Document{ID: "0", Name: pair[0], Tags: []string{pair[0]}},
				index.Document{ID: "1", Name: pair[1], Tags: []string{pair[1]}},
			)
			r := ix.Search(index.Query{Text: pair[asked]})
			if want := fmt.Sprint(asked); len(r.Hits) == 0 || r.Hits[0].ID != want || r.Hits[0].Score < index.NameScore {
				t.Errorf("%q: found %v, want %s as a name first", pair[asked], brief(r), want)
			}
			for _, other := range r.Hits[min(1, len(r.Hits)):] {
				if other.Score >= index.NameScore {
					t.Errorf("%q: %q counts as the same name", pair[asked], other.Doc.Name)
				}
			}
			wantIDs(t, ix.Search(index.Query{Tags: []string{pair[asked]}}), fmt.Sprint(asked))
		}
	}
}
