package timeline_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/wordindex"
	"pgregory.net/rapid"
)

// fill replaces all notes with these, all about con_1.
func (w *writer) fill(entries []timeline.Entry) {
	w.t.Helper()
	err := w.do(func(ctx context.Context, tx *db.Tx) error {
		if err := tx.Delete(ctx, (*timeline.Note)(nil), "TRUE"); err != nil {
			return err
		}
		for _, e := range entries {
			n := timeline.Note{TenantID: tx.TenantID(), ID: e.ID, Body: e.Text, Version: 1, NotedAt: e.OccurredAt, CreatedAt: e.OccurredAt, UpdatedAt: e.OccurredAt}
			if _, err := tx.NewInsert().Model(&n).Exec(ctx); err != nil {
				return err
			}
			_, err := tx.NewRaw("INSERT INTO note_connections (tenant_id, connection_id, note_id) VALUES (?, 'con_1', ?)", tx.TenantID(), e.ID).Exec(ctx)
			if err != nil {
				return err
			}
		}
		return wordindex.MarkAll(ctx, tx)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestSearchWords(t *testing.T) {
	t.Parallel()
	entry := func(id, text string, daysAgo int) timeline.Entry {
		return timeline.Entry{ID: "not_" + id, Text: text, OccurredAt: noon.AddDate(0, 0, -daysAgo)}
	}
	all := []timeline.Entry{
		entry("1", "Likes sailing near Łódź.", 9),
		entry("2", "Sailing, sailing and more sailing. Talked about the boat in Lodz.", 30),
		entry("3", "Owns a sailboat", 1),
		entry("4", strings.Repeat("filler ", 60)+"the sail of Łódź tore"+strings.Repeat(" filler", 60), 2),
		entry("5", "Plays chess", 0),
		entry("6", "Likes sailing in Lodz too", 9),
	}
	w := newWriter(t, map[string]int{"con_1": 0})
	w.fill(all)
	for query, want := range map[string]string{
		"sailing":      "2 6 1",
		"SAIL":         "2 4 3 6 1",
		"sailing lodz": "2 6 1",
		"łódź sail":    "2 4 6 1",
		"the chess":    "5",
		"dragons":      "",
		"sa":           "", // a prefix must have three letters
		"!?":           "",
	} {
		got, err := searchWords(t.Context(), w, timeline.WordQuery{Text: query, Limit: 9})
		var ids []string
		for _, f := range got.Entries {
			ids = append(ids, strings.TrimPrefix(f.ID, "not_"))
			if f.Participants[0].ID != "con_1" || f.Text == "" || len([]rune(f.Text)) > 160 {
				t.Errorf("%q: %+v", query, f.Entry)
			}
		}
		if strings.Join(ids, " ") != want || err != nil {
			t.Errorf("%q finds %v, %v; want %s", query, ids, err, want)
		}
	}
	got, err := searchWords(t.Context(), w, timeline.WordQuery{Text: "tore", Limit: 9})
	if err != nil || len(got.Entries) != 1 || !strings.Contains(got.Entries[0].Text, "the sail of Łódź tore") || !strings.HasPrefix(got.Entries[0].Text, "…") {
		t.Errorf("the part around the match: %+v, %v", got, err)
	}
}

// Concatenated pages are the whole result, in an order that does not depend on the order
// of the entries.
func TestPagesOfWords(t *testing.T) {
	t.Parallel()
	w := newWriter(t, map[string]int{"con_1": 0})
	rapid.Check(t, func(rt *rapid.T) {
		var all []timeline.Entry
		for n := range rapid.IntRange(0, 12).Draw(rt, "entries") {
			all = append(all, timeline.Entry{
				ID: fmt.Sprint("not_", n), Text: strings.Repeat("tea ", rapid.IntRange(0, 4).Draw(rt, "hits")),
				OccurredAt: noon.Add(time.Duration(rapid.IntRange(0, 2).Draw(rt, "hour")) * time.Hour),
			})
		}
		find := func(q timeline.WordQuery) (ids []string, last *timeline.SearchCursor) {
			q.Text = "tea"
			found, err := searchWords(context.Background(), w, q)
			if err != nil {
				rt.Fatal(err)
			}
			for _, f := range found.Entries {
				ids, last = append(ids, f.ID), &f.SearchCursor
			}
			return ids, last
		}
		w.fill(all)
		whole, _ := find(timeline.WordQuery{Limit: 100})
		slices.Reverse(all)
		w.fill(all)
		var paged []string
		q := timeline.WordQuery{Limit: rapid.IntRange(1, 4).Draw(rt, "limit")}
		for {
			page, last := find(q)
			paged = append(paged, page...)
			if len(page) < q.Limit {
				break
			}
			q.After = last
		}
		if !slices.Equal(paged, whole) {
			rt.Fatalf("pages %v, whole %v", paged, whole)
		}
	})
}

func TestSearchWordsFails(t *testing.T) {
	t.Parallel()
	w := newWriter(t, nil)
	err := w.do(func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.NewRaw("ALTER TABLE entry_words RENAME TO away").Exec(ctx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := searchWords(t.Context(), w, timeline.WordQuery{Text: "x", Limit: 1}); err == nil {
		t.Error("nothing failed")
	}
}

// searchWords searches the notes and interactions as they are now.
func searchWords(ctx context.Context, r db.Reader, q timeline.WordQuery) (*timeline.WordsFound, error) {
	blocks := wordindex.NewBlocks()
	if _, err := blocks.Load(ctx, r, -1); err != nil {
		return nil, err
	}
	return timeline.SearchWords(ctx, r, blocks, q)
}
