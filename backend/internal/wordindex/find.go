package wordindex

import (
	"context"
	"database/sql"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/uptrace/bun"
)

// Query says which entries to find.
type Query struct {
	Words index.Words
	// ConnectionID is empty for entries about anyone.
	ConnectionID string
	// Kinds is empty for all.
	Kinds []string
	// Since (inclusive) and Until (exclusive) are zero for no limit.
	Since, Until time.Time
}

// Filtered reports whether the query has more than words.
func (q *Query) Filtered() bool {
	return q.ConnectionID != "" || len(q.Kinds) > 0 || !q.Since.IsZero() || !q.Until.IsZero()
}

// Found is the result of Find: the entries with at least one word of the query.
type Found struct {
	query   Query
	blocks  []*block
	kinds   uint8  // the bits of the kinds; 0 for all
	since   uint32 // the seconds of the first and the last entries
	until   uint32
	end     int      // above the highest number, a multiple of lanes
	about   []bool   // by number: the entries about the person; nil for all
	scratch *scratch // nil if the query has no words
	rarest  *wordHits
	// Whether the filters were applied, to the numbers of the rarest word and to the arrays.
	numbersFiltered, arraysFiltered bool
}

// scratch is the memory of a search. It is used again: for a word of 400,000 entries it is some megabytes, and to allocate them would
// cost more, in garbage collection, than the search.
type scratch struct {
	words []wordHits
	hits  []uint8 // by number: the hits of all words, unless there is only one
	have  []uint8 // by number: how many of the words the entry has, unless there is only one
	level []int32
}

var scratches = sync.Pool{New: func() any { return &scratch{} }} //nolint:gochecknoglobals // a pool

// wordHits are the entries with a word.
type wordHits struct {
	hits    []uint8 // by number
	entries int     // how many have hits
	numbers []int32 // of the first few of them, in any order
	end     int     // above the highest of them, a multiple of lanes
}

// few is how many entries of a word are listed: others are found by looking at all.
const few = 4096

// Close gives the memory of the search back.
func (f *Found) Close() {
	s := f.scratch
	if s == nil {
		return
	}
	f.scratch = nil
	for i := range s.words {
		w := &s.words[i]
		clear(w.hits[:w.end])
		w.numbers, w.entries, w.end = w.numbers[:0], 0, 0
	}
	if len(s.words) > 1 {
		clear(s.hits[:f.end])
		clear(s.have[:f.end])
	}
	scratches.Put(s)
}

// Find looks the words of a query up. It takes one statement, and one more for a person's entries. Entries that the blocks don't have yet
// are left out. Close must be called if there is no error.
func Find(ctx context.Context, r db.Reader, blocks *Blocks, q Query) (*Found, error) {
	f := &Found{query: q, blocks: *blocks.all.Load(), until: math.MaxUint32}
	if !q.Since.IsZero() {
		f.since = secondOf(q.Since)
	}
	if !q.Until.IsZero() {
		f.until = secondOf(q.Until)
	}
	for _, kind := range q.Kinds {
		f.kinds |= bitOf(kind)
	}
	if q.Words.Len() == 0 {
		return f, nil
	}
	f.scratch = scratches.Get().(*scratch) //nolint:forcetypeassert // nothing else is in the pool
	f.scratch.words = slices.Grow(f.scratch.words[:0], q.Words.Len())[:q.Words.Len()]
	err := f.read(ctx, r)
	if err == nil && q.ConnectionID != "" {
		err = f.allowOf(ctx, r)
	}
	if err != nil {
		return nil, err // without the memory, which may be in any state
	}
	return f, nil
}

// allowOf allows the entries about a person only.
func (f *Found) allowOf(ctx context.Context, r db.Reader) error {
	var numbers []int32
	err := r.NewRaw(`SELECT n.number FROM note_connections l JOIN entry_numbers n ON n.tenant_id = l.tenant_id AND n.entry_id = l.note_id
WHERE l.tenant_id = ?0 AND l.connection_id = ?1
UNION ALL SELECT n.number FROM interaction_connections l JOIN entry_numbers n ON n.tenant_id = l.tenant_id AND n.entry_id = l.interaction_id
WHERE l.tenant_id = ?0 AND l.connection_id = ?1`, r.TenantID(), f.query.ConnectionID).Scan(ctx, &numbers)
	f.about = make([]bool, f.end)
	for _, number := range numbers {
		if int(number) < f.end {
			f.about[number] = true
		}
	}
	return err
}

// allows reports whether the filters leave the entry at a place of a block: of those by time, whether they leave an entry of the same second.
func (f *Found) allows(block, place int) bool {
	if block >= len(f.blocks) || place >= len(f.blocks[block].kinds) {
		return false
	}
	b := f.blocks[block]
	at := b.times[place]
	return at >= f.since && at <= f.until && (f.kinds == 0 || b.kinds[place]&f.kinds != 0) && (f.about == nil || f.about[block*blockSize+place])
}

// read reads the postings of the words.
func (f *Found) read(ctx context.Context, r db.Reader) error {
	var parts []string
	var args []any
	part := func(word int, where string, values ...any) {
		parts = append(parts, "SELECT ? AS place, word, postings FROM entry_words WHERE tenant_id = ? AND "+where)
		args = append(append(args, word, r.TenantID()), values...)
	}
	for i := range f.query.Words.Len() {
		terms, prefix := f.query.Words.Terms(i)
		if of := beginningOf(prefix); of == beginningMark+prefix {
			part(i, "word = ?", of)
		} else if prefix != "" {
			part(i, "word >= ? AND word < ?", prefix, prefix+string(unicode.MaxRune))
			terms = slices.DeleteFunc(slices.Clone(terms), func(term string) bool { return strings.HasPrefix(term, prefix) })
		}
		if len(terms) > 0 {
			part(i, "word IN (?)", bun.List(terms))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	rows, err := r.QueryContext(ctx, strings.Join(parts, " UNION ALL "), args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var word int
		var term, postings sql.RawBytes
		if err := rows.Scan(&word, &term, &postings); err != nil {
			return err
		}
		f.scratch.words[word].count(postings, f.weight(word, string(term)))
	}
	f.sum()
	return rows.Err()
}

// weight returns how many hits of a word each posting of a term is. The term of a beginning has the words that begin with it too.
func (f *Found) weight(word int, term string) int {
	_, prefix := f.query.Words.Terms(word)
	if strings.HasPrefix(term, beginningMark) {
		return index.PartHit
	}
	weight := f.query.Words.Weight(word, term)
	if beginningOf(prefix) == beginningMark+prefix && strings.HasPrefix(term, prefix) {
		return weight - index.PartHit
	}
	return weight
}

// count adds a row of postings of a term that has a weight.
func (w *wordHits) count(row []byte, weight int) {
	first, bitmap, postings := split(row)
	w.countBits(int(first), bitmap, weight)
	counted := min(len(bitmap), 1) // of each posting, by countBits
	numbers, hits, entries := w.numbers, w.hits, w.entries
	c := newCursor(postings)
	for c.next() {
		if int(c.number) >= len(hits) {
			hits = grown(hits, int(c.number)+1)
		}
		before := hits[c.number]
		if before == 0 {
			if entries++; entries <= few {
				numbers = append(numbers, c.number)
			}
		}
		hits[c.number] = uint8(min(int(before)+(c.count-counted)*weight, index.MostHits))
	}
	w.numbers, w.hits, w.entries, w.end = numbers, hits, entries, max(w.end, roundUp(int(c.number)+1))
}

// countBits adds one posting for each bit, from a number on.
func (w *wordHits) countBits(first int, bitmap []byte, weight int) {
	if len(bitmap) == 0 {
		return
	}
	end := first + lanes*len(bitmap)
	w.hits, w.end = grown(w.hits, end), max(w.end, roundUp(end))
	for i, one := range bitmap {
		at := first + lanes*i
		before := load(w.hits, at)
		after := atMost(before+spread(one)*uint64(weight), index.MostHits)
		store(w.hits, at, after)
		added := positive(after) &^ positive(before)
		w.entries += bits.OnesCount64(added)
		for ; added != 0 && w.entries <= few; added &= added - 1 {
			w.numbers = append(w.numbers, int32(at+bits.TrailingZeros64(added)/8))
		}
	}
}

// grown returns a slice of so many places or more; their number is a multiple of lanes.
func grown(all []uint8, size int) []uint8 {
	if missing := roundUp(size) - len(all); missing > 0 {
		all = append(all, make([]uint8, missing)...)
		all = all[:cap(all)/lanes*lanes] // append has cleared the rest
	}
	return all
}

// sum adds up the hits of all words.
func (f *Found) sum() {
	s := f.scratch
	f.rarest = &s.words[0]
	for i := range s.words {
		w := &s.words[i]
		f.end = max(f.end, w.end)
		if w.entries < f.rarest.entries {
			f.rarest = w
		}
	}
	if len(s.words) == 1 {
		return
	}
	s.hits, s.have = grown(s.hits, f.end), grown(s.have, f.end)
	for i := range s.words {
		w := &s.words[i]
		if w.entries <= few {
			for _, number := range w.numbers {
				s.hits[number] += w.hits[number]
				s.have[number]++
			}
			continue
		}
		for at := 0; at < w.end; at += lanes {
			if hits := load(w.hits, at); hits != 0 {
				store(s.hits, at, load(s.hits, at)+hits)
				store(s.have, at, load(s.have, at)+positive(hits))
			}
		}
	}
}

// Missing returns the places of the words that no entry has.
func (f *Found) Missing() (words []int) {
	if f.scratch == nil {
		return nil
	}
	for i := range f.scratch.words {
		if f.scratch.words[i].entries == 0 {
			words = append(words, i)
		}
	}
	return words
}

// MostWords returns how many words an entry has at most, whatever the filters. It must be called before With.
func (f *Found) MostWords() (most int) {
	if f.end == 0 || len(f.scratch.words) == 1 {
		return min(f.end, 1)
	}
	var all uint64
	for at := 0; at < f.end; at += lanes {
		all = highest(all, load(f.scratch.have, at))
	}
	return highestLane(all)
}

// listed reports whether the numbers of the rarest word have all entries with so many words.
func (f *Found) listed(words int) bool {
	return words == len(f.scratch.words) && f.rarest.entries <= few
}

// filter leaves out the entries that the filters leave out, of those with so many words.
func (f *Found) filter(words int) {
	if f.listed(words) && !f.numbersFiltered {
		f.rarest.numbers = slices.DeleteFunc(f.rarest.numbers, func(number int32) bool { return !f.allows(int(number)/blockSize, int(number)%blockSize) })
		slices.Sort(f.rarest.numbers)
		f.numbersFiltered = true
	}
	if f.listed(words) || f.arraysFiltered || !f.query.Filtered() {
		return
	}
	f.arraysFiltered = true
	of := f.scratch.have
	if len(f.scratch.words) == 1 {
		of = f.scratch.words[0].hits
	}
	clear(of[min(len(f.blocks)*blockSize, f.end):f.end])
	for i, b := range f.blocks {
		if from := i * blockSize; from < f.end {
			f.filterBlock(of[from:min(from+blockSize, f.end)], b)
		}
	}
	if f.about != nil {
		for number, allowed := range f.about {
			if !allowed {
				of[number] = 0
			}
		}
	}
}

// filterBlock clears the entries of a block that the filters by time and kind leave out. Their times are in no order, so that a
// branch would be predicted wrongly for every other entry: it has none.
func (f *Found) filterBlock(of []uint8, b *block) {
	clear(of[min(len(b.kinds), len(of)):])
	of = of[:min(len(b.kinds), len(of))]
	if span := uint64(f.until) - uint64(f.since); f.since > f.until {
		clear(of)
	} else if span < math.MaxUint32 {
		for i, at := range b.times[:len(of)] {
			beyond := (span - uint64(at-f.since)) >> 63 // 1 for an entry that is not between
			of[i] &= uint8(beyond) - 1
		}
	}
	if f.kinds != 0 {
		for i, kind := range b.kinds[:len(of)] {
			other := (uint16(kind&f.kinds) - 1) >> 15 // 1 for an entry of another kind
			of[i] &= uint8(other) - 1
		}
	}
}

// hitsAt returns the hits of eight entries from a number on, and 0 for those that have not so many of the words.
func (f *Found) hitsAt(words, at int) uint64 {
	if len(f.scratch.words) == 1 {
		return load(f.scratch.words[0].hits, at)
	}
	return load(f.scratch.hits, at) & equal(load(f.scratch.have, at), uint8(words))
}

// hitsOf returns the hits of an entry, and 0 if it has not so many of the words.
func (f *Found) hitsOf(words int, number int32) int {
	switch {
	case len(f.scratch.words) == 1:
		return int(f.scratch.words[0].hits[number])
	case int(f.scratch.have[number]) != words:
		return 0
	}
	return int(f.scratch.hits[number])
}

// most returns the highest number of hits, not above limit, that an entry with this many of the words has; 0 if there is no such entry.
func (f *Found) most(words, limit int) int {
	if limit <= 0 {
		return 0
	}
	if f.listed(words) {
		most := 0
		for _, number := range f.rarest.numbers {
			if hits := f.hitsOf(words, number); hits <= limit {
				most = max(most, hits)
			}
		}
		return most
	}
	var most uint64
	for at := 0; at < f.end; at += lanes {
		if hits := f.hitsAt(words, at); hits != 0 {
			most = highest(most, hits&^above(hits, uint8(limit)))
		}
	}
	return highestLane(most)
}

// with appends, in ascending order, the numbers of the entries that have this many of the words and exactly this many hits.
func (f *Found) with(numbers []int32, words, hits int) []int32 {
	if f.listed(words) {
		for _, number := range f.rarest.numbers {
			if f.hitsOf(words, number) == hits {
				numbers = append(numbers, number)
			}
		}
		return numbers
	}
	for at := 0; at < f.end; at += lanes {
		for found := equal(f.hitsAt(words, at), uint8(hits)) & lowBits; found != 0; found &= found - 1 {
			numbers = append(numbers, int32(at+bits.TrailingZeros64(found)/8))
		}
	}
	return numbers
}

// Ranking takes the entries with the same number of words in the order of a search: those with more hits first, and of equal ones
// the latest.
type Ranking struct {
	found  *Found
	words  int
	hits   int     // of the entries that are taken
	latest *byTime // nil before the first of them is taken
	below  uint32  // the entries of the first hits are of earlier seconds
}

// With returns the ranking of the entries with so many of the words.
func (f *Found) With(words int) *Ranking {
	if f.end > 0 {
		f.filter(words)
	}
	return &Ranking{found: f, words: words, hits: index.MostHits * f.query.Words.Len(), below: math.MaxUint32}
}

// Skip leaves out the entries with more hits, and most of those with as many hits that are later than a time.
func (r *Ranking) Skip(hits int, after time.Time) {
	if hits <= r.hits {
		r.hits, r.below = hits, secondOf(after)+1
	}
}

// Next takes about n entries or more: all entries of the same hits and second at once. It returns them in no order, and their hits;
// none at the end. Of the seconds of Since and Until, entries before and after these may be among them.
func (r *Ranking) Next(n int) (numbers []int32, hits int) {
	f := r.found
	if f.end == 0 || r.words < 1 || r.words > len(f.scratch.words) {
		return nil, 0
	}
	for {
		if r.latest == nil {
			most := f.most(r.words, r.hits)
			if most == 0 {
				return nil, 0
			}
			if most < r.hits {
				r.hits, r.below = most, math.MaxUint32
			}
			f.scratch.level = f.with(f.scratch.level[:0], r.words, r.hits)
			r.latest = newByTime(f.blocks, f.scratch.level, r.below)
		}
		if numbers = r.latest.next(n); len(numbers) > 0 {
			return numbers, r.hits
		}
		r.hits, r.latest, r.below = r.hits-1, nil, math.MaxUint32
	}
}
