package search

import "slices"

// judge scores the documents of one segment from the tables of all tokens.
type judge struct {
	tables  []table
	docs    []ranked
	nameKey string // of the query
	chunked bool   // see plan
	strong  bool   // admit only documents whose score cannot be bettered by guesses

	name, other quality // of the only token, for which last was given
	last        grade
	known       bool
}

// grade is what the tables say of a document.
type grade struct {
	ok    bool // it is a hit
	score int  // in thousandths
	full  int  // the score if the query is the whole name; 0 when it cannot be
}

// limits finds how far the words of the query had to reach in document d: the
// closeness of the worst word, and whether a word is in the name. A word in the
// name makes the tier even if another field has that word closer, provided that
// the tier is not made worse than the best of the names.
func (j *judge) limits(d int) (limit closeness, named, ok bool) {
	worst, best := exact, unmatched
	for i := range j.tables {
		t := &j.tables[i]
		name, other := closenessOf(t.name[d]), closenessOf(t.other[d])
		if name == unmatched && other == unmatched {
			return 0, false, false
		}
		worst = max(worst, min(name, other))
		best = min(best, name)
	}
	if best == unmatched {
		return worst, false, true
	}
	return max(worst, best), true, true
}

// chosen is the match of one token that counts: the name as far as the limit
// allows, else the other fields.
func (t *table) chosen(d int, limit closeness, named bool) quality {
	if named && closenessOf(t.name[d]) <= limit {
		return t.name[d]
	}
	return t.other[d]
}

// score returns the score of document d in thousandths, or false if it is no
// match or, when only strong ones are wanted, a weak one.
func (j *judge) score(d int) (int, bool) {
	g := j.gradeOf(d)
	if g.full > 0 && j.docs[d].key == j.nameKey {
		return g.full, true
	}
	return g.score, g.ok
}

// gradeOf remembers the last grade of a single token: runs of documents agree.
func (j *judge) gradeOf(d int) grade {
	if len(j.tables) > 1 {
		return j.assess(d)
	}
	if !j.known || !j.sameAsLast(d) {
		j.name, j.other = j.tables[0].name[d], j.tables[0].other[d]
		j.last, j.known = j.assess(d), true
	}
	return j.last
}

// sameAsLast tells whether the only token matches d as it did the last document.
func (j *judge) sameAsLast(d int) bool {
	return j.tables[0].name[d] == j.name && j.tables[0].other[d] == j.other
}

func (j *judge) assess(d int) grade {
	limit, named, ok := j.limits(d)
	if !ok || j.strong && (!named || limit > foldedPrefix) {
		return grade{}
	}
	sum := 0
	for i := range j.tables {
		sum += worth(j.tables[i].chosen(d, limit, named))
	}
	b := bands[unmatched]
	if named {
		b = bands[limit]
	}
	g := grade{ok: true, score: b.low + (b.high-b.low)*sum/(1000*len(j.tables))}
	if named {
		g.full = j.fullScore(limit)
	}
	return g
}

// fullScore is what a document gets if the query is its whole name. Beginnings
// of words can be that only where the query was cut into pieces.
func (j *judge) fullScore(limit closeness) int {
	switch {
	case limit == exact, limit == prefix && j.chunked:
		return scoreFullName
	case limit == folded, limit == foldedPrefix && j.chunked:
		return bands[folded].high
	}
	return 0
}

// best keeps the k best of the documents offered in ascending order, so that of
// equal scores the first stay.
type best struct {
	keys  []uint64 // score inverted, then document: the smallest is the best
	k     int
	floor int // scores up to here are out
	total int
}

const topScore = 1000

func (b *best) reset(k int) {
	b.keys, b.k, b.floor, b.total = b.keys[:0], k, -1, 0
}

func (b *best) offer(score, doc int) {
	b.total++
	if score <= b.floor {
		return
	}
	b.keys = append(b.keys, uint64(topScore-score)<<32|uint64(doc))
	if len(b.keys) >= 2*b.k+16 {
		b.prune()
		b.floor, _ = openKey(b.keys[b.k-1])
	}
}

// prune sorts the keys and drops all but the k best.
func (b *best) prune() {
	slices.Sort(b.keys)
	b.keys = b.keys[:min(len(b.keys), b.k)]
}

func openKey(key uint64) (score, doc int) {
	return topScore - int(key>>32), int(uint32(key))
}
