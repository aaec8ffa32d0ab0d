package wordindex

import (
	"cmp"
	"context"
	"encoding/binary"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
)

const (
	// countBits hold the count of a posting.
	countBits = 3
	// mostCounted is the highest count of a term in an entry: no word has more hits.
	mostCounted = index.MostHits
	// rowBytes is the most of a row. Both databases keep such a row in its page.
	rowBytes = 900
	// open is the last number of the row that new postings are added to.
	open = math.MaxInt32
)

// posting says that the entry with a number has a term so often; never, to remove it.
type posting struct {
	number int32
	count  int
}

// entryWord is a row of entry_words: postings of a term whose numbers are not above Last, and above the Last of the row before.
type entryWord struct {
	TenantID tenant.ID `bun:",pk"`
	Word     string    `bun:",pk"`
	Last     int32     `bun:",pk"`
	Postings []byte
}

// A row of postings is of one of two forms, whichever is shorter: a number for each posting, or, after a byte 0, a bit for each number
// from the first to the last, and a number for each posting of more than one. Words that many entries have are so read by eight.

// encode appends a posting whose number is higher than the one before; -1 for none.
func encode(to []byte, p posting, before int32) []byte {
	return binary.AppendUvarint(to, uint64(p.number-before)<<countBits|uint64(p.count))
}

// rowWriter writes the postings of a row in both forms.
type rowWriter struct {
	sparse, bitmap, often    []byte
	first, last, beforeOften int32
}

// most bytes of the numbers that begin the second form, and of a posting.
const headerBytes, postingBytes = 1 + 2*binary.MaxVarintLen32, binary.MaxVarintLen64

// fits reports whether the row is not too long with another posting.
func (w *rowWriter) fits(p posting) bool {
	return len(w.sparse)+postingBytes <= rowBytes ||
		w.bitmap != nil && headerBytes+int(p.number-w.first)/8+1+len(w.often)+postingBytes <= rowBytes
}

// add adds a posting whose number is higher than the one before.
func (w *rowWriter) add(p posting) {
	if len(w.sparse) == 0 {
		*w = rowWriter{bitmap: []byte{}, first: p.number, last: -1, beforeOften: -1}
	}
	w.sparse, w.last = encode(w.sparse, p, w.last), p.number
	place := int(p.number - w.first)
	if w.bitmap == nil || place/8 >= rowBytes {
		w.bitmap = nil
		return
	}
	w.bitmap = append(w.bitmap, make([]byte, place/8+1-len(w.bitmap))...)
	w.bitmap[place/8] |= 1 << (place % 8)
	if p.count > 1 {
		w.often, w.beforeOften = encode(w.often, p, w.beforeOften), p.number
	}
}

// bytes returns the row; nil if it has no postings.
func (w *rowWriter) bytes() []byte {
	if w.bitmap == nil || headerBytes+len(w.bitmap)+len(w.often) >= len(w.sparse) {
		return w.sparse
	}
	row := binary.AppendUvarint([]byte{0}, uint64(w.first))
	row = binary.AppendUvarint(row, uint64(len(w.bitmap)))
	return append(append(row, w.bitmap...), w.often...)
}

// split returns the bits of a row of the second form, the number of the first bit, and the postings of more than one; of a row of the
// first form no bits and all postings.
func split(row []byte) (first int32, bitmap, postings []byte) {
	if len(row) == 0 || row[0] != 0 {
		return 0, nil, row
	}
	number, n := binary.Uvarint(row[1:])
	row = row[1+max(n, 0):]
	length, m := binary.Uvarint(row)
	if n <= 0 || m <= 0 || length > uint64(len(row)-m) {
		return 0, nil, nil
	}
	row = row[m:]
	return int32(number), row[:length], row[length:]
}

// postingsOf returns the postings of a row, in order.
func postingsOf(row []byte) iter.Seq[posting] {
	return func(yield func(posting) bool) {
		first, bitmap, rest := split(row)
		c := newCursor(rest)
		more := c.next()
		for i, one := range bitmap {
			for ; one != 0; one &= one - 1 {
				p := posting{first + int32(8*i+bits.TrailingZeros8(one)), 1}
				if more && c.number == p.number {
					p.count = c.count
					more = c.next()
				}
				if !yield(p) {
					return
				}
			}
		}
		for ; more && bitmap == nil; more = c.next() {
			if !yield(posting{c.number, c.count}) {
				return
			}
		}
	}
}

// cursor reads postings that encode wrote.
type cursor struct {
	rest   []byte
	number int32
	count  int
}

func newCursor(postings []byte) cursor { return cursor{rest: postings, number: -1} }

// next reads the next posting, and reports whether there is one.
func (c *cursor) next() bool {
	if len(c.rest) == 0 {
		return false
	}
	v, n := uint64(c.rest[0]), 1
	if v >= 0x80 {
		if v, n = binary.Uvarint(c.rest); n <= 0 {
			return false
		}
	}
	c.rest = c.rest[n:]
	c.number += int32(v >> countBits)
	c.count = int(v & (1<<countBits - 1))
	return true
}

// changes are the postings to store, by term.
type changes map[string][]posting

// add adds what differs between the terms that an entry has in the index and those it has now.
func (c changes) add(number int32, before, now map[string]int) {
	for term := range before {
		if now[term] == 0 {
			c[term] = append(c[term], posting{number: number})
		}
	}
	for term, n := range now {
		if before[term] != n {
			c[term] = append(c[term], posting{number: number, count: n})
		}
	}
}

// lookups is how many rows one statement reads or writes.
const lookups = 500

// store changes the rows of all terms. Numbers from first on are new.
func (c changes) store(ctx context.Context, tx *db.Tx, first int32) error {
	type place struct {
		word   string
		number int32
	}
	var places []place
	for word, list := range c {
		slices.SortFunc(list, func(a, b posting) int { return cmp.Compare(a.number, b.number) })
		for i, p := range list {
			if p.number < first || i == 0 || list[i-1].number < first { // new postings share the open row
				places = append(places, place{word, p.number})
			}
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(strings.Compare(a.word, b.word), cmp.Compare(a.number, b.number)) })
	found := map[string][]entryWord{}
	for part := range slices.Chunk(places, lookups) {
		args := make([]any, 0, 2*len(part)+2)
		for _, p := range part {
			args = append(args, p.word, p.number)
		}
		var rows []entryWord
		err := tx.NewRaw("WITH wanted (word, number) AS (VALUES "+strings.Repeat("(?, ?), ", len(part)-1)+`(?, ?))
SELECT e.tenant_id, e.word, e.last, e.postings FROM wanted w JOIN entry_words e ON e.tenant_id = ? AND e.word = w.word
AND e.last = (SELECT min(f.last) FROM entry_words f WHERE f.tenant_id = ? AND f.word = w.word AND f.last >= w.number)`,
			append(args, tx.TenantID(), tx.TenantID())...).Scan(ctx, &rows)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if !slices.ContainsFunc(found[row.Word], func(e entryWord) bool { return e.Last == row.Last }) {
				found[row.Word] = append(found[row.Word], row)
			}
		}
	}
	var rows, gone []entryWord
	for word, list := range c {
		kept, dropped := merged(tx.TenantID(), word, found[word], list)
		rows, gone = append(rows, kept...), append(gone, dropped...)
	}
	byKey := func(a, b entryWord) int { return cmp.Or(strings.Compare(a.Word, b.Word), cmp.Compare(a.Last, b.Last)) }
	slices.SortFunc(rows, byKey)
	slices.SortFunc(gone, byKey)
	for part := range slices.Chunk(gone, lookups) {
		args := []any{tx.TenantID()}
		for _, row := range part {
			args = append(args, row.Word, row.Last)
		}
		_, err := tx.NewRaw("DELETE FROM entry_words WHERE tenant_id = ? AND (word, last) IN (VALUES "+strings.Repeat("(?, ?), ", len(part)-1)+"(?, ?))", args...).Exec(ctx)
		if err != nil {
			return err
		}
	}
	for part := range slices.Chunk(rows, lookups) {
		args := make([]any, 0, 4*len(part))
		for _, row := range part {
			args = append(args, row.TenantID, row.Word, row.Last, row.Postings)
		}
		_, err := tx.NewRaw("INSERT INTO entry_words (tenant_id, word, last, postings) VALUES "+strings.Repeat("(?, ?, ?, ?), ", len(part)-1)+
			"(?, ?, ?, ?) ON CONFLICT (tenant_id, word, last) DO UPDATE SET postings = EXCLUDED.postings", args...).Exec(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

// merged returns the rows of a term after changes to them, sorted by number, and the rows that are empty now. Rows must include each
// row that a change falls into; the open one may be missing.
func merged(owner tenant.ID, word string, rows []entryWord, changed []posting) (kept, gone []entryWord) {
	slices.SortFunc(rows, func(a, b entryWord) int { return cmp.Compare(a.Last, b.Last) })
	if len(rows) == 0 || rows[len(rows)-1].Last != open {
		rows = append(rows, entryWord{TenantID: owner, Word: word, Last: open})
	}
	for _, row := range rows {
		end := 0
		for end < len(changed) && changed[end].number <= row.Last {
			end++
		}
		if end == 0 {
			continue
		}
		list := combine(row.Postings, changed[:end])
		stored := len(row.Postings) > 0
		changed = changed[end:]
		var w rowWriter
		for _, p := range list {
			if !w.fits(p) {
				kept = append(kept, entryWord{TenantID: owner, Word: word, Last: w.last, Postings: w.bytes()})
				w = rowWriter{}
			}
			w.add(p)
		}
		row.Postings = w.bytes()
		switch {
		case len(row.Postings) > 0:
			kept = append(kept, row)
		case stored:
			gone = append(gone, row)
		}
	}
	return kept, gone
}

// combine returns the postings of a row after changes, both sorted by number.
func combine(row []byte, changed []posting) []posting {
	list := make([]posting, 0, len(row)+len(changed))
	take := func(below int32) {
		for len(changed) > 0 && changed[0].number < below {
			if changed[0].count > 0 {
				list = append(list, changed[0])
			}
			changed = changed[1:]
		}
	}
	for p := range postingsOf(row) {
		take(p.number)
		if len(changed) == 0 || changed[0].number != p.number { // otherwise the change replaces it
			list = append(list, p)
		}
	}
	take(math.MaxInt32)
	return list
}
