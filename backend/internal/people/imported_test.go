package people_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
)

func complete(t *testing.T, c people.Connection, dates ...people.DateDraft) *people.Connection {
	t.Helper()
	out, err := people.Complete(c, dates)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func mail(value, label string) people.Handle {
	return people.Handle{Kind: people.KindEmail, Value: value, Label: label}
}

func job(organization, title string, current bool) people.Position {
	return people.Position{Organization: organization, Title: title, Current: current}
}

// Blends a stored person with a file, with and without overwriting. Importing the same
// file again changes nothing.
func TestBlend(t *testing.T) {
	t.Parallel()
	type person = people.Connection
	birthday := func(on string) []people.DateDraft {
		return []people.DateDraft{{Kind: people.DateBirthday, Date: on}}
	}
	for name, c := range map[string]struct {
		held, said           person
		heldOn, saidOn       []people.DateDraft
		filled, overwritten  person
		filledOn, overwrites []people.DateDraft
		unchanged            bool // by filling blanks
		unused               []people.Unused
	}{
		"nothing new": {held: person{Name: "Ana", Bio: "x"}, said: person{Name: "Ana"}, filled: person{Name: "Ana", Bio: "x"}, overwritten: person{Name: "Ana", Bio: "x"}, unchanged: true},
		"fields": {
			held: person{Name: "Ana", Nickname: "A", CadenceDays: 7}, said: person{Name: "Ana L", Nickname: "B", Bio: "new", CadenceDays: 30, Starred: true},
			filled: person{Name: "Ana", Nickname: "A", CadenceDays: 7, Bio: "new", Starred: true}, overwritten: person{Name: "Ana L", Nickname: "B", Bio: "new", CadenceDays: 30, Starred: true},
			unused: []people.Unused{{Field: "name", Stored: "Ana", Said: "Ana L"}, {Field: "nickname", Stored: "A", Said: "B"}, {Field: "number of days for keeping in touch", Stored: "7", Said: "30"}},
		},
		"a guessed name": {
			held: person{Name: "Ana Maria"}, said: person{Handles: []people.Handle{mail("ana@x.example", "")}},
			filled:      person{Name: "Ana Maria", Handles: []people.Handle{mail("ana@x.example", "")}},
			overwritten: person{Name: "Ana Maria", Handles: []people.Handle{mail("ana@x.example", "")}},
		},
		"addresses": {
			held:        person{Name: "A", Handles: []people.Handle{mail("a@x.example", "")}},
			said:        person{Name: "A", Handles: []people.Handle{mail("b@x.example", ""), mail("A@x.example", "work")}},
			filled:      person{Name: "A", Handles: []people.Handle{mail("a@x.example", "work"), mail("b@x.example", "")}},
			overwritten: person{Name: "A", Handles: []people.Handle{mail("A@x.example", "work"), mail("b@x.example", "")}},
		},
		"another job": {
			held: person{Name: "A", Positions: []people.Position{job("Acme", "Dev", true)}}, said: person{Name: "A", Positions: []people.Position{job("Beta", "CTO", true)}},
			filled:      person{Name: "A", Positions: []people.Position{job("Acme", "Dev", true)}},
			overwritten: person{Name: "A", Positions: []people.Position{job("Beta", "CTO", true), job("Acme", "Dev", false)}}, unchanged: true,
			unused: []people.Unused{{Field: "job", Stored: "Dev at Acme", Said: "CTO at Beta"}},
		},
		"a title for a job": {
			held: person{Name: "A", Positions: []people.Position{job("Acme Inc", "", true)}}, said: person{Name: "A", Positions: []people.Position{job("Acme", "CTO", true)}},
			filled:      person{Name: "A", Positions: []people.Position{job("Acme Inc", "CTO", true)}},
			overwritten: person{Name: "A", Positions: []people.Position{job("Acme Inc", "CTO", true)}},
		},
		"a first and an old job": {
			held: person{Name: "A"}, said: person{Name: "A", Positions: []people.Position{job("Acme", "CTO", true), job("Old", "", false)}},
			filled:      person{Name: "A", Positions: []people.Position{job("Acme", "CTO", true), job("Old", "", false)}},
			overwritten: person{Name: "A", Positions: []people.Position{job("Acme", "CTO", true), job("Old", "", false)}},
		},
		"tags": {
			held: person{Name: "A", Tags: []string{"Vip"}}, said: person{Name: "A", Tags: []string{"VIP", "new"}},
			filled: person{Name: "A", Tags: []string{"Vip", "new"}}, overwritten: person{Name: "A", Tags: []string{"Vip", "new"}},
		},
		"another birthday": {
			held: person{Name: "A"}, heldOn: birthday("1990-02-03"), said: person{Name: "A"}, saidOn: birthday("1991-02-03"),
			filled: person{Name: "A"}, filledOn: birthday("1990-02-03"), overwritten: person{Name: "A"}, overwrites: birthday("1991-02-03"), unchanged: true,
			unused: []people.Unused{{Field: "birthday", Stored: "1990-02-03", Said: "1991-02-03"}},
		},
		"the year of a birthday": {
			held: person{Name: "A"}, heldOn: birthday("--02-03"), said: person{Name: "A"}, saidOn: birthday("1991-02-03"),
			filled: person{Name: "A"}, filledOn: birthday("1991-02-03"), overwritten: person{Name: "A"}, overwrites: birthday("1991-02-03"),
		},
	} {
		held, said := complete(t, c.held, c.heldOn...), complete(t, c.said, c.saidOn...)
		before := *held
		for _, way := range []struct {
			overwrite bool
			want      *people.Connection
		}{{false, complete(t, c.filled, c.filledOn...)}, {true, complete(t, c.overwritten, c.overwrites...)}} {
			got, changed, unused, err := held.MergeFrom(said, way.overwrite)
			if way.overwrite == (len(unused) > 0) && len(c.unused)+len(unused) > 0 || !way.overwrite && !slices.Equal(unused, c.unused) {
				t.Errorf("%s, overwrite %t: unused %+v", name, way.overwrite, unused)
			}
			if diff := cmp.Diff(way.want, got); diff != "" || err != nil || !way.overwrite && changed == c.unchanged {
				t.Errorf("%s, overwrite %t: changed %t, %v\n%s", name, way.overwrite, changed, err, diff)
			}
			if again, changed, _, err := got.MergeFrom(said, way.overwrite); changed || err != nil || again != got {
				t.Errorf("%s, overwrite %t, again: %v\n%s", name, way.overwrite, err, cmp.Diff(got, again))
			}
			if diff := cmp.Diff(before, *held); diff != "" {
				t.Errorf("%s: Blend changed its argument:\n%s", name, diff)
			}
		}
	}
}

func TestBlendKeepsLimits(t *testing.T) {
	t.Parallel()
	held, said := people.Connection{Name: "A"}, people.Connection{Name: "A", SnoozedUntil: time.Unix(9, 0)}
	for n := range 20 {
		held.Handles = append(held.Handles, mail(fmt.Sprintf("a%d@x.example", n), ""))
	}
	said.Handles = []people.Handle{mail("b@x.example", "")}
	if _, _, _, err := complete(t, held).MergeFrom(complete(t, said), false); !fault.Is(err, fault.Invalid) {
		t.Errorf("21 addresses: %v", err)
	}
}
