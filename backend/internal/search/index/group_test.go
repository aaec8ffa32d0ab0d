package index_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"pgregory.net/rapid"
)

var (
	dateGen = rapid.Custom(func(t *rapid.T) index.Date {
		d := index.Date{Year: int16(rapid.IntRange(1975, 1978).Draw(t, "year"))}
		if rapid.Bool().Draw(t, "has a month") {
			d.Month = uint8(rapid.IntRange(1, 12).Draw(t, "month"))
			d.Day = uint8(rapid.IntRange(0, 31).Draw(t, "day"))
		}
		return d
	})
	kindGen = rapid.SampledFrom([]string{"meeting", "call", "email", "message", "event", "intro", "other"})
)

// livedGen adds what happened to a person to random documents.
func livedGen(ids int) *rapid.Generator[index.Document] {
	return rapid.Custom(func(t *rapid.T) index.Document {
		d := documentGen(ids).Draw(t, "document")
		d.Gone = false
		if d.Birthday = dateGen.Draw(t, "birthday"); rapid.IntRange(0, 3).Draw(t, "birthday known") == 0 {
			d.Birthday.Year = 0
		}
		d.JobStarts, d.JobEnds = rapid.SliceOfN(dateGen, 0, 2).Draw(t, "starts"), rapid.SliceOfN(dateGen, 0, 2).Draw(t, "ends")
		d.Kinds = index.KindsOf(rapid.SliceOfN(kindGen, 0, 2).Draw(t, "kinds")...)
		d.IntroducedBy = rapid.SliceOfN(rapid.SampledFrom([]string{"Käthe Weiß", "Bo"}), 0, 1).Draw(t, "introducers")
		d.Organizations = rapid.SliceOfN(rapid.SampledFrom([]string{"Helios", "Lopez Ltd", "Ära"}), 0, 3).Draw(t, "organizations")
		d.CurrentJobs = int32(rapid.IntRange(0, len(d.Organizations)).Draw(t, "current"))
		d.Location = rapid.SampledFrom([]string{"", "Berlin", "Łódź", "berlin"}).Draw(t, "location")
		d.HasAddress = rapid.Bool().Draw(t, "address")
		d.Groups = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"Chess", "Choir"}), 0, 2, rapid.ID[string]).Draw(t, "groups")
		d.Tags = slices.Compact(slices.Sorted(slices.Values(d.Tags)))
		return d
	})
}

// days are the first and the last day that a date can mean, as texts that compare like days.
func days(d index.Date) (first, last string) {
	first, last = fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day), fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
	if d.Day == 0 {
		last = last[:8] + "99"
	}
	if d.Month == 0 {
		last = last[:5] + "99-99"
	}
	return first, last
}

// within is DateRange.Has in texts.
func within(r index.DateRange, d index.Date) bool {
	first, last := days(d)
	from, _ := days(r.From)
	_, to := days(r.To)
	return d.Year > 0 && last >= from && (r.To == index.Date{} || first <= to)
}

// passes reports whether a person passes the filters of drawLife.
func passes(q index.Query, d *index.Document) bool {
	if d.Archived != q.Archived {
		return false
	}
	only := index.KindsOf(q.OnlyBy...)
	for _, missing := range q.Missing {
		if missing == "address" && d.HasAddress || missing == "title" && d.Title != "" {
			return false
		}
	}
	for _, c := range []struct {
		asked  bool
		passes func() bool
	}{
		{q.Born != index.DateRange{}, func() bool { return within(q.Born, d.Birthday) }},
		{q.JobStarted != index.DateRange{}, func() bool {
			return slices.ContainsFunc(d.JobStarts, func(on index.Date) bool { return within(q.JobStarted, on) })
		}},
		{q.JobEnded != index.DateRange{}, func() bool {
			return slices.ContainsFunc(d.JobEnds, func(on index.Date) bool { return within(q.JobEnded, on) })
		}},
		{len(q.OnlyBy) > 0, func() bool { return d.Kinds != 0 && d.Kinds|only == only }},
		{q.MetThrough != nil, func() bool { return q.MetThrough.Introduced[d.ID] || slices.Contains(d.IntroducedBy, "Käthe Weiß") }},
	} {
		if c.asked && !c.passes() {
			return false
		}
	}
	return true
}

// drawLife draws a query with filters by what happened to people.
func drawLife(t *rapid.T) index.Query {
	q := index.Query{Archived: rapid.IntRange(0, 9).Draw(t, "archived") == 0, Limit: 1000}
	asks := func(label string) bool { return rapid.IntRange(0, 3).Draw(t, label) == 0 }
	span := func() index.DateRange {
		r := index.DateRange{From: dateGen.Draw(t, "from"), To: dateGen.Draw(t, "to")}
		switch rapid.IntRange(0, 2).Draw(t, "ends") {
		case 0:
			r.From = index.Date{}
		case 1:
			r.To = index.Date{}
		}
		return r
	}
	if asks("born") {
		q.Born = span()
	}
	if asks("started") {
		q.JobStarted = span()
	}
	if asks("ended") {
		q.JobEnded = span()
	}
	if asks("kinds") {
		q.OnlyBy = rapid.SliceOfN(kindGen, 1, 3).Draw(t, "only by")
	}
	if asks("introducer") {
		q.MetThrough = &index.Introducer{Introduced: map[string]bool{"con_1": true, "con_2": true}, Name: "kathe"}
	}
	if asks("missing") {
		q.Missing = []string{rapid.SampledFrom([]string{"address", "title"}).Draw(t, "missing what")}
	}
	return q
}

// TestLifeFilters: the filters by dates, kinds of contact and introducers find whom a plain check of each document finds.
func TestLifeFilters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := rapid.SliceOfNDistinct(livedGen(40), 1, 30, func(d index.Document) string { return d.ID }).Draw(t, "docs")
		ix := index.NewInParts(rapid.IntRange(1, 40).Draw(t, "part"))
		ix.Put(docs...)
		for range 5 {
			q := drawLife(t)
			var want []string
			for i := range docs {
				if passes(q, &docs[i]) {
					want = append(want, docs[i].ID)
				}
			}
			got := ids(ix.Search(q))
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("query %+v: found %v, want %v", q, got, want)
			}
		}
	})
}

// valuesOf are the values of a facet that a person has.
func valuesOf(by index.Facet, d *index.Document) (out []string) {
	switch by {
	case index.Tags:
		out = d.Tags
	case index.Groups:
		out = d.Groups
	case index.Organizations:
		out = slices.Clone(d.Organizations[:d.CurrentJobs])
	case index.Locations:
		out = []string{d.Location}
	case index.BirthMonths:
		out = []string{fmt.Sprint(d.Birthday.Month)}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(value string) bool { return value == "" || value == "0" })
}

// TestGroup: grouping counts all hits of a search, with words and filters, once for each of their values.
func TestGroup(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := rapid.SliceOfNDistinct(livedGen(60), 1, 50, func(d index.Document) string { return d.ID }).Draw(t, "docs")
		ix := index.NewInParts(rapid.IntRange(1, 60).Draw(t, "part"))
		ix.Put(docs...)
		q := drawQuery(t)
		if rapid.Bool().Draw(t, "filters") {
			life := drawLife(t)
			q.Born, q.OnlyBy, q.MetThrough = life.Born, life.OnlyBy, life.MetThrough
		}
		if q.Text == "" {
			q.MinScore = nil
		}
		by := rapid.SampledFrom([]index.Facet{index.Tags, index.Groups, index.Organizations, index.Locations, index.BirthMonths}).Draw(t, "by")
		whole := q
		whole.Offset, whole.Limit = 0, 1000
		want, counts := index.Grouped{}, map[string]int{}
		for _, h := range ix.Search(whole).Hits {
			want.Total++
			values := valuesOf(by, h.Doc)
			if len(values) == 0 {
				want.Without++
			}
			for _, value := range values {
				counts[value]++
			}
		}
		for value, people := range counts {
			want.Counts = append(want.Counts, index.Count{Value: value, People: people})
		}
		slices.SortFunc(want.Counts, func(a, b index.Count) int {
			if by == index.BirthMonths {
				return cmp.Or(cmp.Compare(len(a.Value), len(b.Value)), strings.Compare(a.Value, b.Value))
			}
			return cmp.Or(cmp.Compare(b.People, a.People), strings.Compare(foldedName(a.Value), foldedName(b.Value)), strings.Compare(a.Value, b.Value))
		})
		if want.More = by != index.BirthMonths && len(want.Counts) > q.Limit; want.More {
			want.Counts = want.Counts[:q.Limit]
		}
		if diff := gocmp.Diff(want, ix.Group(q, by), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("query %+v by %d:\n%s", q, by, diff)
		}
		if got := ix.Total(q); got != want.Total {
			t.Fatalf("query %+v: total %d, want %d", q, got, want.Total)
		}
	})
}
