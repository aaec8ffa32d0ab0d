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
	reader  db.Reader
	query   Query
	end     int      // above the highest number
	about   []bool   // by number: the entries about the person; nil for all
	scratch *scratch // nil if the query has no words
}

// scratch is the memory of a search. It is used again: for a word of 400,000 entries it is some megabytes, and to allocate them would
// cost more, in garbage collection, than the search.
type scratch struct {
	words []wordHits
	kinds wordHits // the entries of the kinds
	hits  []uint16 // by number: the hits of all words, unless there is only one
	have  []uint8  // by number: how many of the words the entry has, unless there is only one
	level []int32
}

var scratches = sync.Pool{New: func() any { return &scratch{} }} //nolint:gochecknoglobals // a pool

// wordHits are the entries with a word.
type wordHits struct {
	hits    []uint8 // by number
	numbers []int32 // of the entries with hits, in any order
	end     int     // above the highest of them
}

// Close gives the memory of the search back.
func (f *Found) Close() {
	s := f.scratch
	if s == nil {
		return
	}
	f.scratch = nil
	for i := range s.words {
		if w := &s.words[i]; len(s.words) > 1 {
			for _, number := range w.numbers {
				s.hits[number], s.have[number] = 0, 0
			}
		}
		s.words[i].clear()
	}
	s.kinds.clear()
	scratches.Put(s)
}

func (w *wordHits) clear() {
	for _, number := range w.numbers {
		w.hits[number] = 0
	}
	w.numbers, w.end = w.numbers[:0], 0
}

// Find looks the words of a query up. It takes one statement, and one more for a person's entries. Close must be called if there is
// no error.
func Find(ctx context.Context, r db.Reader, q Query) (*Found, error) {
	f := &Found{reader: r, query: q}
	if q.Words.Len() == 0 {
		return f, nil
	}
	f.scratch = scratches.Get().(*scratch) //nolint:forcetypeassert // nothing else is in the pool
	f.scratch.words = slices.Grow(f.scratch.words[:0], q.Words.Len())[:q.Words.Len()]
	err := f.read(ctx)
	if err == nil && q.ConnectionID != "" {
		err = f.allowOf(ctx)
	}
	if err != nil {
		return nil, err // without the memory, which may be in any state
	}
	return f, nil
}

// allowOf allows the entries about a person only.
func (f *Found) allowOf(ctx context.Context) error {
	var numbers []int32
	err := f.reader.NewRaw(`SELECT n.number FROM note_connections l JOIN entry_numbers n ON n.tenant_id = l.tenant_id AND n.entry_id = l.note_id
WHERE l.tenant_id = ?0 AND l.connection_id = ?1
UNION ALL SELECT n.number FROM interaction_connections l JOIN entry_numbers n ON n.tenant_id = l.tenant_id AND n.entry_id = l.interaction_id
WHERE l.tenant_id = ?0 AND l.connection_id = ?1`, f.reader.TenantID(), f.query.ConnectionID).Scan(ctx, &numbers)
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
	if len(f.query.Kinds) > 0 && (int(number) >= f.scratch.kinds.end || f.scratch.kinds.hits[number] == 0) {
		return false
	}
	return f.about == nil || f.about[number]
}

// ofKinds stands for a word in the statement of read: the postings are those of kinds.
const ofKinds = -1

// read reads the postings of the words and of the kinds.
func (f *Found) read(ctx context.Context) error {
	var parts []string
	var args []any
	part := func(word int, where string, values ...any) {
		parts = append(parts, "SELECT ? AS place, word, postings FROM entry_words WHERE tenant_id = ? AND "+where)
		args = append(append(args, word, f.reader.TenantID()), values...)
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
	if len(f.query.Kinds) > 0 {
		terms := make([]string, len(f.query.Kinds))
		for i, kind := range f.query.Kinds {
			terms[i] = kindTerm(kind)
		}
		part(ofKinds, "word IN (?)", bun.List(terms))
	}
	rows, err := f.reader.QueryContext(ctx, strings.Join(parts, " UNION ALL "), args...)
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
		if word == ofKinds {
			f.scratch.kinds.count(postings, 1)
		} else {
			f.scratch.words[word].count(postings, f.query.Words.Weight(word, string(term)))
		}
	}
	f.sum()
	return rows.Err()
}

// count adds a row of postings of a term that has a weight.
func (w *wordHits) count(postings []byte, weight int) {
	w.numbers = slices.Grow(w.numbers, len(postings))
	c := newCursor(postings)
	for c.next() {
		if int(c.number) >= len(w.hits) {
			w.hits = grown(w.hits, int(c.number)+1)
		}
		if w.hits[c.number] == 0 {
			w.numbers = append(w.numbers, c.number)
		}
		w.hits[c.number] = uint8(min(int(w.hits[c.number])+c.count*weight, index.MostHits))
	}
	w.end = max(w.end, int(c.number)+1)
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
		hits := s.words[i].hits
		for _, number := range s.words[i].numbers {
			s.hits[number] += uint16(hits[number])
			s.have[number]++
		}
	}
}

// Missing returns the places of the words that no entry has.
func (f *Found) Missing() (words []int) {
	if f.scratch == nil {
		return nil
	}
	for i := range f.scratch.words {
		if len(f.scratch.words[i].numbers) == 0 {
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
		if w := &s.words[i]; len(w.numbers) < len(rarest.numbers) {
			rarest = w
		}
	}
	switch {
	case words == len(s.words) && len(rarest.numbers) < f.end/sparse:
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

// sparse is the number of entries of which one has a word if it is faster to sort the list of those that have it than to look at all.
const sparse = 32

// Ranking takes the entries with the same number of words in the order of a search: those with more hits first, and of equal ones
// the latest.
type Ranking struct {
	found  *Found
	words  int
	levels []int   // how many entries have so many hits
	hits   int     // of the entries that are taken
	latest *byTime // nil before the first of them is taken
	below  uint32  // the entries of the first hits are of earlier seconds
}

// With returns the ranking of the entries with so many of the words.
func (f *Found) With(words int) *Ranking {
	r := &Ranking{found: f, words: words, levels: make([]int, index.MostHits*f.query.Words.Len()+1), below: math.MaxUint32}
	r.hits = len(r.levels) - 1
	f.each(words, func(_ int32, hits int) { r.levels[hits]++ })
	return r
}

// Skip leaves out the entries with more hits, and most of those with as many hits that are later than a time.
func (r *Ranking) Skip(hits int, after time.Time) {
	if hits <= r.hits {
		r.hits, r.below = hits, secondOf(after)+1
	}
}

// fewEntries is how many entries are taken at once, in no order, without reading when they were.
const fewEntries = 50

// Next takes about n entries or more: all entries of the same hits and second at once. It returns them in no order, and their hits;
// none at the end. Entries before Since or from Until on may be among them.
func (r *Ranking) Next(ctx context.Context, n int) (numbers []int32, hits int, err error) {
	for ; r.hits > 0; r.hits, r.latest, r.below = r.hits-1, nil, math.MaxUint32 {
		if r.levels[r.hits] == 0 {
			continue
		}
		few := r.levels[r.hits] <= fewEntries
		if r.latest == nil {
			level := r.found.scratch.level[:0]
			r.found.each(r.words, func(number int32, hits int) {
				if hits == r.hits {
					level = append(level, number)
				}
			})
			r.found.scratch.level = level
			if few {
				r.levels[r.hits] = 0
				return level, r.hits, nil
			}
			since, below := uint32(noTime+1), r.below
			if q := r.found.query; !q.Since.IsZero() {
				since = secondOf(q.Since)
			}
			if q := r.found.query; !q.Until.IsZero() {
				below = min(below, secondOf(q.Until)+1)
			}
			if r.latest, err = newByTime(ctx, r.found.reader, level, since, below); err != nil {
				return nil, 0, err
			}
		}
		if numbers, err = r.latest.next(ctx, n); err != nil || len(numbers) > 0 {
			return numbers, r.hits, err
		}
	}
	return nil, 0, nil
}
