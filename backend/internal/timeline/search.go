package timeline

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/search/index"
)

// WordQuery says what to look for in notes and interactions.
type WordQuery struct {
	// Text is the words; an entry must have all of them.
	Text string
	// ConnectionID is empty for the whole network.
	ConnectionID string
	// Among are the people whose entries are read, such as those of [index.Index.Mentioned]; nil for
	// everyone.
	Among []string
	// After is the last entry of the page before; nil for the first page.
	After *SearchCursor
	// Limit is the largest number of entries to return, at least 1.
	Limit int
}

// SearchCursor is the position of an entry in the order of the results: more hits first,
// then the latest.
type SearchCursor struct {
	Hits       int
	OccurredAt time.Time
	ID         string
}

func (r SearchCursor) compare(other SearchCursor) int {
	return cmp.Or(cmp.Compare(other.Hits, r.Hits), other.OccurredAt.Compare(r.OccurredAt), strings.Compare(other.ID, r.ID))
}

// Found is an entry with all the words; its Text is the part around the first one.
type Found struct {
	Entry

	SearchCursor SearchCursor
}

// SearchWords returns the entries with all words of the query, those with more hits first,
// and of equal ones the latest. It reads every entry and compares the words in Go, so that
// both databases find the same entries.
func SearchWords(ctx context.Context, r db.Reader, q WordQuery) ([]Found, error) {
	words := index.ParseWords(q.Text)
	var best []Found // sorted, q.Limit at most
	for e, err := range EachEntry(ctx, r, Query{ConnectionID: q.ConnectionID, Among: q.Among}) {
		if err != nil {
			return nil, err
		}
		hits := words.Hits(e.Text)
		if hits == 0 {
			continue
		}
		f := Found{Entry: e, SearchCursor: SearchCursor{Hits: hits, OccurredAt: e.OccurredAt, ID: e.ID}}
		if q.After != nil && f.SearchCursor.compare(*q.After) <= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, f, func(a, b Found) int { return a.SearchCursor.compare(b.SearchCursor) })
		if at >= q.Limit {
			continue
		}
		best = slices.Insert(best, at, f)
		best = best[:min(len(best), q.Limit)]
	}
	entries := make([]Entry, len(best))
	for i := range best {
		entries[i] = best[i].Entry
		entries[i].Text = words.Snippet(entries[i].Text)
	}
	if err := AddParticipants(ctx, r, entries); err != nil {
		return nil, err
	}
	for i := range best {
		best[i].Entry = entries[i]
	}
	return best, nil
}
