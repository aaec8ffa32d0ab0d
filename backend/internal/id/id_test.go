package id_test

import (
	"regexp"
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
	g := id.NewGenerator(time.Now)
	global := []string{id.Member, id.Token, id.Client, id.Grant, id.Session, id.Passkey, id.Credit, id.Job}
	prefixes := append([]string{id.Connection, id.Handle, id.Organization, id.Position, id.Note, id.Interaction, id.Tag, id.Change}, global...)
	for _, prefix := range prefixes {
		got := id.New(prefix)
		if slices.Contains(global, prefix) {
			got = generate(t, g, prefix)
		}
		for _, other := range prefixes {
			if id.Valid(other, got) != (other == prefix) {
				t.Errorf("Valid(%s, %s) = %v", other, got, other != prefix)
			}
		}
	}
}

// Ten characters are enough for a member: 100,000 identifiers are different.
func TestNewIsShortAndUnique(t *testing.T) {
	t.Parallel()
	form, seen := regexp.MustCompile(`^con_[a-z]{2}[0-9]{3}[a-z]{2}[0-9]{3}$`), map[string]bool{}
	for range 100_000 {
		made := id.New(id.Connection)
		if !form.MatchString(made) {
			t.Fatalf("made %s", made)
		}
		seen[made] = true
	}
	if len(seen) < 99_999 { // two are alike once in a hundred runs
		t.Errorf("%d of 100,000 are different", len(seen))
	}
}

func TestValid(t *testing.T) {
	t.Parallel()
	const ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	for name, c := range map[string]struct {
		prefix, id string
		want       bool
	}{
		"one":                              {id.Connection, "con_kq482md193", true},
		"a short one":                      {id.Connection, "con_k7m2qx", true},
		"another prefix":                   {id.Connection, "org_kq482md193", false},
		"no prefix":                        {id.Connection, "kq482md193", false},
		"no underscore":                    {id.Connection, "conkq482md193", false},
		"too long":                         {id.Connection, "con_kq482md1934", false},
		"upper case":                       {id.Connection, "con_KQ482MD193", false},
		"a line break at the end":          {id.Connection, "con_kq482md193\n", false},
		"the prefix alone":                 {id.Connection, "con_", false},
		"empty":                            {id.Connection, "", false},
		"a token":                          {id.Token, "pat_" + ulid, true},
		"a short token":                    {id.Token, "pat_kq482md193", false},
		"a token too large for 128 bits":   {id.Token, "pat_81ARZ3NDEKTSV4RRFFQ69G5FAV", false},
		"a token in lower case":            {id.Token, "pat_01arz3ndektsv4rrffq69g5fav", false},
		"a token with other letters":       {id.Token, "pat_01ARZ3NDEKTSV4RRFFQ69G5FIL", false},
		"a connection with a token's form": {id.Connection, "con_" + ulid, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := id.Valid(c.prefix, c.id); got != c.want {
				t.Errorf("Valid(%q) = %v, want %v", c.id, got, c.want)
			}
		})
	}
}

func TestValidNeverPanics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`(?s)pat_.{20,30}`).Draw(t, "s")
		if id.Valid(id.Token, s) && len(s) != 30 {
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
				s, err := g.New(id.Token)
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
		made = append(made, generate(t, g, id.Token))
	}
	wantGrowing(t, made) // through the minute by which the clock was set back, too
}

func TestTimeOutOfRangeIsAnError(t *testing.T) {
	t.Parallel()
	g := id.NewGenerator(func() time.Time { return time.Date(11000, 1, 1, 0, 0, 0, 0, time.UTC) })
	if s, err := g.New(id.Token); err == nil || !strings.Contains(err.Error(), id.Token) {
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
