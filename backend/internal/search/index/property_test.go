package index_test

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/search/index/indextest"
	"pgregory.net/rapid"
)

// Words that are similar to each other, so that random queries match random documents.
var (
	wordGen = rapid.SampledFrom(strings.Fields(`ann anna annie maria María marai mariana mary lopez López lopes
		bob robert helios heliosa Łukasz lukasz o'brien straße strasse 王小明 小明 engineer enginere at 7`))
	textGen  = rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(wordGen, 0, 3).Draw(t, "words"), " ") })
	handles  = []string{"maria@helios.example", "ann@x.example", "bob@helios.example"}
	phones   = []string{"+1 212 555 0100", "2125550100", "0044 20 7946 0999"}
	queryGen = rapid.OneOf(textGen, rapid.SampledFrom(append(handles, "ma", "a", "helios.example", "(212) 555-0100", "x.example/ann")))
)

func documentGen(ids int) *rapid.Generator[index.Document] {
	return rapid.Custom(func(t *rapid.T) index.Document {
		list := func(label string, g *rapid.Generator[string]) []string { return rapid.SliceOfN(g, 0, 2).Draw(t, label) }
		return index.Document{
			ID:                fmt.Sprint("con_", rapid.IntRange(0, ids-1).Draw(t, "id")),
			Name:              textGen.Draw(t, "name"),
			Nickname:          rapid.SampledFrom([]string{"", "", "bob", "annie"}).Draw(t, "nickname"),
			Title:             textGen.Draw(t, "title"),
			Organization:      rapid.SampledFrom([]string{"", "Helios", "Lopez Ltd"}).Draw(t, "organization"),
			Emails:            list("emails", rapid.SampledFrom(handles)),
			Phones:            list("phones", rapid.SampledFrom(phones)),
			URLs:              list("urls", rapid.Just("https://x.example/ann")),
			Tags:              list("tags", wordGen),
			Notes:             list("notes", textGen),
			Starred:           rapid.Bool().Draw(t, "starred"),
			Archived:          rapid.IntRange(0, 9).Draw(t, "archived") == 0,
			Gone:              rapid.IntRange(0, 9).Draw(t, "gone") == 0,
			Ties:              float64(rapid.IntRange(0, 2).Draw(t, "ties")) / 2,
			CadenceDays:       rapid.SampledFrom([]int{0, 0, 7, 30}).Draw(t, "cadence"),
			LastInteractionAt: day.AddDate(0, 0, -rapid.IntRange(0, 3).Draw(t, "days")),
		}
	})
}

func drawQuery(t *rapid.T) index.Query {
	return index.Query{
		Text:     queryGen.Draw(t, "query"),
		Tags:     rapid.SampledFrom([][]string{nil, nil, nil, {"ann"}}).Draw(t, "tag filter"),
		Sort:     rapid.SampledFrom([]string{"", "", index.SortName, index.SortFamilyName, index.SortLastContact, index.SortStrength, index.SortNextDue}).Draw(t, "sort"),
		Reverse:  rapid.Bool().Draw(t, "reverse"),
		MinScore: rapid.SampledFrom([]*float64{nil, nil, new(float64)}).Draw(t, "min score"),
		Archived: rapid.IntRange(0, 9).Draw(t, "archived") == 0,
		Offset:   rapid.IntRange(0, 3).Draw(t, "offset"),
		Limit:    rapid.IntRange(1, 12).Draw(t, "limit"),
	}
}

// TestUpdatedEqualsFresh: after any updates, an index gives the same answers as a new one with the
// same documents.
func TestUpdatedEqualsFresh(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const ids = 30
		updated, left := index.New(), map[string]index.Document{}
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
				gone := fmt.Sprint("con_", rapid.IntRange(0, ids-1).Draw(t, "gone"))
				updated.Delete(gone, "con_unknown")
				delete(left, gone)
				continue
			}
			docs := rapid.SliceOfN(documentGen(ids), 1, 4).Draw(t, "docs")
			updated.Put(docs...)
			for _, d := range docs {
				if left[d.ID] = d; d.Gone {
					delete(left, d.ID)
				}
			}
		}
		fresh := indexOf(slices.Collect(maps.Values(left))...)
		shown := 0
		for _, d := range left {
			if !d.Archived {
				shown++
			}
		}
		if updated.Len() != shown || fresh.Len() != shown {
			t.Fatalf("%d documents, fresh %d, want %d", updated.Len(), fresh.Len(), shown)
		}
		compareSharing(t, updated, fresh)
		for range 4 {
			q := drawQuery(t)
			if got, want := updated.Search(q), fresh.Search(q); !reflect.DeepEqual(got, want) {
				t.Fatalf("query %+v\nupdated %v\nfresh   %v", q, brief(got), brief(want))
			}
		}
	})
}

// TestEveryoneByName: after any updates, the pages of all people by name are in order and complete,
// in both directions.
func TestEveryoneByName(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const ids = 150
		ix, left := index.New(), map[string]index.Document{}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			docs := rapid.SliceOfN(documentGen(ids), 1, 60).Draw(t, "docs")
			ix.Put(docs...)
			for _, d := range docs {
				if left[d.ID] = d; d.Gone {
					delete(left, d.ID)
				}
			}
		}
		q := drawQuery(t)
		q.Text, q.MinScore, q.Sort = "", nil, index.SortName
		var want []index.Document
		for _, d := range left {
			if d.Archived == q.Archived && (q.Tags == nil || slices.Contains(d.Tags, "ann")) {
				want = append(want, d)
			}
		}
		slices.SortFunc(want, func(a, b index.Document) int {
			order := cmp.Or(cmp.Compare(foldedName(a.Name), foldedName(b.Name)), cmp.Compare(a.ID, b.ID))
			if q.Reverse {
				return -order
			}
			return order
		})
		total := len(want)
		want = want[min(q.Offset, total):min(q.Offset+q.Limit, total)]
		got := ix.Search(q)
		if !slices.EqualFunc(got.Hits, want, func(h index.Hit, d index.Document) bool { return h.ID == d.ID }) || got.Total != total {
			t.Fatalf("query %+v\ngot %v of %d\nwant %v of %d", q, brief(got), got.Total, want, total)
		}
		byContact := q
		byContact.Sort = index.SortLastContact
		if other := ix.Search(byContact); other.Sum != got.Sum || other.Total != got.Total {
			t.Fatalf("query %+v: checksum %d of %d, by last contact %d of %d", q, got.Sum, got.Total, other.Sum, other.Total)
		}
	})
}

// compareSharing checks that two indexes return the same documents for shared values.
func compareSharing(t *rapid.T, updated, fresh *index.Index) {
	got, want := updated.Lookup(index.Query{}), fresh.Lookup(index.Query{})
	most, rows := rapid.IntRange(1, 5).Draw(t, "most"), rapid.IntRange(1, 12).Draw(t, "rows")
	for _, by := range []index.Property{index.ByTag, index.ByOrganization} {
		circles := got.Circles(by, most, rows)
		if !reflect.DeepEqual(circles, want.Circles(by, most, rows)) {
			t.Fatalf("circles differ: %v", circles)
		}
		for _, value := range []string{"ann", "Helios", "lopez ltd"} {
			sharing := got.Sharing(by, value, most)
			if !reflect.DeepEqual(sharing, want.Sharing(by, value, most)) || len(sharing) > most {
				t.Fatalf("%s: %v", value, sharing)
			}
		}
	}
}

// TestHitsEqualSingleDocuments: an index returns the hits that an index per document returns, in
// order. So no pass, page or merge loses or adds a hit.
func TestHitsEqualSingleDocuments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := rapid.SliceOfNDistinct(documentGen(60), 1, 20, func(d index.Document) string { return d.ID }).Draw(t, "docs")
		q := drawQuery(t)
		q.Sort, q.MinScore = "", new(float64) // without it, the match of one document decides whether others are hits
		var want []index.Hit
		for _, d := range docs {
			alone := index.Query{Text: q.Text, Tags: q.Tags, MinScore: q.MinScore, Archived: q.Archived}
			want = append(want, indexOf(d).Search(alone).Hits...)
		}
		byIdentifier := slices.ContainsFunc(want, func(h index.Hit) bool { return h.Score > .991 })
		if byIdentifier {
			want = slices.DeleteFunc(want, func(h index.Hit) bool { return h.Score <= .991 })
		}
		slices.SortFunc(want, compareHits)
		got := indexOf(docs...).Search(q)
		if got.Total != len(want) {
			t.Fatalf("total %d, want %d", got.Total, len(want))
		}
		want = want[min(q.Offset, len(want)):min(q.Offset+q.Limit, len(want))]
		if len(want)+len(got.Hits) > 0 && !reflect.DeepEqual(got.Hits, want) {
			t.Fatalf("query %+v\ngot  %v\nwant %v", q, brief(got), brief(index.Result{Hits: want}))
		}
	})
}

func compareHits(a, b index.Hit) int {
	starred := map[bool]int{true: 0, false: 1}
	return cmp.Or(
		cmp.Compare(b.Score, a.Score),
		cmp.Compare(starred[a.Doc.Starred], starred[b.Doc.Starred]),
		b.Doc.LastInteractionAt.Compare(a.Doc.LastInteractionAt),
		cmp.Compare(foldedName(a.Doc.Name), foldedName(b.Doc.Name)),
		cmp.Compare(a.ID, b.ID),
	)
}

func foldedName(name string) string {
	name = strings.ReplaceAll(strings.ToLower(indextest.Plain(name)), "'", "")
	return strings.Join(strings.Fields(name), " ")
}

func brief(r index.Result) []string {
	var out []string
	for _, h := range r.Hits {
		out = append(out, fmt.Sprintf("%s %q %.3f %v", h.ID, h.Doc.Name, h.Score, h.Matched))
	}
	return out
}

// TestSegmentsStayFew: single updates of a large index do not make it grow.
func TestSegmentsStayFew(t *testing.T) {
	t.Parallel()
	docs := people(400)
	ix := indexOf(docs...)
	before := ix.Bytes()
	for i := range 2000 {
		ix.Put(docs[i*7%len(docs)])
	}
	if ix.Len() != len(docs) {
		t.Errorf("%d documents, want %d", ix.Len(), len(docs))
	}
	if after := ix.Bytes(); after > 3*before {
		t.Errorf("grew from %d to %d bytes", before, after)
	}
	for _, d := range docs {
		ix.Delete(d.ID)
	}
	if ix.Len() != 0 || ix.Bytes() != 0 {
		t.Errorf("%d documents and %d bytes after deleting all", ix.Len(), ix.Bytes())
	}
}

func TestDocumentsAreCopied(t *testing.T) {
	t.Parallel()
	docs := []index.Document{{ID: "1", Name: "Ann", Tags: []string{"chess"}, LastInteractionAt: time.Time{}}}
	ix := indexOf(docs...)
	docs[0].Tags[0], docs[0].Name = "changed", "changed"
	if h := ix.Search(index.Query{Text: "chess"}).Hits; len(h) != 1 || h[0].Doc.Tags[0] != "chess" || h[0].Doc.Name != "Ann" {
		t.Errorf("found %+v", h)
	}
}

func TestPutOfSameID(t *testing.T) {
	t.Parallel()
	ix := indexOf(index.Document{ID: "1", Name: "Old"}, index.Document{ID: "1", Name: "New"})
	wantIDs(t, ix.Search(index.Query{Text: "old"}))
	wantIDs(t, ix.Search(index.Query{Text: "new"}), "1")
	ix.Put(index.Document{ID: "1", Name: "New", Archived: true})
	wantIDs(t, ix.Search(index.Query{Text: "new"}))
}
