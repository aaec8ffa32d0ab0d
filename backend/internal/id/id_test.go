package id_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/id"
	"pgregory.net/rapid"
)

func TestNewIsValidForItsPrefixOnly(t *testing.T) {
	t.Parallel()
	prefixes := []string{id.Member, id.Token, id.Connection, id.Handle, id.Organization, id.Position, id.Note,
		id.Interaction, id.Tag, id.Change, id.Client, id.Grant}
	g := id.NewGenerator(time.Now)
	for _, prefix := range prefixes {
		got := generate(t, g, prefix)
		if len(got) != len(prefix)+27 || !strings.HasPrefix(got, prefix+"_") {
			t.Errorf("%s: made %s", prefix, got)
		}
		for _, other := range prefixes {
			if id.Valid(other, got) != (other == prefix) {
				t.Errorf("Valid(%s, %s) = %v", other, got, other != prefix)
			}
		}
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, id string
		want     bool
	}{
		{"one", "con_01ARZ3NDEKTSV4RRFFQ69G5FAV", true},
		{"the largest", "con_7ZZZZZZZZZZZZZZZZZZZZZZZZZ", true},
		{"too large for 128 bits", "con_8ZZZZZZZZZZZZZZZZZZZZZZZZZ", false},
		{"another prefix", "org_01ARZ3NDEKTSV4RRFFQ69G5FAV", false},
		{"no prefix", "01ARZ3NDEKTSV4RRFFQ69G5FAV", false},
		{"no underscore", "con01ARZ3NDEKTSV4RRFFQ69G5FAV", false},
		{"too short", "con_01ARZ3NDEKTSV4RRFFQ69G5FA", false},
		{"too long", "con_01ARZ3NDEKTSV4RRFFQ69G5FAVA", false},
		{"lower case", "con_01arz3ndektsv4rrffq69g5fav", false},
		{"letters that are not in the alphabet", "con_01ARZ3NDEKTSV4RRFFQ69G5FIL", false},
		{"the prefix alone", "con_", false},
		{"empty", "", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := id.Valid(id.Connection, c.id); got != c.want {
				t.Errorf("Valid(%q) = %v, want %v", c.id, got, c.want)
			}
		})
	}
}

func TestValidNeverPanics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`(?s)con_.{20,30}`).Draw(t, "s")
		if id.Valid(id.Connection, s) && len(s) != 30 {
			t.Fatalf("%q is valid", s)
		}
	})
}

// Each goroutine's own identifiers must grow, and no two be equal, whatever the
// others do; the fixed clock makes all of them fall into one millisecond.
func TestGrowsStrictlyUnderConcurrency(t *testing.T) {
	t.Parallel()
	const workers, each = 8, 500
	g := id.NewGenerator(func() time.Time { return time.UnixMilli(1_800_000_000_000) })
	made := make([][]string, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range each {
				s, err := g.New(id.Note)
				if err != nil {
					t.Error(err)
					return
				}
				made[w] = append(made[w], s)
			}
		})
	}
	wg.Wait()
	for _, own := range made {
		wantGrowing(t, own)
	}
	all := slices.Concat(made...)
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != workers*each {
		t.Errorf("%d different identifiers, want %d", n, workers*each)
	}
}

func TestGrowsWithTheClock(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_800_000_000_000)
	g := id.NewGenerator(func() time.Time { return now })
	var made []string
	for _, step := range []time.Duration{0, 0, time.Millisecond, time.Hour, -time.Minute, 0, 2 * time.Minute} {
		now = now.Add(step)
		made = append(made, generate(t, g, id.Note))
	}
	wantGrowing(t, made) // through the minute by which the clock was set back, too
}

func TestTimeOutOfRangeIsAnError(t *testing.T) {
	t.Parallel()
	g := id.NewGenerator(func() time.Time { return time.Date(11000, 1, 1, 0, 0, 0, 0, time.UTC) })
	if s, err := g.New(id.Note); err == nil || !strings.Contains(err.Error(), id.Note) {
		t.Errorf("made %q, %v", s, err)
	}
}

func generate(t *testing.T, g *id.Generator, prefix string) string {
	t.Helper()
	s, err := g.New(prefix)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wantGrowing(t *testing.T, ids []string) {
	t.Helper()
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			t.Fatalf("%s follows %s", ids[i], ids[i-1])
		}
	}
}
