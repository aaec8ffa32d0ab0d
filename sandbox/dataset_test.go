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

// someDay is the day that the golden hash belongs to.
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
	kind := func(want string) func(sandbox.Relationship) bool {
		return func(r sandbox.Relationship) bool { return r.Type == want }
	}
	birthdays := count(d.ImportantDates, func(x sandbox.ImportantDate) bool { return x.Kind == "birthday" })
	leaplings := count(d.ImportantDates, func(x sandbox.ImportantDate) bool { return x.Month == 2 && x.Day == 29 })
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
		{"organizations", len(d.Organizations), 45},
		{"positions", len(d.Positions), 260},
		{"notes", len(d.Notes), 150},
		{"interactions", len(d.Interactions), 600},
		{"groups", len(d.Groups), 8},
		{"tags", len(d.Tags), 25},
		{"reminders", len(d.Reminders), 30},
		{"birthdays", birthdays, 60},
		{"people born on 29 February", leaplings, 1},
		{"introductions", count(d.Relationships, kind("introduced_by")), 18},
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
	form := regexp.MustCompile(`^` + prefix + `_[0-7][0-9A-HJKMNP-TV-Z]{25}$`)
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
	ids(t, "pos", d.Positions, func(x sandbox.Position) string { return x.ID })
	ids(t, "hnd", d.Handles, func(x sandbox.Handle) string { return x.ID })
	ids(t, "not", d.Notes, func(x sandbox.Note) string { return x.ID })
	ids(t, "int", d.Interactions, func(x sandbox.Interaction) string { return x.ID })
	ids(t, "rem", d.Reminders, func(x sandbox.Reminder) string { return x.ID })
	ids(t, "dat", d.ImportantDates, func(x sandbox.ImportantDate) string { return x.ID })
	ids(t, "rel", d.Relationships, func(x sandbox.Relationship) string { return x.ID })
	connections := ids(t, "con", d.Connections, func(x sandbox.Connection) string { return x.ID })
	organizations := ids(t, "org", d.Organizations, func(x sandbox.Organization) string { return x.ID })
	tags := ids(t, "tag", d.Tags, func(x sandbox.Tag) string { return x.ID })
	groups := ids(t, "grp", d.Groups, func(x sandbox.Group) string { return x.ID })

	check := func(known map[string]bool, from string, mentioned ...string) {
		t.Helper()
		for _, id := range mentioned {
			if !known[id] {
				t.Errorf("%s mentions unknown %q", from, id)
			}
		}
		if distinct := slices.Compact(slices.Sorted(slices.Values(mentioned))); len(distinct) != len(mentioned) {
			t.Errorf("%s mentions one twice", from)
		}
	}
	for _, x := range d.Positions {
		check(connections, x.ID, x.ConnectionID)
		check(organizations, x.ID, x.OrganizationID)
	}
	for _, x := range d.Handles {
		check(connections, x.ID, x.ConnectionID)
	}
	for _, x := range d.Notes {
		check(connections, x.ID, x.ConnectionIDs...)
		if n := len(x.ConnectionIDs); n < 1 || n > 20 {
			t.Errorf("note %s is about %d connections", x.ID, n)
		}
	}
	for _, x := range d.Interactions {
		check(connections, x.ID, x.ConnectionIDs...)
		if n := len(x.ConnectionIDs); n < 1 || n > 50 {
			t.Errorf("interaction %s is with %d connections", x.ID, n)
		}
	}
	for _, x := range d.ConnectionTags {
		check(connections, "a tag", x.ConnectionID)
		check(tags, "a tag", x.TagID)
	}
	for _, x := range d.GroupMembers {
		check(connections, "a group", x.ConnectionID)
		check(groups, "a group", x.GroupID)
	}
	for _, x := range d.Reminders {
		if x.ConnectionID != "" {
			check(connections, x.ID, x.ConnectionID)
		}
	}
	for _, x := range d.ImportantDates {
		check(connections, x.ID, x.ConnectionID)
	}
	for _, x := range d.Relationships {
		check(connections, x.ID, x.FromID, x.ToID)
	}
	for _, x := range d.Duplicates {
		check(connections, "a pair", x.FirstID, x.SecondID)
	}
}

func TestNothingIsEmptyOrListedTwice(t *testing.T) {
	t.Parallel()
	d := sandbox.Build(someDay)
	used := map[string]int{}
	tagged := map[sandbox.ConnectionTag]bool{}
	for _, x := range d.ConnectionTags {
		used[x.TagID]++
		if tagged[x] {
			t.Errorf("%v is listed twice", x)
		}
		tagged[x] = true
	}
	grouped := map[sandbox.GroupMember]bool{}
	for _, x := range d.GroupMembers {
		used[x.GroupID]++
		if grouped[x] {
			t.Errorf("%v is listed twice", x)
		}
		grouped[x] = true
	}
	for _, x := range d.Positions {
		used[x.OrganizationID]++
	}
	for _, x := range d.Tags {
		if used[x.ID] == 0 {
			t.Errorf("tag %s is on nobody", x.Name)
		}
	}
	for _, x := range d.Groups {
		if used[x.ID] == 0 {
			t.Errorf("group %s is empty", x.Name)
		}
	}
	for _, x := range d.Organizations {
		if used[x.ID] == 0 {
			t.Errorf("organization %s has nobody", x.Name)
		}
	}
}
