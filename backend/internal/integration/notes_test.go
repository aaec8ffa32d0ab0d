package integration_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/db"
	"github.com/kith-crm/kith/backend/internal/db/dbtest"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/timeline"
	"github.com/kith-crm/kith/backend/internal/wordindex"
)

// Both databases find the same, in the same order, with the stored times.
func TestSearchWords(t *testing.T) {
	t.Parallel()
	dbtest.Databases(t, func(t *testing.T, url string) {
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		s := dbtest.Open(t, url, func() time.Time { return now })
		owner, other := dbtest.Member(t, s, "maria"), dbtest.Member(t, s, "other")
		ana, ben := create(t, s, owner, people.Draft{Name: "Ana"}), create(t, s, owner, people.Draft{Name: "Ben"})
		theirs := create(t, s, other, people.Draft{Name: "Theirs"})
		add := func(body string, people ...string) {
			t.Helper()
			who := owner
			if people[0] == theirs.ID {
				who = other
			}
			now = now.Add(time.Minute)
			err := write(t, s, who, func(ctx context.Context, u *db.Tx) error {
				_, _, err := timeline.AddNote(ctx, u, timeline.Note{Body: body, ConnectionIDs: people})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		add("Sailing near Łódź", ana.ID)
		add("sailing, SAILING in Lodz", ana.ID, ben.ID)
		add("sailing in another's network near Lodz", theirs.ID)
		err := write(t, s, owner, func(ctx context.Context, u *db.Tx) error {
			_, err := timeline.LogInteractions(ctx, u, timeline.Interaction{
				Kind: "call", Summary: "sailing at łodz", OccurredAt: now.Add(-90 * time.Second), DurationMinutes: 20, ConnectionIDs: []string{ben.ID},
			})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		find := func(text, of string) (out []string) {
			t.Helper()
			found, err := searchWords(t.Context(), s.Tenant(owner, true), timeline.WordQuery{Text: text, ConnectionID: of, Limit: 9})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found.Entries {
				out = append(out, fmt.Sprintf("%s %s %d %d", f.Kind, f.OccurredAt.Format(time.TimeOnly), f.DurationMinutes, len(f.Participants)))
			}
			return out
		}
		for _, c := range []struct{ text, of, want string }{
			{"sailing lodz", "", "[note 12:02:00 0 2 call 12:01:30 20 1 note 12:01:00 0 1]"},
			{"sailing lodz", ana.ID, "[note 12:02:00 0 2 note 12:01:00 0 1]"},
			{"sailing lodz", ben.ID, "[note 12:02:00 0 2 call 12:01:30 20 1]"},
			{"another", "", "[]"},
		} {
			if got := fmt.Sprint(find(c.text, c.of)); got != c.want {
				t.Errorf("%q of %q: %s, want %s", c.text, c.of, got, c.want)
			}
		}
		if _, err := searchWords(t.Context(), s.Tenant(owner, true), timeline.WordQuery{Text: "x", ConnectionID: theirs.ID, Limit: 1}); !fault.Is(err, fault.NotFound) {
			t.Errorf("another's person: %v", err)
		}
	})
}

// manyNotes gives a member 10,000 notes of 500 characters.
func manyNotes(ctx context.Context, u *db.Tx) error {
	made, err := people.Create(ctx, u, people.Draft{Name: "Ana"})
	if err != nil {
		return err
	}
	for n := range 10_000 {
		body := fmt.Sprintf("Note %d. ", n) + strings.Repeat("Met at the harbour; she's into sailing and talked about her new boat. ", 7)
		note := &timeline.Note{Body: body, Version: 1, CreatedAt: u.Now(), UpdatedAt: u.Now(), ConnectionIDs: []string{made.Connection.ID}}
		if err := timeline.InsertNote(ctx, u, note); err != nil {
			return err
		}
	}
	return nil
}

func BenchmarkSearchWords(b *testing.B) {
	path := filepath.Join(b.TempDir(), "kith.db")
	if _, err := db.Migrate(b.Context(), db.Config{URL: path}); err != nil {
		b.Fatal(err)
	}
	s := dbtest.Open(b, path, time.Now)
	data := s.Tenant(dbtest.Member(b, s, "maria"), false)
	if err := data.Write(b.Context(), db.Actor{}, manyNotes); err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{"everywhere": "sailing boat", "nowhere": "dragons"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := searchWords(b.Context(), data, timeline.WordQuery{Text: text, Limit: 10}); err != nil {
					b.Fatal(err)
				}
			}
		})
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
