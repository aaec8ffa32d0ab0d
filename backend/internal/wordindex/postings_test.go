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
			step := rapid.Int32Range(1, 300).Draw(rt, "step")
			for range rapid.IntRange(0, 700).Draw(rt, "new") {
				changed[end] = 1 + int(end)%mostCounted
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
				if len(row.Postings) == 0 || len(row.Postings) > rowBytes+10 {
					rt.Fatalf("a row of %d bytes", len(row.Postings))
				}
				rows[row.Last] = row
			}
		}
		got, before := map[int32]int{}, int32(-1)
		for _, last := range slices.Sorted(maps.Keys(rows)) {
			for c := newCursor(rows[last].Postings); c.next(); before = c.number {
				if c.number <= before || c.number > last {
					rt.Fatalf("%d after %d, in the row up to %d", c.number, before, last)
				}
				got[c.number] = c.count
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
		if want, got := e.terms(), split(join(e.terms())); !maps.Equal(got, want) {
			rt.Fatalf("%v, want %v", got, want)
		}
	})
}
