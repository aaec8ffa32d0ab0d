package timeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/search/index"
	"github.com/kith-crm/kith/backend/internal/text"
	"github.com/kith-crm/kith/backend/internal/wordindex"
	"github.com/uptrace/bun"
)

// WordQuery says what to look for in notes and interactions.
type WordQuery struct {
	// Text is the words.
	Text string
	// ConnectionID is empty for the whole network.
	ConnectionID string
	// Kinds is empty for all.
	Kinds []string
	// Since (inclusive) and Until (exclusive) are zero for no limit.
	Since, Until time.Time
	// After is the last entry of the page before; nil for the first page.
	After *SearchCursor
	// Limit is the largest number of entries to return, at least 1.
	Limit int
}

// SearchCursor is the position of an entry in the order of the results: more hits first,
// then the latest. All results have as many of the words.
type SearchCursor struct {
	Words, Hits int
	OccurredAt  time.Time
	ID          string
}

func (r SearchCursor) compare(other SearchCursor) int {
	return cmp.Or(cmp.Compare(other.Hits, r.Hits), other.OccurredAt.Compare(r.OccurredAt), strings.Compare(other.ID, r.ID))
}

// Found is an entry with words of the query; its Text is the part around the first one.
type Found struct {
	Entry

	SearchCursor SearchCursor
}

// WordsFound are the entries with the most words of a query.
type WordsFound struct {
	Entries []Found
	// Words is how many words each of the entries has, and All how many the query has.
	Words, All int
	// Missing are the words of the query, as they were typed, that no entry has, or not all parts of which.
	Missing []string
	// Archived are up to three people who are archived, with entries that have all words and are about no one else.
	Archived []Participant
	// Filtered means that there are entries with all words, which the filters leave out.
	Filtered bool
}

// maxArchived is how many archived people a search names.
const maxArchived = 3

// SearchWords returns the entries with all words of the query in their text or in the names of the people whom they are
// about, those with more hits first, and of equal ones the latest. If there are none, they are the entries with the most
// words. Entries about archived people only are left out. It reads the index of words, and of the entries those that it
// returns, unless many have the same time or are about archived people. It fails with fault.NotFound for a connection
// that does not exist.
func SearchWords(ctx context.Context, r db.Reader, blocks *wordindex.Blocks, q WordQuery) (*WordsFound, error) {
	if q.ConnectionID != "" {
		if err := people.Live(ctx, r, q.ConnectionID); err != nil {
			return nil, err
		}
	}
	words := index.ParseWords(q.Text)
	out := &WordsFound{All: words.Len()}
	if out.All == 0 {
		return out, nil
	}
	wanted := wordindex.Query{Words: words, ConnectionID: q.ConnectionID, Kinds: q.Kinds, Since: q.Since, Until: q.Until}
	found, err := wordindex.Find(ctx, r, blocks, wanted)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	missing := found.Missing()
	for word := range strings.FieldsSeq(q.Text) {
		typed := index.ParseWords(word)
		for i := range typed.Len() {
			if slices.ContainsFunc(missing, func(n int) bool { return words.Typed(n) == typed.Typed(i) }) {
				out.Missing = append(out.Missing, word)
				break
			}
		}
	}
	most, least := found.MostWords(), 1
	if q.After != nil {
		most, least = q.After.Words, q.After.Words
	}
	for n := most; n >= least && len(out.Entries) == 0; n-- {
		var hidden []string
		if out.Entries, hidden, err = takePage(ctx, r, q, found.With(n), n); err != nil {
			return nil, err
		}
		out.Words = n
		if n < out.All || len(out.Entries) > 0 {
			continue
		}
		out.Filtered = wanted.Filtered() && len(hidden) == 0
		if out.Archived, err = archivedOf(ctx, r, hidden); err != nil {
			return nil, err
		}
	}
	return out, fillFound(ctx, r, words, out.Entries)
}

// place is what the order of an entry depends on. Shown is false if the entry is about archived people only.
type place struct {
	Number int32
	ID     string
	At     time.Time
	Shown  bool
}

// takePage takes a page of a ranking. If the page is empty, hidden are entries that are about archived people only.
func takePage(ctx context.Context, r db.Reader, q WordQuery, ranking *wordindex.Ranking, words int) (page []Found, hidden []string, err error) {
	if q.After != nil {
		ranking.Skip(q.After.Hits, q.After.OccurredAt)
	}
	for len(page) < q.Limit {
		numbers, hits := ranking.Next(q.Limit)
		if len(numbers) == 0 {
			return page, hidden, nil
		}
		places, err := readPlaces(ctx, r, numbers)
		if err != nil {
			return nil, nil, err
		}
		var next []Found
		for _, p := range places {
			f := Found{SearchCursor: SearchCursor{Words: words, Hits: hits, OccurredAt: p.At.UTC(), ID: p.ID}}
			switch {
			case !q.Since.IsZero() && p.At.Before(q.Since), !q.Until.IsZero() && !p.At.Before(q.Until):
			case !p.Shown && q.ConnectionID == "":
				hidden = append(hidden, p.ID)
			case q.After == nil || f.SearchCursor.compare(*q.After) > 0:
				next = append(next, f)
			}
		}
		slices.SortFunc(next, func(a, b Found) int { return a.SearchCursor.compare(b.SearchCursor) })
		page = append(page, next...)
	}
	return page[:q.Limit], nil, nil
}

// maxPlaces is how many entries one statement orders.
const maxPlaces = 1000

// readPlaces reads the places of entries by their numbers, in any order.
func readPlaces(ctx context.Context, r db.Reader, numbers []int32) ([]place, error) {
	half := func(p part) string {
		return "SELECT n.number, t.id, " + p.at + " AS at, EXISTS (SELECT 1 FROM " + p.links + " l JOIN connections c ON c.tenant_id = l.tenant_id" +
			" AND c.id = l.connection_id AND c.archived_at IS NULL WHERE l.tenant_id = t.tenant_id AND l." + p.link + " = t.id) AS shown" +
			" FROM entry_numbers n JOIN " + p.table + " t ON t.tenant_id = n.tenant_id AND t.id = n.entry_id WHERE n.tenant_id = ?0 AND n.number IN (?1)"
	}
	statement := half(notePart()) + " UNION ALL " + half(interactionPart())
	var places []place
	for some := range slices.Chunk(numbers, maxPlaces) {
		var rows []place
		if err := r.NewRaw(statement, r.TenantID(), bun.List(some)).Scan(ctx, &rows); err != nil {
			return nil, err
		}
		places = append(places, rows...)
	}
	return places, nil
}

// fillFound reads the entries of a page, with the text around the first word and the people whom they are about.
func fillFound(ctx context.Context, r db.Reader, words index.Words, page []Found) error {
	if len(page) == 0 {
		return nil
	}
	ids := people.IDs(page, func(f Found) string { return f.SearchCursor.ID })
	half := func(p part) string {
		return "SELECT " + p.columns + " FROM " + p.table + " t WHERE t.tenant_id = ?0 AND t.id IN (?1)"
	}
	var entries []Entry
	err := r.NewRaw(half(notePart())+" UNION ALL "+half(interactionPart()), r.TenantID(), bun.List(ids)).Scan(ctx, &entries)
	if err != nil {
		return err
	}
	for i := range entries {
		entries[i].Text = words.Snippet(entries[i].Text)
	}
	if err := addParticipants(ctx, r, entries); err != nil {
		return err
	}
	for _, e := range entries {
		page[slices.Index(ids, e.ID)].Entry = e
	}
	return nil
}

// archivedOf returns the archived people of some notes and interactions, maxArchived at most, by name.
func archivedOf(ctx context.Context, r db.Reader, entryIDs []string) (archived []Participant, err error) {
	if len(entryIDs) == 0 {
		return nil, nil
	}
	err = r.NewRaw(`SELECT id, name FROM connections WHERE tenant_id = ?0 AND archived_at IS NOT NULL AND id IN (
SELECT connection_id FROM note_connections WHERE tenant_id = ?0 AND note_id IN (?1)
UNION SELECT connection_id FROM interaction_connections WHERE tenant_id = ?0 AND interaction_id IN (?1)) ORDER BY folded_name, id LIMIT ?2`,
		r.TenantID(), bun.List(entryIDs[:min(len(entryIDs), maxPlaces)]), maxArchived).Scan(ctx, &archived)
	return archived, err
}

// why returns a sentence that says why no entry has all words, or why the entries have only some of them; it is empty if they have
// all. Nearest returns the people with a name near to a text.
func (w *WordsFound) why(nearest func(text string) ([]index.Hit, error)) (string, error) {
	if len(w.Entries) > 0 && w.Words == w.All {
		return "", nil
	}
	var why []string
	if len(w.Archived) > 0 {
		hits := make([]index.Hit, len(w.Archived))
		for i, p := range w.Archived {
			hits[i] = index.Hit{ID: p.ID, Doc: &index.Document{Name: p.Name}}
		}
		why = append(why, "Entries about archived people match: "+index.Named(hits)+".")
	}
	if w.Filtered {
		why = append(why, "Without the filters, entries match.")
	}
	if len(w.Entries) > 0 {
		why = append(why, fmt.Sprintf("No entry has all the words; these have %d of %d.", w.Words, w.All))
	}
	if len(w.Missing) > 0 {
		missing := strings.Join(w.Missing, " ")
		if w.All > 1 {
			why = append(why, "No entry has "+text.Quote(missing)+".")
		}
		hits, err := nearest(missing)
		if err != nil {
			return "", err
		}
		if near := index.Named(hits); near != "" {
			why = append(why, "Nearest: "+near+".")
		}
	}
	return strings.Join(why, " "), nil
}
