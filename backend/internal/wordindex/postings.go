package wordindex

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
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
	// rowBytes is the length of postings from which a row is cut. Both databases keep such a row in its page.
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

// encode appends a posting whose number is higher than the one before; -1 for none.
func encode(to []byte, p posting, before int32) []byte {
	return binary.AppendUvarint(to, uint64(p.number-before)<<countBits|uint64(p.count))
}

// cursor reads the postings of a row.
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
		list := changed[:end]
		stored := len(row.Postings) > 0
		before := lastOf(row.Postings)
		if before >= list[0].number || slices.ContainsFunc(list, func(p posting) bool { return p.count == 0 }) {
			list, before = combine(row.Postings, list), -1
			row.Postings = nil
		}
		changed = changed[end:]
		for _, p := range list {
			if len(row.Postings) >= rowBytes {
				kept = append(kept, entryWord{TenantID: owner, Word: word, Last: before, Postings: row.Postings})
				row.Postings, before = nil, -1
			}
			row.Postings, before = encode(row.Postings, p, before), p.number
		}
		switch {
		case len(row.Postings) > 0:
			kept = append(kept, row)
		case stored:
			gone = append(gone, row)
		}
	}
	return kept, gone
}

// lastOf returns the highest number of a row; -1 for none.
func lastOf(postings []byte) int32 {
	c := newCursor(postings)
	for c.next() {
	}
	return c.number
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
	for c := newCursor(row); c.next(); {
		take(c.number)
		if len(changed) == 0 || changed[0].number != c.number { // otherwise the change replaces it
			list = append(list, posting{c.number, c.count})
		}
	}
	take(math.MaxInt32)
	return list
}
