package people

import (
	"cmp"
	"slices"
	"strings"
)

// DefaultMinScore is the lowest score of a pair that is worth showing.
const DefaultMinScore = .75

// Query says which pairs to look for.
type Query struct {
	// ConnectionID narrows the search to pairs with this person unless empty.
	ConnectionID string
	MinScore     float64
	// Limit is the largest number of pairs to return, at least 1.
	Limit int

	// distinct are pairs to leave out, each as PairOf returns it.
	distinct map[[2]string]bool
}

// Pair is two records that may be one person.
type Pair struct {
	// First is the record with more data, or the older one when both have as much.
	First, Second Candidate
	Score         float64
	Reasons       []string
}

// Find returns the pairs, the highest score first, and whether there are more.
func Find(people []Candidate, q Query) (pairs []Pair, more bool) {
	f := duplicateSearch{people: make([]record, len(people)), sharers: map[key][]int{}, only: -1}
	for i := range people {
		f.people[i] = newRecord(&people[i])
		for _, k := range f.people[i].keys {
			f.sharers[k.bare()] = append(f.sharers[k.bare()], i)
		}
		if people[i].ID == q.ConnectionID {
			f.only = i
		}
	}
	if q.ConnectionID != "" && f.only < 0 {
		return nil, false
	}
	for _, candidate := range f.candidates(q.MinScore) {
		a, b := &f.people[candidate[0]], &f.people[candidate[1]]
		if q.distinct[PairOf(a.ID, b.ID)] {
			continue
		}
		score, reasons := compare(a, b, f.count)
		if score+1e-9 < q.MinScore {
			continue
		}
		pair := Pair{First: *a.Candidate, Second: *b.Candidate, Score: score, Reasons: reasons}
		if cmp.Or(cmp.Compare(b.Values, a.Values), strings.Compare(a.ID, b.ID)) > 0 {
			pair.First, pair.Second = pair.Second, pair.First
		}
		pairs = append(pairs, pair)
	}
	slices.SortFunc(pairs, func(x, y Pair) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), strings.Compare(x.First.ID, y.First.ID), strings.Compare(x.Second.ID, y.Second.ID))
	})
	if len(pairs) > q.Limit {
		return pairs[:q.Limit], true
	}
	return pairs, false
}

// duplicateSearch is a search in progress.
type duplicateSearch struct {
	people  []record
	sharers map[key][]int // who has an address, by its bare key
	only    int           // the one person whose pairs are wanted, or -1
}

// bare is the key without the spelling.
func (k key) bare() key { return key{kind: k.kind, value: k.value} }

func (f *duplicateSearch) count(k key) int { return len(f.sharers[k.bare()]) }

// candidates returns the pairs that can reach a score, each once.
func (f *duplicateSearch) candidates(minScore float64) [][2]int {
	seen := map[[2]int]bool{}
	var out [][2]int
	add := func(a, b int) {
		pair := [2]int{min(a, b), max(a, b)}
		if a != b && (f.only < 0 || a == f.only || b == f.only) && !seen[pair] {
			seen[pair] = true
			out = append(out, pair)
		}
	}
	among := func(block []int) {
		if f.only >= 0 && !slices.Contains(block, f.only) {
			return
		}
		for i, a := range block {
			if f.only >= 0 {
				add(f.only, a)
				continue
			}
			for _, b := range block[i+1:] {
				add(a, b)
			}
		}
	}
	for _, block := range f.sharers {
		if len(block) <= allShare {
			among(block)
		}
	}
	for _, blocks := range f.nameBlocks(minScore) {
		for _, block := range blocks {
			among(block)
		}
	}
	return out
}

// nameBlocks returns sets of people whose names are the same or may be similar. It leaves
// out blocks whose pairs cannot reach the score, and blocks that are too large to be
// useful; of the latter, the blocks of people at one organisation stay.
func (f *duplicateSearch) nameBlocks(minScore float64) []map[string][]int {
	same, compact := map[string][]int{}, map[string][]int{}
	family, given := map[string][]int{}, map[string][]int{}
	for i := range f.people {
		p := &f.people[i]
		if len(p.name) == 0 {
			continue
		}
		put(same, strings.Join(p.name, " "), p, i, minScore > weightName)
		put(compact, p.compactName, p, i, minScore > weightName)
		if minScore > weightSimilar+weightOrganization || p.family == "" {
			continue
		}
		apart := minScore > weightSimilar
		put(family, p.family, p, i, apart)
		put(given, p.given+" "+firstRune(p.family), p, i, apart)
	}
	for _, blocks := range []map[string][]int{same, compact, family, given} {
		for name, block := range blocks {
			if len(block) > maxBlock {
				delete(blocks, name)
			}
		}
	}
	return []map[string][]int{same, compact, family, given}
}

// maxBlock limits how many people are compared with each other.
const maxBlock = 400

// put adds a person to the blocks of a name at each organisation. It also adds them to the
// block of the name, unless only people at one organisation can be a pair.
func put(blocks map[string][]int, name string, p *record, i int, apart bool) {
	for _, o := range p.organizations {
		blocks[name+"\x00"+o] = append(blocks[name+"\x00"+o], i)
	}
	if !apart {
		blocks[name] = append(blocks[name], i)
	}
}

func firstRune(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}
