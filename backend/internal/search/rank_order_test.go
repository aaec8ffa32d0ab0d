package search

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What is at hand of two documents orders them as the documents do.
func TestKeyedRankIsRank(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	draw := func(t *rapid.T) ranked {
		last := rapid.SampledFrom([]time.Time{{}, {}, at, at.Add(time.Millisecond), at.AddDate(0, 0, -1), at.AddDate(-2000, 0, 0)}).Draw(t, "last contact")
		return ranked{
			doc: &Document{ID: rapid.StringMatching("[ab]{1,2}").Draw(t, "id"), Starred: rapid.Bool().Draw(t, "starred"), LastInteractionAt: last},
			key: rapid.StringMatching("[abé\\x00]{0,3}(12345678)?[ab]{0,2}").Draw(t, "key"),
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t), draw(t)
		if got, want := compareKeyedRank(keyRank(a), keyRank(b)), compareRank(a, b); got != want {
			t.Errorf("%d, not %d: %+v %q, %+v %q", got, want, a.doc, a.key, b.doc, b.key)
		}
	})
}
