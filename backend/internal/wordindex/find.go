package wordindex

import (
	"context"
	"database/sql"
	"math"
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
	kinds   uint8    // the bits of the kinds; 0 for all
	end     int      // above the highest number
	about   []bool   // by number: the entries about the person; nil for all
	scratch *scratch // nil if the query has no words
}

// scratch is the memory of a search. It is used again: for a word of 400,000 entries it is some megabytes, and to allocate them would
// cost more, in garbage collection, than the search.
type scratch struct {
	words []wordHits
	hits  []uint16 // by number: the hits of all words, unless there is only one
	have  []uint8  // by number: how many of the words the entry has, unless there is only one
	level []int32
}

var scratches = sync.Pool{New: func() any { return &scratch{} }} //nolint:gochecknoglobals // a pool

// wordHits are the entries with a word.
type wordHits struct {
	hits    []uint8 // by number
	entries int     // how many have hits
	numbers []int32 // of the first few of them, in any order
	end     int     // above the highest of them
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
	f := &Found{query: q, blocks: *blocks.all.Load()}
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

// allows reports whether the filters leave an entry.
func (f *Found) allows(number int32) bool {
	if f.kinds != 0 && f.kindOf(number)&f.kinds == 0 {
		return false
	}
	return f.about == nil || f.about[number]
}

func (f *Found) kindOf(number int32) uint8 {
	block, place := int(number/blockSize), int(number%blockSize)
	if block >= len(f.blocks) || place >= len(f.blocks[block].kinds) {
		return 0
	}
	return f.blocks[block].kinds[place]
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
		if prefix != "" {
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
		f.scratch.words[word].count(postings, f.query.Words.Weight(word, string(term)))
	}
	f.sum()
	return rows.Err()
}

// count adds a row of postings of a term that has a weight.
func (w *wordHits) count(postings []byte, weight int) {
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
		hits[c.number] = uint8(min(int(before)+c.count*weight, index.MostHits))
	}
	w.numbers, w.hits, w.entries, w.end = numbers, hits, entries, max(w.end, int(c.number)+1)
}

// grown returns a slice of so many places or more.
func grown[T any](all []T, size int) []T {
	if missing := size - len(all); missing > 0 {
		all = append(all, make([]T, missing)...)
		all = all[:cap(all)] // append has cleared the rest
	}
	return all
}

// sum adds up the hits of all words.
func (f *Found) sum() {
	s := f.scratch
	for i := range s.words {
		f.end = max(f.end, s.words[i].end)
	}
	if len(s.words) == 1 {
		return
	}
	s.hits, s.have = grown(s.hits, f.end), grown(s.have, f.end)
	for i := range s.words {
		w := &s.words[i]
		if w.entries <= few {
			for _, number := range w.numbers {
				s.hits[number] += uint16(w.hits[number])
				s.have[number]++
			}
			continue
		}
		for number, hits := range w.hits[:w.end] {
			s.hits[number] += uint16(hits)
			s.have[number] += min(hits, 1)
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

// MostWords returns how many words an entry has at most, whatever the filters.
func (f *Found) MostWords() (most int) {
	if f.end == 0 || len(f.scratch.words) == 1 {
		return min(f.end, 1)
	}
	return int(slices.Max(f.scratch.have[:f.end]))
}

// each calls do with the entries that have so many of the words and that the filters leave, and their hits, in ascending order.
func (f *Found) each(words int, do func(number int32, hits int)) {
	s := f.scratch
	if f.end == 0 || words < 1 || words > len(s.words) {
		return
	}
	rarest := &s.words[0]
	for i := range s.words {
		if w := &s.words[i]; w.entries < rarest.entries {
			rarest = w
		}
	}
	switch {
	case words == len(s.words) && rarest.entries <= few:
		slices.Sort(rarest.numbers)
		for _, number := range rarest.numbers {
			if !f.allows(number) {
				continue
			}
			if len(s.words) == 1 {
				do(number, int(rarest.hits[number]))
			} else if int(s.have[number]) == words {
				do(number, int(s.hits[number]))
			}
		}
	case len(s.words) == 1:
		for number, hits := range rarest.hits[:f.end] {
			if hits > 0 && f.allows(int32(number)) {
				do(int32(number), int(hits))
			}
		}
	default:
		for number, has := range s.have[:f.end] {
			if int(has) == words && f.allows(int32(number)) {
				do(int32(number), int(s.hits[number]))
			}
		}
	}
}

// Ranking takes the entries with the same number of words in the order of a search: those with more hits first, and of equal ones
// the latest.
type Ranking struct {
	found  *Found
	words  int
	levels []int   // how many entries have so many hits
	hits   int     // of the entries that are taken
	listed int     // the hits of the entries in scratch.level
	latest *byTime // nil before the first of them is taken
	below  uint32  // the entries of the first hits are of earlier seconds
}

// With returns the ranking of the entries with so many of the words.
func (f *Found) With(words int) *Ranking {
	r := &Ranking{found: f, words: words, levels: make([]int, index.MostHits*f.query.Words.Len()+1), below: math.MaxUint32}
	level := f.scratch.level[:0]
	f.each(words, func(number int32, hits int) {
		r.levels[hits]++
		if hits > r.listed {
			r.listed, level = hits, level[:0]
		}
		if hits == r.listed {
			level = append(level, number)
		}
	})
	r.hits, f.scratch.level = r.listed, level
	return r
}

// Skip leaves out the entries with more hits, and most of those with as many hits that are later than a time.
func (r *Ranking) Skip(hits int, after time.Time) {
	if hits <= r.hits {
		r.hits, r.below = hits, secondOf(after)+1
	}
}

// Next takes about n entries or more: all entries of the same hits and second at once. It returns them in no order, and their hits;
// none at the end. Entries before Since or from Until on may be among them.
func (r *Ranking) Next(n int) (numbers []int32, hits int) {
	for ; r.hits > 0; r.hits, r.latest, r.below = r.hits-1, nil, math.MaxUint32 {
		if r.levels[r.hits] == 0 {
			continue
		}
		if r.latest == nil {
			r.list()
			since, below := uint32(1), r.below
			if q := r.found.query; !q.Since.IsZero() {
				since = secondOf(q.Since)
			}
			if q := r.found.query; !q.Until.IsZero() {
				below = min(below, secondOf(q.Until)+1)
			}
			r.latest = newByTime(r.found.blocks, r.found.scratch.level, since, below)
		}
		if numbers = r.latest.next(n); len(numbers) > 0 {
			return numbers, r.hits
		}
	}
	return nil, 0
}

// list lists the entries of the hits that are taken.
func (r *Ranking) list() {
	if r.listed == r.hits {
		return
	}
	level := r.found.scratch.level[:0]
	r.found.each(r.words, func(number int32, hits int) {
		if hits == r.hits {
			level = append(level, number)
		}
	})
	r.listed, r.found.scratch.level = r.hits, level
}
