package wordindex

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// After any changes, the rows of a term have the postings that a map has, in order, each in the row that is looked for by its number.
func TestRowsOfATermAreAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		want, rows := map[int32]int{}, map[int32]entryWord{}
		end := int32(0)
		for range rapid.IntRange(1, 6).Draw(rt, "writes") {
			changed := map[int32]int{}
			for range rapid.IntRange(0, 5).Draw(rt, "old") {
				if end > 0 {
					changed[rapid.Int32Range(0, end-1).Draw(rt, "number")] = rapid.IntRange(0, mostCounted).Draw(rt, "count")
				}
			}
			step := rapid.OneOf(rapid.Int32Range(1, 3), rapid.Int32Range(1, 20), rapid.Int32Range(1, 300)).Draw(rt, "step")
			often := rapid.Int32Range(1, 40).Draw(rt, "often")
			for range rapid.OneOf(rapid.IntRange(0, 700), rapid.IntRange(0, 9000)).Draw(rt, "new") {
				changed[end] = 1
				if end%often == 0 {
					changed[end] = 1 + int(end)%mostCounted
				}
				end += step
			}
			var list []posting
			found := map[int32]bool{}
			for _, number := range slices.Sorted(maps.Keys(changed)) {
				list = append(list, posting{number, changed[number]})
				for _, last := range slices.Sorted(maps.Keys(rows)) {
					if last >= number {
						found[last] = true
						break
					}
				}
				if want[number] = changed[number]; want[number] == 0 {
					delete(want, number)
				}
			}
			var stored []entryWord
			for last := range found {
				stored = append(stored, rows[last])
			}
			kept, gone := merged("mem_1", "tea", stored, list)
			for _, row := range gone {
				delete(rows, row.Last)
			}
			for _, row := range kept {
				if len(row.Postings) == 0 || len(row.Postings) > rowBytes {
					rt.Fatalf("a row of %d bytes", len(row.Postings))
				}
				rows[row.Last] = row
			}
		}
		got, before := map[int32]int{}, int32(-1)
		for _, last := range slices.Sorted(maps.Keys(rows)) {
			var counted wordHits
			counted.count(rows[last].Postings, 1)
			for p := range postingsOf(rows[last].Postings) {
				if p.number <= before || p.number > last {
					rt.Fatalf("%d after %d, in the row up to %d", p.number, before, last)
				}
				got[p.number], before = p.count, p.number
				if hits := int(counted.hits[p.number]); hits != p.count {
					rt.Fatalf("%d has %d hits, want %d", p.number, hits, p.count)
				}
				counted.hits[p.number] = 0
			}
			if i := slices.IndexFunc(counted.hits, func(hits uint8) bool { return hits > 0 }); i >= 0 {
				rt.Fatalf("%d has hits and no posting", i)
			}
		}
		if !maps.Equal(got, want) {
			rt.Fatalf("%v, want %v", got, want)
		}
	})
}

func TestTermsAreReadAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		e := entry{Kind: "call", Text: rapid.String().Draw(rt, "text"), names: []string{rapid.String().Draw(rt, "name")}}
		if want, got := e.terms(), readTerms(join(e.terms())); !maps.Equal(got, want) {
			rt.Fatalf("%v, want %v", got, want)
		}
	})
}
