package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kith-crm/kith/backend/internal/timeline"
)

// words keeps entries in memory.
type words []timeline.Entry

func (w words) EachEntry(context.Context, string) iter.Seq2[timeline.Entry, error] {
	return func(yield func(timeline.Entry, error) bool) {
		for _, e := range w {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (words) AddParticipants(_ context.Context, entries []timeline.Entry) error {
	for i := range entries {
		entries[i].Participants = []timeline.Participant{{ID: "con_" + entries[i].ID}}
	}
	return nil
}

func TestSearchWords(t *testing.T) {
	t.Parallel()
	entry := func(id, text string, daysAgo int) timeline.Entry {
		return timeline.Entry{ID: id, Text: text, OccurredAt: noon.AddDate(0, 0, -daysAgo)}
	}
	all := words{
		entry("1", "Likes sailing near Łódź.", 9),
		entry("2", "Sailing, sailing and more sailing. Talked about the boat in Lodz.", 30),
		entry("3", "Owns a sailboat", 1),
		entry("4", strings.Repeat("filler ", 60)+"the sail of Łódź tore"+strings.Repeat(" filler", 60), 2),
		entry("5", "Plays chess", 0),
		entry("6", "Likes sailing in Lodz too", 9),
	}
	for query, want := range map[string]string{
		"sailing":      "2 6 1",
		"SAIL":         "2 4 3 6 1",
		"sailing lodz": "2 6 1",
		"łódź sail":    "2 4 6 1",
		"the chess":    "5",
		"dragons":      "",
		"sa":           "", // beginnings count from three letters
		"!?":           "",
	} {
		got, err := timeline.SearchWords(t.Context(), all, timeline.WordQuery{Text: query, Limit: 9})
		var ids []string
		for _, f := range got {
			ids = append(ids, f.ID)
			if f.Participants[0].ID != "con_"+f.ID || f.Text == "" || len([]rune(f.Text)) > 160 {
				t.Errorf("%q: %+v", query, f.Entry)
			}
		}
		if strings.Join(ids, " ") != want || err != nil {
			t.Errorf("%q finds %v, %v; want %s", query, ids, err, want)
		}
	}
	got, err := timeline.SearchWords(t.Context(), all, timeline.WordQuery{Text: "tore", Limit: 9})
	if err != nil || len(got) != 1 || !strings.Contains(got[0].Text, "the sail of Łódź tore") || !strings.HasPrefix(got[0].Text, "…") {
		t.Errorf("the part around the match: %+v, %v", got, err)
	}
}

// Pages laid end to end are the whole answer, in an order that does not depend on
// that of the entries.
func TestPagesOfWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var all words
		for n := range rapid.IntRange(0, 12).Draw(rt, "entries") {
			all = append(all, timeline.Entry{
				ID: fmt.Sprint(n), Text: strings.Repeat("tea ", rapid.IntRange(0, 4).Draw(rt, "hits")),
				OccurredAt: noon.Add(time.Duration(rapid.IntRange(0, 2).Draw(rt, "hour")) * time.Hour),
			})
		}
		find := func(all words, q timeline.WordQuery) (ids []string, last *timeline.Rank) {
			q.Text = "tea"
			found, err := timeline.SearchWords(context.Background(), all, q)
			if err != nil {
				rt.Fatal(err)
			}
			for _, f := range found {
				ids, last = append(ids, f.ID), &f.Rank
			}
			return ids, last
		}
		whole, _ := find(all, timeline.WordQuery{Limit: 100})
		shuffled := slices.Clone(all)
		slices.Reverse(shuffled)
		var paged []string
		q := timeline.WordQuery{Limit: rapid.IntRange(1, 4).Draw(rt, "limit")}
		for {
			page, last := find(shuffled, q)
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

type brokenWords struct{ words }

var errBroken = errors.New("broken")

func (brokenWords) EachEntry(context.Context, string) iter.Seq2[timeline.Entry, error] {
	return func(yield func(timeline.Entry, error) bool) { yield(timeline.Entry{}, errBroken) }
}

func TestSearchWordsFails(t *testing.T) {
	t.Parallel()
	if _, err := timeline.SearchWords(t.Context(), brokenWords{}, timeline.WordQuery{Text: "x", Limit: 1}); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}
