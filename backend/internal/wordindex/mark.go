package wordindex

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/tenant"
	"github.com/uptrace/bun"
)

// marks are the entries that a transaction indexes again at its end.
type marks map[string]struct{}

type marksKey struct{}

// Mark has the transaction index entries again at its end, or take them out of the index if they no longer exist.
func Mark(tx *db.Tx, entryIDs ...string) {
	if len(entryIDs) == 0 {
		return
	}
	m := tx.Derived(marksKey{}, func() db.Derived { return marks{} }).(marks) //nolint:forcetypeassert // made here
	for _, one := range entryIDs {
		m[one] = struct{}{}
	}
}

// MarkOf marks the entries that are about people now.
func MarkOf(ctx context.Context, tx *db.Tx, connectionIDs ...string) error {
	if len(connectionIDs) == 0 {
		return nil
	}
	var ids []string
	err := tx.NewRaw(`SELECT note_id FROM note_connections WHERE tenant_id = ?0 AND connection_id IN (?1)
UNION SELECT interaction_id FROM interaction_connections WHERE tenant_id = ?0 AND connection_id IN (?1)`, tx.TenantID(), bun.List(connectionIDs)).Scan(ctx, &ids)
	Mark(tx, ids...)
	return err
}

// MarkRenamed marks the entries about those people, by id, whose stored name is another one than the given. It must run before the
// names are stored.
func MarkRenamed(ctx context.Context, tx *db.Tx, names map[string]string) error {
	var stored []struct{ ID, Name string }
	err := tx.NewRaw("SELECT id, name FROM connections WHERE tenant_id = ? AND id IN (?)", tx.TenantID(), bun.List(slices.Collect(maps.Keys(names)))).Scan(ctx, &stored)
	if err != nil {
		return err
	}
	var renamed []string
	for _, c := range stored {
		if c.Name != names[c.ID] {
			renamed = append(renamed, c.ID)
		}
	}
	return MarkOf(ctx, tx, renamed...)
}

// MarkAll marks all entries, for rows that were not written by this program.
func MarkAll(ctx context.Context, tx *db.Tx) error {
	var ids []string
	err := tx.NewRaw(`SELECT id FROM notes WHERE tenant_id = ?0 UNION ALL SELECT id FROM interactions WHERE tenant_id = ?0
UNION SELECT entry_id FROM entry_numbers WHERE tenant_id = ?0`, tx.TenantID()).Scan(ctx, &ids)
	Mark(tx, ids...)
	return err
}

// atOnce is how many entries are indexed at once.
const atOnce = 4000

// Derive implements db.Derived: it indexes the marked entries.
func (m marks) Derive(ctx context.Context, tx *db.Tx) error {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(m)), atOnce) {
		if err := indexEntries(ctx, tx, ids); err != nil {
			return fmt.Errorf("index the words of entries: %w", err)
		}
	}
	return nil
}

// entryNumber is a row of entry_numbers. Terms are the terms of the entry, as join writes them.
type entryNumber struct {
	TenantID tenant.ID `bun:",pk"`
	Number   int32     `bun:",pk"`
	EntryID  string
	Terms    string
}

// entry is an entry as it is stored now.
type entry struct {
	ID, Kind, Text string
	At             time.Time
	names          []string
}

// terms counts the terms of an entry.
func (e *entry) terms() map[string]int {
	counts := map[string]int{}
	count := func(term string) { counts[term]++ }
	index.EachTerm(e.Text, count)
	for _, name := range e.names {
		index.EachTerm(name, count)
	}
	for term, n := range counts {
		counts[term] = min(n, mostCounted)
	}
	return counts
}

// beginning is how many letters of words are indexed as a term of their own: hundreds of words can begin with them. Longer beginnings are
// looked up as the words that have them.
const beginning = 3

// beginningOf returns the term for all words that begin as a term does; "" if it is shorter than a beginning.
func beginningOf(term string) string {
	letters := 0
	for i := range term {
		if letters == beginning {
			return beginningMark + term[:i]
		}
		letters++
	}
	if letters < beginning {
		return ""
	}
	return beginningMark + term
}

// beginningMark begins such a term: no word has it.
const beginningMark = "\t"

// withBeginnings returns terms, and the beginnings of them.
func withBeginnings(counts map[string]int) map[string]int {
	all := maps.Clone(counts)
	for term, n := range counts {
		if of := beginningOf(term); of != "" {
			all[of] = min(all[of]+n, mostCounted)
		}
	}
	return all
}

// join writes terms one a line, with a tab and the count of those that occur more than once.
func join(counts map[string]int) string {
	var b strings.Builder
	for _, term := range slices.Sorted(maps.Keys(counts)) {
		b.WriteString(term)
		if n := counts[term]; n > 1 {
			b.WriteByte('\t')
			b.WriteString(strconv.Itoa(n))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// readTerms reads terms that join wrote.
func readTerms(terms string) map[string]int {
	counts := map[string]int{}
	for line := range strings.Lines(terms) {
		term, count, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		n, _ := strconv.Atoi(count)
		counts[term] = max(n, 1)
	}
	return counts
}

// indexEntries brings the index up to date with entries, some of which may not exist.
func indexEntries(ctx context.Context, tx *db.Tx, ids []string) error {
	var rows []entryNumber
	if err := tx.From(&rows).Where("entry_id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
		return err
	}
	indexed := make(map[string]*entryNumber, len(rows))
	for i := range rows {
		indexed[rows[i].EntryID] = &rows[i]
	}
	entries, err := readEntries(ctx, tx, ids)
	if err != nil {
		return err
	}
	var next int32
	if err := tx.NewRaw("SELECT coalesce(max(number) + 1, 0) FROM entry_numbers WHERE tenant_id = ?", tx.TenantID()).Scan(ctx, &next); err != nil {
		return err
	}
	changed, stamps, first := changes{}, map[int32]stamp{}, next
	var stored []entryNumber
	var gone []string
	for _, one := range ids {
		old, e := indexed[one], entries[one]
		switch {
		case old == nil && e == nil:
			continue
		case e == nil:
			changed.add(old.Number, withBeginnings(readTerms(old.Terms)), nil)
			stamps[old.Number] = stamp{}
			gone = append(gone, one)
			continue
		case old == nil:
			old = &entryNumber{TenantID: tx.TenantID(), EntryID: one, Number: next}
			next++
		}
		stamps[old.Number] = stamp{secondOf(e.At), bitOf(e.Kind)}
		counts := e.terms()
		if joined := join(counts); joined != old.Terms {
			changed.add(old.Number, withBeginnings(readTerms(old.Terms)), withBeginnings(counts))
			stored = append(stored, entryNumber{TenantID: old.TenantID, EntryID: one, Number: old.Number, Terms: joined})
		}
	}
	if len(gone) > 0 {
		if err := tx.Delete(ctx, (*entryNumber)(nil), "entry_id IN (?)", bun.List(gone)); err != nil {
			return err
		}
	}
	if len(stored) > 0 {
		if _, err := tx.NewInsert().Model(&stored).On("CONFLICT (tenant_id, number) DO UPDATE").Set("terms = EXCLUDED.terms").Exec(ctx); err != nil {
			return err
		}
	}
	if err := changed.store(ctx, tx, first); err != nil {
		return err
	}
	return storeStamps(ctx, tx, stamps)
}

// noteKind is the kind of the entries that are notes; the others are of the kinds of interactions.
const noteKind = "note"

// kinds are the two kinds of entries: how their ids begin, and the statements that read them and the names of the people whom they
// are about.
var kinds = []struct{ prefix, entries, names string }{ //nolint:gochecknoglobals // a constant
	{
		id.Note, "SELECT id, 'note' AS kind, body AS text, noted_at AS at FROM notes WHERE tenant_id = ? AND id IN (?)",
		"SELECT l.note_id AS entry_id, c.name FROM note_connections l JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id WHERE l.tenant_id = ? AND l.note_id IN (?)",
	},
	{
		id.Interaction, "SELECT id, kind, summary AS text, occurred_at AS at FROM interactions WHERE tenant_id = ? AND id IN (?)",
		"SELECT l.interaction_id AS entry_id, c.name FROM interaction_connections l JOIN connections c ON c.tenant_id = l.tenant_id AND c.id = l.connection_id WHERE l.tenant_id = ? AND l.interaction_id IN (?)",
	},
}

// readEntries reads those of the entries that exist, with the names of the people whom they are about.
func readEntries(ctx context.Context, tx *db.Tx, ids []string) (map[string]*entry, error) {
	byID := make(map[string]*entry, len(ids))
	for _, kind := range kinds {
		var of []string
		for _, one := range ids {
			if strings.HasPrefix(one, kind.prefix+"_") {
				of = append(of, one)
			}
		}
		if len(of) == 0 {
			continue
		}
		var entries []entry
		if err := tx.NewRaw(kind.entries, tx.TenantID(), bun.List(of)).Scan(ctx, &entries); err != nil {
			return nil, err
		}
		for i := range entries {
			byID[entries[i].ID] = &entries[i]
		}
		var names []struct{ EntryID, Name string }
		if err := tx.NewRaw(kind.names, tx.TenantID(), bun.List(of)).Scan(ctx, &names); err != nil {
			return nil, err
		}
		for _, row := range names {
			if e := byID[row.EntryID]; e != nil {
				e.names = append(e.names, row.Name)
			}
		}
	}
	return byID, nil
}

// storeStamps stores the stamps of entries by their numbers.
func storeStamps(ctx context.Context, tx *db.Tx, stamps map[int32]stamp) error {
	blocks := map[int32]*entryBlock{}
	for number := range stamps {
		blocks[number/blockSize] = &entryBlock{TenantID: tx.TenantID(), Block: number / blockSize}
	}
	if len(blocks) == 0 {
		return nil
	}
	var rows []*entryBlock
	if err := tx.From(&rows).Where("block IN (?)", bun.List(slices.Collect(maps.Keys(blocks)))).Scan(ctx); err != nil {
		return err
	}
	for _, row := range rows {
		blocks[row.Block] = row
	}
	dirty := map[int32]*entryBlock{}
	for number, s := range stamps {
		if b := blocks[number/blockSize]; b.set(int(number%blockSize), s) {
			dirty[b.Block], b.DataVersion = b, tx.Version()
		}
	}
	if len(dirty) == 0 {
		return nil
	}
	rows = slices.SortedFunc(maps.Values(dirty), func(a, b *entryBlock) int { return cmp.Compare(a.Block, b.Block) })
	_, err := tx.NewInsert().Model(&rows).On("CONFLICT (tenant_id, block) DO UPDATE").Set("data_version = EXCLUDED.data_version").
		Set("times = EXCLUDED.times").Set("kinds = EXCLUDED.kinds").Exec(ctx)
	return err
}
