package index

import (
	"cmp"
	"slices"
)

// judge scores the documents of one segment from the tables of all tokens.
type judge struct {
	tables  []*table
	docs    []ranked
	nameKey string // of the query
	chunked bool   // see plan

	lastMatch match // of the only token
	last      grade // given for lastMatch
}

// grade is the result of a document in the tables.
type grade struct {
	ok    bool // the document is a hit
	score int  // in thousandths
	full  int  // the score if the query is the whole name; 0 when it cannot be
}

// limits returns the tier of document d: the closeness of the word that matches worst, and whether
// a word matches in the name. A document with a match in the name is in a tier of names, even if
// that match is less close than all matches in other fields.
func (j *judge) limits(d int) (limit closeness, named, ok bool) {
	worst, best := exact, unmatched
	for i := range j.tables {
		m := j.tables[i].best[d]
		name, other := closenessOf(m.name), closenessOf(m.other)
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

// chosen returns the match of one token that counts: that in the name if it is within the limit,
// else that in the other fields.
func (t *table) chosen(d int, limit closeness, named bool) quality {
	if m := t.best[d]; !named || closenessOf(m.name) > limit {
		return m.other
	}
	return t.best[d].name
}

// score returns the score of document d in thousandths, or false if it does not match.
func (j *judge) score(d int) (int, bool) {
	g := j.gradeOf(d)
	if g.full > 0 && j.docs[d].key == j.nameKey {
		return g.full, true
	}
	return g.score, g.ok
}

// gradeOf returns the grade of document d. For a single token it caches the last one, because most
// neighbours have the same match.
func (j *judge) gradeOf(d int) grade {
	if !j.matchesLikeLast(d) {
		j.lastMatch, j.last = j.tables[0].best[d], j.assess(d)
	}
	return j.last
}

func (j *judge) matchesLikeLast(d int) bool {
	return len(j.tables) == 1 && j.tables[0].best[d] == j.lastMatch
}

func (j *judge) assess(d int) grade {
	limit, named, ok := j.limits(d)
	if !ok {
		return grade{}
	}
	sum := 0
	for i := range j.tables {
		sum += score(j.tables[i].chosen(d, limit, named))
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

// fullScore is the score of a document if the query is its whole name. A prefix can be a
// whole name only where the query was cut into pieces.
func (j *judge) fullScore(limit closeness) int {
	switch {
	case limit == exact, limit == prefix && j.chunked:
		return scoreFullName
	case limit == folded, limit == foldedPrefix && j.chunked:
		return bands[folded].high
	}
	return 0
}

const topScore = 1000

// scored is a document number with its score.
type scored struct{ score, doc int }

// best keeps the k best of the documents that are offered in ascending order; of equal
// scores the first stay.
type best struct {
	hits  []scored
	k     int
	least int // lower scores are no match
	floor int // scores up to here are not among the k best
	top   int // the best score
	total int
	sum   uint64 // sum of the checksums of all matches
}

func (b *best) offer(score, doc int, sum uint64) {
	if score < b.least {
		return
	}
	b.total++
	b.sum ^= sum
	b.top = max(b.top, score)
	if score <= b.floor {
		return
	}
	b.hits = append(b.hits, scored{score, doc})
	if len(b.hits) >= 2*b.k+16 {
		b.prune()
		b.floor = b.hits[b.k-1].score
	}
}

// prune sorts the hits and drops all but the k best.
func (b *best) prune() {
	slices.SortFunc(b.hits, func(x, y scored) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.doc, y.doc))
	})
	b.hits = b.hits[:min(len(b.hits), b.k)]
}
