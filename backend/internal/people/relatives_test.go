package people_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/people"
)

// Relatives, and people whose birthdays or e-mail addresses contradict each other, are shown after
// all certain pairs, with the reason.
func TestContradictionsLowerThePair(t *testing.T) {
	t.Parallel()
	const phone = "+1 212 555 0100"
	born := func(p people.Candidate, year int) people.Candidate {
		p.Birthdays = []people.ImportantDate{{Kind: people.DateBirthday, Year: year}}
		return p
	}
	for name, c := range map[string]struct {
		a, b people.Candidate
		why  string
	}{
		"a suffix":        {person("1", "Karl Brenner", "", "phone", phone), person("2", "Karl Brenner jun.", "", "phone", phone), "a suffix such as junior"},
		"a given name":    {person("1", "María Ruiz", "", "phone", phone), person("2", "José María Ruiz", "", "phone", phone), "has jose"},
		"birthdays":       {born(person("1", "Karl Brenner", "", "phone", phone), 1950), born(person("2", "Karl Brenner", "", "phone", phone), 1979), "different birthdays"},
		"e-mail":          {person("1", "Ana Lopez", "X", "email", "a@x.example"), person("2", "Ana Lopez", "X", "email", "b@x.example"), "different e-mail addresses"},
		"e-mail, a phone": {person("1", "Ana Lopez", "X", "email", "a@x.example", "phone", phone), person("2", "Ana Lopez", "X", "email", "b@x.example", "phone", phone), ""},
		"one birthday":    {born(person("1", "Ana Lopez", "", "phone", phone), 1950), person("2", "Ana Lopez", "", "phone", phone), ""},
	} {
		pairs, _ := people.Find([]people.Candidate{c.a, c.b}, people.Query{MinScore: people.DefaultMinScore, Limit: 10})
		if len(pairs) != 1 {
			t.Errorf("%s: %v", name, pairs)
			continue
		}
		doubted := slices.ContainsFunc(pairs[0].Reasons, func(r string) bool { return strings.HasPrefix(r, "may be two people: ") && strings.Contains(r, c.why) })
		if (pairs[0].Score <= people.DefaultMinScore) != (c.why != "") || doubted != (c.why != "") {
			t.Errorf("%s: %+v", name, pairs[0])
		}
	}
}

// create_connection adds relatives, and names those who have the address.
func TestCreateAddsRelatives(t *testing.T) {
	t.Parallel()
	const phone, email = "+49 30 1234567", "us@home.example"
	for name, c := range map[string]struct{ held, said people.Draft }{
		"a suffix":     {people.Draft{Name: "Karl Brenner", Phones: []string{phone}}, people.Draft{Name: "Karl Brenner jun.", Phones: []string{phone}}},
		"a given name": {people.Draft{Name: "María Ruiz", Emails: []string{email}}, people.Draft{Name: "José María Ruiz", Emails: []string{email}}},
		"birthdays": {
			people.Draft{Name: "Karl Brenner", Phones: []string{phone}, Dates: []people.DateDraft{{Kind: people.DateBirthday, Date: "1950"}}},
			people.Draft{Name: "Karl Brenner", Phones: []string{phone}, Dates: []people.DateDraft{{Kind: people.DateBirthday, Date: "1979"}}},
		},
		"e-mail addresses": {
			people.Draft{Name: "Ana Lopez", Organization: "Acme", Emails: []string{"a@acme.example"}},
			people.Draft{Name: "Ana Lopez", Organization: "Acme Inc", Emails: []string{"b@acme.example"}},
		},
	} {
		w := newWriter(t)
		first, err := w.create(c.held)
		if err != nil {
			t.Fatal(err)
		}
		second, err := w.create(c.said)
		shares := len(second.Sharing) == 1 && second.Sharing[0].ID == first.Connection.ID
		if err != nil || second.DuplicateOf != "" || second.Connection.ID == first.Connection.ID || shares == (name == "e-mail addresses") {
			t.Errorf("%s: %+v, %v", name, second, err)
		}
		again, err := w.create(c.said)
		if err != nil || again.DuplicateOf != second.Connection.ID {
			t.Errorf("%s, again: %+v, %v", name, again, err)
		}
	}
}
