package sandbox_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/kith-crm/kith/sandbox"
)

// someDay is the day of the golden hash.
var someDay = time.Date(2026, time.January, 15, 0, 0, 0, 0, time.UTC)

func count[T any](rows []T, matches func(T) bool) int {
	var n int
	for _, row := range rows {
		if matches(row) {
			n++
		}
	}
	return n
}

func TestFigures(t *testing.T) {
	t.Parallel()
	d := sandbox.Build(someDay)
	birthdays, leaplings, positions, introductions := 0, 0, 0, 0
	tags := map[string]bool{}
	for _, c := range d.Connections {
		birthdays += count(c.ImportantDates, func(x sandbox.ImportantDate) bool { return x.Kind == "birthday" })
		leaplings += count(c.ImportantDates, func(x sandbox.ImportantDate) bool { return strings.HasSuffix(x.Date, "-02-29") })
		introductions += count(c.Relationships, func(r sandbox.Relationship) bool { return r.Type == "introduced_by" })
		positions += len(c.Positions)
		for _, tag := range c.Tags {
			tags[tag] = true
		}
	}
	injections := count(d.Notes, func(n sandbox.Note) bool {
		return strings.Contains(n.Body, "ignore all previous instructions")
	})
	foreign := count(d.Connections, func(c sandbox.Connection) bool {
		return strings.ContainsFunc(c.Name, func(r rune) bool { return r > unicode.MaxASCII })
	})
	otherLetters := count(d.Connections, func(c sandbox.Connection) bool {
		return strings.ContainsFunc(c.Name, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) })
	})
	for _, tc := range []struct {
		name      string
		got, want int
	}{
		{"members", len(d.Members), 26},
		{"connections", len(d.Connections), 200},
		{"organizations", len(d.Domains), 45},
		{"positions", positions, 260},
		{"notes", len(d.Notes), 150},
		{"interactions", len(d.Interactions), 600},
		{"groups", len(d.Groups), 8},
		{"tags", len(tags), 25},
		{"reminders", len(d.Reminders), 30},
		{"birthdays", birthdays, 60},
		{"people born on 29 February", leaplings, 1},
		{"introductions", introductions, 18},
		{"introduction mails", count(d.Interactions, func(i sandbox.Interaction) bool { return i.Kind == "intro" }), 18},
		{"planted pairs", len(d.Duplicates), 12},
		{"false pairs", count(d.Duplicates, func(p sandbox.DuplicatePair) bool { return !p.SamePerson }), 1},
		{"injected notes", injections, 1},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %d, want %d", tc.name, tc.got, tc.want)
		}
	}
	if foreign < 60 || otherLetters < 15 {
		t.Errorf("names beyond ASCII: %d, not Latin: %d; want at least 60 and 15", foreign, otherLetters)
	}
}

func TestInjectedNoteIsNamed(t *testing.T) {
	t.Parallel()
	d := sandbox.Build(someDay)
	for _, note := range d.Notes {
		injected := strings.Contains(note.Body, "ignore all previous instructions")
		if injected != (note.ID == d.InjectedNoteID) {
			t.Errorf("note %s: injected %v, InjectedNoteID %s", note.ID, injected, d.InjectedNoteID)
		}
	}
}

// ids collects the ids of rows and fails on one that is malformed or not unique.
func ids[T any](t *testing.T, prefix string, rows []T, id func(T) string) map[string]bool {
	t.Helper()
	form := regexp.MustCompile(`^(?:mem_[0-7][0-9A-HJKMNP-TV-Z]{25}|` + prefix + `_[a-z]{2}[0-9]{3}[a-z]{2}[0-9]{3})$`)
	seen := map[string]bool{}
	for _, row := range rows {
		if !form.MatchString(id(row)) || seen[id(row)] {
			t.Errorf("id %q is malformed or not unique", id(row))
		}
		seen[id(row)] = true
	}
	return seen
}

func TestReferencesResolve(t *testing.T) {
	t.Parallel()
	d := sandbox.Build(someDay)
	ids(t, "mem", d.Members, func(x sandbox.Member) string { return x.ID })
	ids(t, "not", d.Notes, func(x sandbox.Note) string { return x.ID })
	ids(t, "int", d.Interactions, func(x sandbox.Interaction) string { return x.ID })
	ids(t, "rem", d.Reminders, func(x sandbox.Reminder) string { return x.ID })
	ids(t, "grp", d.Groups, func(x sandbox.Group) string { return x.ID })
	connections := ids(t, "con", d.Connections, func(x sandbox.Connection) string { return x.ID })

	check := func(from string, mentioned ...string) {
		t.Helper()
		for _, id := range mentioned {
			if !connections[id] {
				t.Errorf("%s mentions unknown %q", from, id)
			}
		}
		wantDistinct(t, from, mentioned)
	}
	for _, x := range d.Notes {
		check(x.ID, x.ConnectionIDs...)
		if n := len(x.ConnectionIDs); n < 1 || n > 20 {
			t.Errorf("note %s is about %d connections", x.ID, n)
		}
	}
	for _, x := range d.Interactions {
		check(x.ID, x.ConnectionIDs...)
		if n := len(x.ConnectionIDs); n < 1 || n > 50 {
			t.Errorf("interaction %s is with %d connections", x.ID, n)
		}
	}
	for _, x := range d.Reminders {
		if x.ConnectionID != "" {
			check(x.ID, x.ConnectionID)
		}
	}
	var relationships []sandbox.Relationship
	for _, x := range d.Connections {
		for _, r := range x.Relationships {
			check(r.ID, x.ID, r.ConnectionID)
		}
		relationships = append(relationships, x.Relationships...)
	}
	ids(t, "rel", relationships, func(x sandbox.Relationship) string { return x.ID })
	for _, x := range d.Duplicates {
		check("a pair", x.FirstID, x.SecondID)
	}
}

func wantDistinct(t *testing.T, from string, words []string) {
	t.Helper()
	if distinct := slices.Compact(slices.Sorted(slices.Values(words))); len(distinct) != len(words) {
		t.Errorf("%s names a connection twice: %v", from, words)
	}
}

func TestNothingIsEmptyOrListedTwice(t *testing.T) {
	t.Parallel()
	d := sandbox.Build(someDay)
	grouped, employed := map[string]bool{}, map[string]bool{}
	for _, x := range d.Connections {
		wantDistinct(t, x.ID, x.Tags)
		wantDistinct(t, x.ID, x.Groups)
		for _, name := range x.Groups {
			grouped[name] = true
		}
		for _, p := range x.Positions {
			employed[p.Organization] = true
			if d.Domains[p.Organization] == "" {
				t.Errorf("%s works at unknown %q", x.ID, p.Organization)
			}
		}
	}
	for _, x := range d.Groups {
		if !grouped[x.Name] {
			t.Errorf("group %s is empty", x.Name)
		}
	}
	if len(grouped) != len(d.Groups) || len(employed) != len(d.Domains) {
		t.Errorf("connections are in %d groups and at %d organizations, want %d and %d", len(grouped), len(employed), len(d.Groups), len(d.Domains))
	}
}
