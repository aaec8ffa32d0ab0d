package people_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kith-crm/kith/backend/internal/people"
	"pgregory.net/rapid"
)

func TestImportantDates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		date             string
		year, month, day int
	}{
		{"1990-05-17", 1990, 5, 17}, {"1990-05", 1990, 5, 0}, {"1990", 1990, 0, 0}, {"--05-17", 0, 5, 17},
		{"--02-29", 0, 2, 29}, {"2024-02-29", 2024, 2, 29}, {"0001-01-01", 1, 1, 1}, {"9999-12-31", 9999, 12, 31},
	} {
		w := newWriter(t)
		got, err := w.create(people.Draft{
			Name: "Ana", Dates: []people.DateDraft{{Kind: "other", Label: "  Our \n trip ", Date: c.date}},
		})
		if err != nil {
			t.Errorf("%s: %v", c.date, err)
			continue
		}
		d := got.Connection.Dates[0]
		if d.Year != c.year || d.Month != c.month || d.Day != c.day || d.Label != "Our trip" || d.String() != c.date {
			t.Errorf("%s is %+v, %s", c.date, d, d)
		}
	}
	for _, date := range []string{
		"", "2023-02-29", "1900-02-29", "--02-30", "--04-31", "--13-01", "--00-01", "2023-13", "2023-00", "0000", "0000-01-01", "2023-1-1", "about 1950-05", "about 0000", "1950-05~", "about", "~", "about 1950~",
		"90", "--5-17", "1990/05/17", "----------", "--05", "-1990", "1990-05-32", "١٩٩٠",
	} {
		w := newWriter(t)
		_, err := w.create(people.Draft{
			Name: "Ana", Dates: []people.DateDraft{{Kind: "birthday", Date: "1990"}, {Kind: "birthday", Date: date}},
		})
		wantInvalid(t, err, "important_dates[1].date")
		w.wantNothingWritten(t)
	}
}

// An uncertain year is stored as uncertain, an exact date replaces it, and it is no evidence of a different birthday.
func TestAboutAYear(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"about 1950", "1950~"} {
		got, err := newWriter(t).create(people.Draft{Name: "Ana", Dates: []people.DateDraft{{Kind: "birthday", Date: said}}})
		if err != nil || got.Connection.Dates[0].String() != "about 1950" {
			t.Errorf("%s: %+v, %v", said, got.Connection, err)
			continue
		}
		held := got.Connection
		if on, known := held.Dates[0].Next(noon); known {
			t.Errorf("is due on %s", on)
		}
		for other, want := range map[string]string{"1950": "1950", "1950-04-12": "1950-04-12", "about 1950": "about 1950", "--04-12": "about 1950", "1952-01-02": "about 1950"} {
			day, err := people.DateDraft{Kind: "birthday", Date: other}.Parse()
			if err != nil {
				t.Fatal(err)
			}
			said := &people.Connection{Name: "Ana", Dates: []people.ImportantDate{day}}
			after, _, unused, err := held.MergeFrom(said, false)
			if err != nil || len(after.Dates) != 1 || after.Dates[0].String() != want || (len(unused) > 0) != (other == "--04-12" || other == "1952-01-02") {
				t.Errorf("with %s: %v, %v, %v", other, after.Dates, unused, err)
			}
			a, b := held.Evidence(), said.Evidence()
			if why := people.Doubt(&a, &b); why != "" {
				t.Errorf("%s: %s", other, why)
			}
		}
	}
}

func TestReplaceImportantDates(t *testing.T) {
	t.Parallel()
	birthday := people.DateDraft{Kind: "birthday", Date: "1990-05-17"}
	wedding := people.DateDraft{Kind: "anniversary", Date: "--06-01"}
	trip := people.DateDraft{Kind: "other", Label: "Trip", Date: "2019"}
	for name, c := range map[string]struct {
		dates   []people.DateDraft
		want    string
		changes bool
	}{
		"none given":       {nil, "1990-05-17 --06-01", false},
		"the same":         {[]people.DateDraft{birthday, wedding}, "1990-05-17 --06-01", false},
		"in another order": {[]people.DateDraft{wedding, birthday}, "1990-05-17 --06-01", false},
		"twice":            {[]people.DateDraft{wedding, birthday, wedding}, "1990-05-17 --06-01", false},
		"one more":         {[]people.DateDraft{trip, birthday, wedding}, "1990-05-17 --06-01 2019", true},
		"one less":         {[]people.DateDraft{wedding}, "--06-01", true},
		"another":          {[]people.DateDraft{trip}, "2019", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t)
			made, err := w.create(people.Draft{Name: "Ana", Dates: []people.DateDraft{birthday, wedding}})
			if err != nil {
				t.Fatal(err)
			}
			ids := map[string]string{}
			for _, d := range made.Connection.Dates {
				ids[d.String()] = d.ID
			}
			got, err := w.update(people.Patch{ID: made.Connection.ID, Dates: people.DateEdit{Replace: c.dates}})
			if err != nil || (got.ChangeID != "") != c.changes {
				t.Fatalf("%+v, %v", got, err)
			}
			dates := ""
			for _, d := range got.Connection.Dates {
				dates += " " + d.String()
				if was := ids[d.String()]; was != "" && was != d.ID {
					t.Errorf("%s lost its id", d)
				}
			}
			if dates != " "+c.want {
				t.Errorf("dates%s, want %s", dates, c.want)
			}
		})
	}
}

func TestEditImportantDates(t *testing.T) {
	t.Parallel()
	birthday := people.DateDraft{Kind: "birthday", Date: "1990-05-17"}
	wedding := people.DateDraft{Kind: "anniversary", Date: "--06-01"}
	trip := people.DateDraft{Kind: "other", Label: "Trip", Date: "2019"}
	list := func(dates ...people.DateDraft) []people.DateDraft { return dates }
	for name, c := range map[string]struct {
		edit          people.DateEdit
		want, removed string
	}{
		"a birthday replaces the birthday only": {
			people.DateEdit{Add: list(people.DateDraft{Kind: "birthday", Date: "1991-05-17"})},
			"anniversary --06-01, other 2019, birthday 1991-05-17", "birthday 1990-05-17",
		},
		"the stored birthday": {people.DateEdit{Add: list(birthday)}, "birthday 1990-05-17, anniversary --06-01, other 2019", ""},
		"a second anniversary": {
			people.DateEdit{Add: list(people.DateDraft{Kind: "anniversary", Date: "2012"})},
			"birthday 1990-05-17, anniversary --06-01, other 2019, anniversary 2012", "",
		},
		"one is removed":                {people.DateEdit{Remove: list(wedding)}, "birthday 1990-05-17, other 2019", "anniversary --06-01"},
		"with its label":                {people.DateEdit{Remove: list(trip)}, "birthday 1990-05-17, anniversary --06-01", "other 2019"},
		"whatever its label":            {people.DateEdit{Remove: list(people.DateDraft{Kind: "other", Date: "2019"})}, "birthday 1990-05-17, anniversary --06-01", "other 2019"},
		"with another label":            {people.DateEdit{Remove: list(people.DateDraft{Kind: "other", Label: "Move", Date: "2019"})}, "birthday 1990-05-17, anniversary --06-01, other 2019", ""},
		"one that is not there":         {people.DateEdit{Remove: list(people.DateDraft{Kind: "birthday", Date: "1990"})}, "birthday 1990-05-17, anniversary --06-01, other 2019", ""},
		"removed and added":             {people.DateEdit{Remove: list(trip), Add: list(trip)}, "birthday 1990-05-17, anniversary --06-01, other 2019", ""},
		"the whole list, and one of it": {people.DateEdit{Replace: list(birthday, wedding), Remove: list(wedding), Add: list(trip)}, "birthday 1990-05-17, other 2019", "anniversary --06-01"},
		"the whole list":                {people.DateEdit{Replace: list(birthday)}, "birthday 1990-05-17", "anniversary --06-01, other 2019"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWriter(t)
			made, err := w.create(people.Draft{Name: "Ana", Dates: list(birthday, wedding, trip)})
			if err != nil {
				t.Fatal(err)
			}
			got, err := w.update(people.Patch{ID: made.Connection.ID, Dates: c.edit})
			if err != nil {
				t.Fatal(err)
			}
			if dates := written(got.Connection.Dates); dates != c.want {
				t.Errorf("dates %s, want %s", dates, c.want)
			}
			if removed := written(got.RemovedDates); removed != c.removed {
				t.Errorf("removed %s, want %s", removed, c.removed)
			}
		})
	}
}

// written formats dates in one line.
func written(dates []people.ImportantDate) string {
	var out []string
	for _, d := range dates {
		out = append(out, d.Kind+" "+d.String())
	}
	return strings.Join(out, ", ")
}

func TestEditImportantDatesRefuses(t *testing.T) {
	t.Parallel()
	birthday := people.DateDraft{Kind: "birthday", Date: "1990-05-17"}
	noDay := people.DateDraft{Kind: "birthday", Date: "1990-02-30"}
	for field, edit := range map[string]people.DateEdit{
		"important_dates[0].date":        {Replace: []people.DateDraft{noDay}},
		"remove_important_dates[0].date": {Remove: []people.DateDraft{noDay}},
		"add_important_dates[0].date":    {Add: []people.DateDraft{noDay}},
		"add_important_dates":            {Add: []people.DateDraft{birthday, {Kind: "birthday", Date: "1991-05-17"}}},
	} {
		w := newWriter(t)
		made, err := w.create(people.Draft{Name: "Ana", Dates: []people.DateDraft{birthday}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.update(people.Patch{ID: made.Connection.ID, Dates: edit})
		wantInvalid(t, err, field)
	}
}

func TestTooManyImportantDates(t *testing.T) {
	t.Parallel()
	var dates []people.DateDraft
	for n := range 21 {
		dates = append(dates, people.DateDraft{Kind: "other", Date: fmt.Sprint(1990 + n)})
	}
	w := newWriter(t)
	if _, err := w.create(people.Draft{Name: "Ana", Dates: dates[:20]}); err != nil {
		t.Error(err)
	}
	w = newWriter(t)
	_, err := w.create(people.Draft{Name: "Ana", Dates: dates})
	wantInvalid(t, err, "important_dates")
	w.wantNothingWritten(t)
}

func TestNextOfADate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		year, month, day int
		from, want       string
	}{
		{1990, 5, 17, "2026-05-17", "2026-05-17"},
		{1990, 5, 17, "2026-05-18", "2027-05-17"},
		{0, 1, 1, "2026-12-31", "2027-01-01"},
		{1992, 2, 29, "2026-02-01", "2026-02-28"},
		{1992, 2, 29, "2026-03-01", "2027-02-28"},
		{1992, 2, 29, "2027-03-01", "2028-02-29"},
		{1992, 2, 29, "2028-02-28", "2028-02-29"},
		{0, 2, 29, "2026-02-28", "2026-02-28"},
		{2030, 6, 1, "2026-05-17", "2030-06-01"},
		{1990, 5, 0, "2026-05-17", ""},
		{1990, 0, 0, "2026-05-17", ""},
	} {
		d := people.ImportantDate{Year: c.year, Month: c.month, Day: c.day}
		got, ok := d.Next(on(t, c.from))
		if ok != (c.want != "") || ok && !got.Equal(on(t, c.want)) {
			t.Errorf("%s from %s: %v, %v; want %s", d, c.from, got, ok, c.want)
		}
	}
}

// A date recurs within the year that begins on any given day, on its own day or on the
// last of February, and never twice.
func TestNextOfADateComesRound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		origin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		of := origin.AddDate(0, 0, rapid.IntRange(0, 365).Draw(rt, "of"))
		from := origin.AddDate(0, 0, rapid.IntRange(0, 40_000).Draw(rt, "from"))
		d := people.ImportantDate{Month: int(of.Month()), Day: of.Day()}
		got, ok := d.Next(from)
		leap := d.Month == 2 && d.Day == 29
		if !ok || got.Before(from) || !got.Before(from.AddDate(1, 0, 1)) {
			rt.Fatalf("%s from %v: %v", d, from, got)
		}
		if got.Month() != of.Month() || got.Day() != of.Day() && (!leap || got.Day() != 28) {
			rt.Fatalf("%s from %v: %v", d, from, got)
		}
		again, _ := d.Next(got)
		after, _ := d.Next(got.AddDate(0, 0, 1))
		if !again.Equal(got) || !slices.Contains([]int{got.Year() + 1}, after.Year()) {
			rt.Fatalf("%s: %v, then %v, then %v", d, got, again, after)
		}
	})
}
