package people_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/people"
	"pgregory.net/rapid"
)

// Differences of punctuation and spacing in a name, at any place, do not hide a pair.
func TestPunctuationAndSpacingHideNoPair(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"Maya O'Connor", "Maya OConnor"}, {"Maya O'Connor", "Maya O’ Connor"}, {"Maya OConnor", "Maya O Connor"},
		{"Anne-Marie Roy", "Anne Marie Roy"}, {"Anne-Marie Roy", "Annemarie Roy"}, {"Anne Marie Roy", "Annemarie Roy"},
		{"Jan van der Berg", "Jan Vanderberg"}, {"O'Connor, Maya", "Maya OConnor"}, {"J. R. Reed", "J.R. Reed"},
	} {
		persons := []people.Candidate{person("1", c[0], "Tideline"), person("2", c[1], "Tideline")}
		pairs, _ := people.Find(persons, people.Query{MinScore: people.DefaultMinScore, Limit: 10})
		if len(pairs) != 1 || math.Abs(pairs[0].Score-.85) > 1e-6 || !slices.Equal(pairs[0].Reasons, []string{"same name", "same organisation: tideline"}) {
			t.Errorf("%q and %q: %v", c[0], c[1], pairs)
		}
	}
}

func person(id, name, organization string, handles ...string) people.Candidate {
	p := people.Candidate{ID: id, Name: name}
	if organization != "" {
		p.Organizations = []string{organization}
	}
	for i := 0; i+1 < len(handles); i += 2 {
		p.Handles = append(p.Handles, people.Handle{
			Kind: handles[i], Value: handles[i+1], NormalValue: people.NormalValue(handles[i], handles[i+1]),
		})
	}
	p.Values = len(p.Handles)
	return p
}

func TestScores(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b  people.Candidate
		score float64
	}{
		"nothing":                 {person("1", "Ana Lopez", ""), person("2", "Bo Chen", ""), 0},
		"e-mail":                  {person("1", "Ana", "", "email", "A@x.example"), person("2", "Bo", "", "email", "a@X.example"), .95},
		"e-mail with a tag":       {person("1", "Ana", "", "email", "a+news@x.example"), person("2", "Bo", "", "email", "a@x.example"), .95},
		"Gmail without its dots":  {person("1", "Ana", "", "email", "a.b@gmail.com"), person("2", "Bo", "", "email", "ab@googlemail.com"), .95},
		"dots that count":         {person("1", "Ana", "", "email", "a.b@x.example"), person("2", "Bo", "", "email", "ab@x.example"), 0},
		"info@":                   {person("1", "Ana", "", "email", "info@x.example"), person("2", "Bo", "", "email", "info@x.example"), 0}, // .475 is below the least
		"info@ of one house":      {person("1", "Ana", "X", "email", "info@x.example"), person("2", "Bo", "X Ltd", "email", "info@x.example"), .625},
		"phone":                   {person("1", "Ana", "", "phone", "+44 20 7946 0123"), person("2", "Bo", "", "phone", "0044 (0)20 7946-0123"), .90},
		"extensions":              {person("1", "Ana", "", "phone", "+1 212 555 0100 x12"), person("2", "Bo", "", "phone", "+1 212 555 0100 x13"), 0},
		"few digits":              {person("1", "Ana", "", "phone", "112"), person("2", "Bo", "", "phone", "112"), 0},
		"profile":                 {person("1", "Ana", "", "url", "https://www.linkedin.com/in/ana-l/"), person("2", "Bo", "", "social", "http://linkedin.com/in/Ana-L"), .97},
		"company page":            {person("1", "Ana", "", "url", "https://x.example/"), person("2", "Bo", "", "url", "https://x.example"), 0},
		"web address":             {person("1", "Ana", "", "url", "https://x.example/ana"), person("2", "Bo", "", "url", "https://x.example/ana"), .90},
		"name":                    {person("1", "Ana López", ""), person("2", "ana lopez", ""), .70},
		"name turned round":       {person("1", "Ana López", ""), person("2", "Lopez, Ana", ""), .70},
		"name at one house":       {person("1", "Ana López", "X GmbH"), person("2", "Ana Lopez", "X"), .85},
		"name at two houses":      {person("1", "Ana López", "X"), person("2", "Ana Lopez", "Y"), .70},
		"nickname":                {person("1", "Margaret Oyelarin", ""), person("2", "Maggie Oyelarin", ""), .50},
		"initial":                 {person("1", "Bartholomew Quill", ""), person("2", "B. Quill", ""), .50},
		"misspelt":                {person("1", "Ana Kowalska", ""), person("2", "Ana Kowalsak", ""), .50},
		"double name":             {person("1", "Chloé Marchand", ""), person("2", "Chloé Marchand-Vidal", ""), .50},
		"both parts differ":       {person("1", "Anna Kowalska", ""), person("2", "Annu Kowalsky", ""), 0},
		"similar at one house":    {person("1", "Tom Okwu", "X"), person("2", "Thomas Okwu", "X"), .65},
		"e-mail and name":         {person("1", "Ana Lopez", "", "email", "a@x.example"), person("2", "Ana Lopez", "", "email", "a@x.example"), .985},
		"more than sure":          {person("1", "Ana Lopez", "X", "email", "a@x.example"), person("2", "Ana Lopez", "X", "email", "a@x.example"), 1},
		"one word names":          {person("1", "Ana", ""), person("2", "Ana", ""), .70},
		"namesakes without names": {person("1", "", ""), person("2", "", ""), 0},
	} {
		pairs, _ := people.Find([]people.Candidate{c.a, c.b}, people.Query{MinScore: .5, Limit: 10})
		got := 0.0
		if len(pairs) > 0 {
			got = pairs[0].Score
			if len(pairs[0].Reasons) == 0 {
				t.Errorf("%s: no reason", name)
			}
		}
		if math.Abs(got-c.score) > 1e-6 {
			t.Errorf("%s: %.4f, want %.4f (%v)", name, got, c.score, pairs)
		}
	}
}

// An address that three people share counts half, and one that many people share counts
// nothing.
func TestSharedAddresses(t *testing.T) {
	t.Parallel()
	for sharers, want := range map[int]int{2: 1, 3: 0, 60: 0} {
		var persons []people.Candidate
		for i := range sharers {
			persons = append(persons, person(fmt.Sprintf("con_%02d", i), fmt.Sprintf("P%d Q%d", i, i), "", "email", "desk@x.example"))
		}
		pairs, _ := people.Find(persons, people.Query{MinScore: .75, Limit: 5000})
		if len(pairs) != want {
			t.Errorf("%d sharers make %d pairs", sharers, len(pairs))
		}
	}
	// The lowest score that callers may ask for includes addresses that three people
	// share.
	for _, address := range [][2]string{{"email", "desk@x.example"}, {"phone", "+12025550114"}} {
		var persons []people.Candidate
		for i := range 3 {
			persons = append(persons, person(fmt.Sprintf("con_%02d", i), fmt.Sprintf("P%d Q%d", i, i), "", address[0], address[1]))
		}
		pairs, _ := people.Find(persons, people.Query{MinScore: .4, Limit: 10})
		if len(pairs) != 3 || !strings.Contains(strings.Join(pairs[0].Reasons, ""), "(shared by several)") {
			t.Errorf("%s: %+v", address[0], pairs)
		}
	}
}

// Find returns the same pairs whatever the order of the people. The person with more data
// comes first. A limit cuts the end, and a person restricts the pairs to theirs.
func TestFindIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SampledFrom([]string{"Ana Lopez", "Anna Lopez", "Lopez, Ana", "Bo Chen", "B. Chen"})
		mails := rapid.SampledFrom([]string{"a@x.example", "b@x.example", "c@x.example"})
		var persons []people.Candidate
		for i := range rapid.IntRange(0, 12).Draw(rt, "people") {
			p := person(fmt.Sprintf("con_%02d", i), names.Draw(rt, "name"), rapid.SampledFrom([]string{"", "X"}).Draw(rt, "house"))
			if rapid.Bool().Draw(rt, "mail") {
				p = person(p.ID, p.Name, "", "email", mails.Draw(rt, "address"))
			}
			persons = append(persons, p)
		}
		least := rapid.SampledFrom([]float64{.5, .6, .7, .75, .9}).Draw(rt, "least")
		all, _ := people.Find(persons, people.Query{MinScore: .5, Limit: 1000})
		var want []string
		for _, p := range all {
			if p.First.Values < p.Second.Values || p.First.Values == p.Second.Values && p.First.ID > p.Second.ID {
				rt.Fatalf("order of %+v", p)
			}
			if p.Score+1e-9 >= least {
				want = append(want, show(p))
			}
		}
		turned := slices.Clone(persons)
		slices.Reverse(turned)
		got, more := people.Find(turned, people.Query{MinScore: least, Limit: 1000})
		if shown := showAll(got); more || !slices.Equal(shown, want) {
			rt.Fatalf("at %.2f: %v, want %v", least, shown, want)
		}
		if len(want) > 1 {
			first, more := people.Find(persons, people.Query{MinScore: least, Limit: len(want) - 1})
			if !more || !slices.Equal(showAll(first), want[:len(want)-1]) {
				rt.Fatalf("the first: %v", first)
			}
			one, _ := people.Find(persons, people.Query{MinScore: least, Limit: 1000, ConnectionID: all[0].First.ID})
			for _, p := range one {
				if p.First.ID != all[0].First.ID && p.Second.ID != all[0].First.ID || !slices.Contains(want, show(p)) {
					rt.Fatalf("of one person: %v", one)
				}
			}
		}
	})
}

func show(p people.Pair) string {
	return fmt.Sprintf("%s %s %.4f", p.First.ID, p.Second.ID, p.Score)
}

func showAll(pairs []people.Pair) []string {
	var out []string
	for _, p := range pairs {
		out = append(out, show(p))
	}
	return out
}

func BenchmarkFind(b *testing.B) {
	persons := make([]people.Candidate, 100_000)
	for i := range persons {
		persons[i] = person(fmt.Sprintf("con_%06d", i), fmt.Sprintf("Given%d Family%d", i%997, i%4999), fmt.Sprintf("House %d", i%1000),
			"email", fmt.Sprintf("p%d@x.example", i))
	}
	b.ReportAllocs()
	for b.Loop() {
		people.Find(persons, people.Query{MinScore: .75, Limit: 10})
	}
}
