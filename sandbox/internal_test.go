package sandbox

import (
	"strings"
	"testing"
	"time"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"Åsa": "asa", "Łukasz": "lukasz", "O'Shaughnan": "oshaughnan", "José Luis": "jose-luis",
		"Weißmann": "weissmann", "Đức Huy": "duc-huy", "Şahinoğlu": "sahinoglu", "Ødegaard-Lie": "odegaard-lie",
	} {
		if got := plain(input); got != want {
			t.Errorf("plain(%q) = %q, want %q", input, got, want)
		}
	}
}

func TestNewName(t *testing.T) {
	t.Parallel()
	got := locale{joiner: " ", familyFirst: true}.newName("葵|Aoi", "佐久間|Sakuma")
	want := name{given: "葵", family: "佐久間", full: "佐久間 葵", latinGiven: "aoi", latinFamily: "sakuma"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestRespell(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		"+1 646 555-0142": "+1 (646) 555 0142", "+44 20 7946 0123": "+442079460123", "": "",
	} {
		if got := respell(input); got != want {
			t.Errorf("respell(%q) = %q, want %q", input, got, want)
		}
	}
}

func TestIDsAscendAndRepeat(t *testing.T) {
	t.Parallel()
	first, again, other := newIDs("con"), newIDs("con"), newIDs("org")
	var previous string
	for range 1000 {
		id := first.next()
		if id <= previous || again.next() != id || strings.TrimPrefix(other.next(), "org") == strings.TrimPrefix(id, "con") {
			t.Fatalf("%s after %s", id, previous)
		}
		previous = id
	}
}

func TestLeapYear(t *testing.T) {
	t.Parallel()
	for year, want := range map[int]int{2024: 2024, 2027: 2024, 2000: 2000, 1903: 1896, 2103: 2096} {
		if got := leapYear(year); got != want {
			t.Errorf("leapYear(%d) = %d, want %d", year, got, want)
		}
	}
}

func TestPartialDates(t *testing.T) {
	t.Parallel()
	c := newCalendar(time.Date(2026, time.March, 1, 23, 0, 0, 0, time.UTC))
	for known, want := range map[precision]string{toYear: "2026", toMonth: "2026-02", toDay: "2026-02-28"} {
		if got := c.partial(1, known); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := c.date(-2); got != "2026-03-03" {
		t.Errorf("two days ahead is %s", got)
	}
}

func TestListNamesPeople(t *testing.T) {
	t.Parallel()
	ann := plan{name: name{given: "Ann", full: "Ann Oak"}}
	bea := plan{name: name{given: "Bea", full: "Bea Elm"}, nickname: "B"}
	ann2 := plan{name: name{given: "Ann", full: "Ann Ash"}}
	for want, people := range map[string][]plan{
		"":                       nil,
		"Ann":                    {ann},
		"Ann and B":              {ann, bea},
		"Ann Oak, B and Ann Ash": {ann, bea, ann2},
	} {
		if got := list(people); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestUnknownPlaceholderStays(t *testing.T) {
	t.Parallel()
	b := newBuilder(time.Time{})
	if got := b.fill(newRNG("test"), "a {nothing} b", plan{organization: -1}); got != "a {nothing} b" {
		t.Errorf("got %q", got)
	}
}

func TestSectorTagsExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, tag := range tagNames() {
		known[tag] = true
	}
	for key, s := range sectors() {
		for _, tag := range s.tags {
			if !known[tag] {
				t.Errorf("sector %s has the unknown tag %s", key, tag)
			}
		}
	}
	for _, o := range organizationSeeds() {
		if _, known := sectors()[o.sector]; !known {
			t.Errorf("%s is in the unknown sector %s", o.name, o.sector)
		}
	}
}
