package insights_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/insights"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/sources"
	"pgregory.net/rapid"
)

func TestParsePlace(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]insights.Place{
		"Helios GmbH":                 {Normal: "helios"},
		"Müller & Söhne":              {Normal: "muller & sohne"},
		"helios.example":              {Normal: "heliosexample", Domain: "helios.example", Label: "helios"},
		"https://www.Helios.example/": {Normal: "https://wwwheliosexample/", Domain: "helios.example", Label: "helios"},
		"ana@helios.example":          {Normal: "ana@heliosexample", Domain: "helios.example", Label: "helios"},
		"Dr. Oetker":                  {Normal: "dr oetker"},
		"Inc.":                        {Normal: "inc"},
		" , ":                         {},
	} {
		if got := insights.ParsePlace(s); got != want {
			t.Errorf("%q: %+v, want %+v", s, got, want)
		}
	}
}

func persons(scores map[string]int) map[string]insights.Person {
	out := map[string]insights.Person{}
	for id, score := range scores {
		out[id] = insights.Person{ID: id, Name: "Name " + id, Strength: people.Strength{Score: score}}
	}
	return out
}

func TestPeopleAt(t *testing.T) {
	t.Parallel()
	rows := insights.AtRows{
		Held: []insights.Held{
			{ConnectionID: "now", Organization: "Helios", Title: "CEO", StartedOn: "2020", Current: true},
			{ConnectionID: "near", Organization: "Helios", Current: true},
			{ConnectionID: "now", Organization: "Helios", Title: "Clerk", StartedOn: "2018", EndedOn: "2020"},
			{ConnectionID: "left", Organization: "Helios", EndedOn: "2019"},
			{ConnectionID: "archived", Organization: "Helios", Current: true},
		},
		Mailboxes: []insights.Mailbox{{ConnectionID: "left", Value: "left@helios.example"}, {ConnectionID: "box", Value: "box@helios.example"}},
		Relationships: []people.Relationship{
			{ID: "rel_1", FromID: "step", ToID: "now", Type: people.RelationManager},
			{ID: "rel_2", FromID: "box", ToID: "step", Type: people.RelationFriend},
			{ID: "rel_3", FromID: "now", ToID: "near", Type: people.RelationColleague},
		},
		People: persons(map[string]int{"now": 10, "near": 60, "left": 90, "box": 0, "step": 99}),
	}
	got := map[string][]string{}
	var order []string
	for _, p := range insights.PeopleAt(rows) {
		order = append(order, p.Person.ID+" "+p.Tie)
		for _, e := range p.Evidence {
			got[p.Person.ID] = append(got[p.Person.ID], fmt.Sprint(e.Text, e.Sources))
		}
	}
	if diff := cmp.Diff([]string{"left current", "near current", "now current", "box current", "step one_step"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	want := map[string][]string{
		"now":  {"CEO at Helios since 2020[now]", "Clerk at Helios from 2018 to 2020[now]"},
		"near": {"Helios, current[near]"},
		"left": {"Helios until 2019[left]", "has the e-mail address left@helios.example[left]"},
		"box":  {"has the e-mail address box@helios.example[box]"},
		"step": {"Name now (CEO at Helios since 2020) is their manager[now rel_1]", "Name box is a friend of theirs[box rel_2]"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

func portrait(id string, score int, traits ...insights.Trait) insights.Portrait {
	return insights.Portrait{Person: insights.Person{ID: id, Name: "Name " + id, Strength: people.Strength{Score: score}}, Traits: traits}
}

func at(kind, key string) insights.Trait {
	return insights.Trait{Kind: kind, Key: key, Label: key, Current: true}
}

func before(key string) insights.Trait {
	return insights.Trait{Kind: insights.KindOrganization, Key: key, Label: key}
}

func TestSuggestIntroductions(t *testing.T) {
	t.Parallel()
	tag := at(insights.KindTag, "x")
	portraits := map[string]insights.Portrait{
		"a": portrait("a", 50, at(insights.KindOrganization, "Helios"), tag), "b": portrait("b", 50, before("Helios"), tag),
		"c": portrait("c", 0, tag), "d": portrait("d", 99, at(insights.KindOrganization, "Helios"), tag), "e": portrait("e", 99),
	}
	duplicate := portrait("f", 99, tag)
	duplicate.Person.Name = "NAME A"
	portraits["f"] = duplicate
	var pairs []insights.Candidate
	for one, a := range portraits {
		for other, b := range portraits {
			if one < other {
				pairs = append(pairs, insights.Candidate{First: &a, Second: &b})
			}
		}
	}
	asked := 0
	known := func(some []insights.Pair) (insights.Acquainted, error) {
		asked += len(some)
		return insights.Acquainted{insights.NewPair("d", "b"): true}, nil
	}
	var got []string
	suggested, err := insights.SuggestIntroductions(pairs, known, 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range suggested {
		got = append(got, i.First.ID+i.Second.ID)
		if len(i.Reasons) == 0 || i.Score <= 0 || i.Score > 1 {
			t.Errorf("%s%s: %+v", i.First.ID, i.Second.ID, i)
		}
		for _, r := range i.Reasons {
			if len(r.Sources) == 0 {
				t.Errorf("%q has no sources", r.Text)
			}
		}
	}
	// a and d work together, b and d know each other, a and f are namesakes.
	if diff := cmp.Diff([]string{"ab", "df", "bf", "cd", "cf", "bc", "ac"}, got); len(got) != 7 || got[0] != "ab" || got[1] != "df" || slices.Contains(got, "ad") || slices.Contains(got, "bd") || slices.Contains(got, "af") {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a, b := portraits["a"], portraits["b"]
	if one, err := insights.SuggestIntroductions([]insights.Candidate{{First: &b, Second: &a}}, known, 1); err != nil || one[0].First.ID != "b" {
		t.Errorf("for b: %+v, %v", one, err)
	}
	// It asks about more pairs while too few are left.
	asked = 0
	more, err := insights.SuggestIntroductions(pairs, func(some []insights.Pair) (insights.Acquainted, error) {
		known := insights.Acquainted{}
		for _, p := range some {
			known[p] = asked < 6
			asked++
		}
		return known, nil
	}, 1)
	if err != nil || asked != 8 || len(more) != 1 || more[0].First.ID+more[0].Second.ID != "cf" {
		t.Errorf("asked about %d: %+v, %v", asked, more, err)
	}
}

func TestFindSimilar(t *testing.T) {
	t.Parallel()
	of := portrait("of", 0, at(insights.KindOrganization, "Helios"), at(insights.KindTag, "x"), at(insights.KindPlace, "bilbao"))
	got := insights.FindSimilar(of, []insights.Portrait{
		of, portrait("none", 99, at(insights.KindTag, "y")), portrait("tag", 0, at(insights.KindTag, "x")),
		portrait("same", 0, of.Traits...), portrait("left", 0, before("Helios")),
	}, insights.Likeness{}, 2)
	if len(got) != 2 || got[0].Person.ID != "same" || got[0].Score != 1 || got[1].Person.ID != "left" || got[1].Score != 0.5 {
		t.Errorf("%+v", got)
	}
	if text := got[1].Reasons[0].Text; text != "Name of works at Helios, where Name left worked before" {
		t.Error(text)
	}
}

// People who are similar and share a trait come before people with only one of both.
// People without a known record are left out.
func TestFindSimilarByLikeness(t *testing.T) {
	t.Parallel()
	of := portrait("of", 0, at(insights.KindOrganization, "Helios"), at(insights.KindTag, "x"))
	others := []insights.Portrait{
		portrait("both", 0, at(insights.KindTag, "x")), portrait("shares", 0, of.Traits...), portrait("alike", 0, at(insights.KindTag, "y")),
		portrait("neither", 0, at(insights.KindTag, "y")),
	}
	for weight, want := range map[float64][]string{1: {"both", "shares", "alike"}, 0.25: {"both", "shares", "alike"}, 3: {"both", "alike", "shares"}} {
		like := insights.Likeness{IDs: []string{"alike", "both", "gone", "of"}, Weight: weight}
		got := insights.FindSimilar(of, others, like, 10)
		var ids []string
		for _, s := range got {
			ids = append(ids, s.Person.ID)
			if s.Score <= 0 || s.Score > 1 || len(s.Reasons) == 0 {
				t.Errorf("%+v", s)
			}
		}
		if !slices.Equal(ids, want) {
			t.Errorf("weight %v: %v", weight, ids)
		}
		if one := insights.FindSimilar(of, others, like, 1); len(one) != 1 || one[0].Person.ID != "both" {
			t.Errorf("%+v", one)
		}
	}
}

// However many people share a trait, the work is limited, and the order of the circles
// does not change the result.
func TestPromisingIsBoundedAndDeterministic(t *testing.T) {
	t.Parallel()
	var circles []insights.Circle
	for n := range 300 {
		var ids []string
		for m := range 10_000 / (n + 1) {
			ids = append(ids, fmt.Sprintf("con_%05d", (n*37+m*91)%100_000))
		}
		circles = append(circles, insights.Circle{Kind: insights.KindTag, IDs: ids})
	}
	// Without a limit on the pairs, these are hundreds of millions.
	got := insights.Promising(circles)
	if len(got) == 0 || len(got) > insights.MaxPairs {
		t.Errorf("%d pairs", len(got))
	}
	slices.Reverse(circles)
	if diff := cmp.Diff(got, insights.Promising(circles)); diff != "" {
		t.Error(diff)
	}
}

// prepare is the briefing of one person with notes.
func prepare(notes []insights.Note, topic string) insights.PersonBriefing {
	rows := insights.MeetingRows{People: []people.Connection{{ID: "con_1", Name: "Ana"}}, Notes: notes}
	return insights.Prepare(rows, topic, time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), time.UTC).People[0]
}

func TestNotesPinnedTopicalLatest(t *testing.T) {
	t.Parallel()
	var notes []insights.Note
	for n := range 20 {
		notes = append(notes, insights.Note{
			ID: fmt.Sprintf("not_%02d", n), ConnectionID: "con_1", Body: fmt.Sprintf("number %d", n), Pinned: n == 1,
			NotedAt: time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC),
		})
	}
	notes[3].Body, notes[4].Body = "the Überprüfung of prices", "prices and ueberpruefung, prices"
	var got []string
	for _, e := range prepare(notes, "price, überprüfung").Notes {
		got = append(got, e.Sources[0]+" "+e.Text)
	}
	want := []string{
		"not_01 2026-01-02, pinned: number 1",
		"not_03 2026-01-04, on the topic: the Überprüfung of prices",
		"not_04 2026-01-05, on the topic: prices and ueberpruefung, prices",
		"not_19 2026-01-20: number 19", "not_18 2026-01-19: number 18", "not_17 2026-01-18: number 17",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Any note stays one line of limited length, and the quote contains the words of the
// topic.
func TestNotesAreCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		head := strings.Repeat(rapid.StringMatching(`[a-f\n日]{1,12} `).Draw(t, "word"), rapid.IntRange(0, 400).Draw(t, "words"))
		body := head + " Zeppelin " + head
		got := prepare([]insights.Note{{ID: "not_1", ConnectionID: "con_1", Body: body}}, "zeppelin").Notes
		if len(got) != 1 || utf8.RuneCountInString(got[0].Text) > 600 || strings.ContainsAny(got[0].Text, "\n\r") {
			t.Fatalf("%d lines: %q", len(got), got)
		}
		if !strings.Contains(got[0].Text, "Zeppelin") {
			t.Fatalf("the topic was cut away: %q", got[0].Text)
		}
	})
}

func TestDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 23, 30, 0, 0, time.UTC)
	zone := time.FixedZone("ahead", 3600) // it is the 22nd there
	c := people.Connection{
		ID: "con_1", Name: "Ana", LastInteractionAt: now.AddDate(0, 0, -60), GroupCadence: 30,
		Dates: []people.ImportantDate{
			{ID: "dat_1", Kind: people.DateBirthday, Year: 1986, Month: 11, Day: 22},
			{ID: "dat_2", Kind: people.DateOther, Label: "Founding", Month: 12, Day: 22},
			{ID: "dat_3", Kind: people.DateAnniversary, Month: 12, Day: 23},
			{ID: "dat_4", Kind: people.DateBirthday, Year: 1986},
		},
	}
	rows := insights.MeetingRows{
		People: []people.Connection{c}, Groups: []insights.Membership{{ConnectionID: "con_1", GroupID: "grp_1", CadenceDays: 30}},
		Reminders: []insights.Reminder{{ID: "rem_2", ConnectionID: "con_1", Text: "send deck", DueOn: "2026-11-22"}, {ID: "rem_1", ConnectionID: "con_1", Text: "call", DueOn: "2026-11-21"}},
		Next:      map[string]*sources.Meeting{"con_1": {StartsAt: now.Add(15 * time.Hour), Title: "Plans"}},
	}
	var got []string
	for _, e := range insights.Prepare(rows, "", now, zone).People[0].Due {
		got = append(got, fmt.Sprint(e.Text, e.Sources))
	}
	want := []string{
		"Meets you 2026-11-22 15:30: Plans[con_1]",
		"Overdue since 2026-11-21: call[rem_1]", "Due 2026-11-22: send deck[rem_2]",
		"Birthday on 2026-11-22, turning 40[dat_1 con_1]", "Founding on 2026-12-22[dat_2 con_1]",
		"Overdue for a contact since 2026-10-23: wanted every 30 days, the last was on 2026-09-23[con_1 grp_1]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rows.People[0].SnoozedUntil = now.AddDate(0, 1, 0)
	rows.Next["con_1"].AllDay = true
	if due := insights.Prepare(rows, "", now, zone).People[0].Due; len(due) != 5 || due[0].Text != "Meets you 2026-11-22: Plans" {
		t.Errorf("snoozed: %v", due)
	}
}
