package rpc_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestResolvePeople(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ids := map[string]string{}
		for name, body := range map[string]string{
			"ana":    `{"name":"Ana López","organization":"Helios","title":"Founder","emails":["ana@helios.example"],"phones":["+1 212 555 0100"]}`,
			"ben":    `{"name":"Ben Ode","emails":["office@shared.example"],"on_duplicate":"create"}`,
			"cleo":   `{"name":"Cleo Ode","emails":["office@shared.example"],"on_duplicate":"create"}`,
			"smith1": `{"name":"Jo Smith","organization":"A"}`,
			"smith2": `{"name":"Jo Smith","organization":"B"}`,
			"tagged": `{"name":"Dora","tags":["banker"],"bio":"banker"}`,
		} {
			made := b.call(t, create, body)
			if ids[name], _ = made.at("connection", "id").(string); ids[name] == "" || made.at("duplicate_of") != nil && name != "cleo" && name != "ben" {
				t.Fatal(made.body)
			}
		}
		cases := []struct {
			entry, outcome, by string
			people             []string
		}{
			{"ana@helios.example", "matched", "email", []string{"ana"}},
			{" ANA@Helios.example ", "matched", "email", []string{"ana"}},
			{"Ana L <ana@helios.example>", "matched", "email", []string{"ana"}},
			{"mailto:ana@helios.example", "matched", "email", []string{"ana"}},
			{"+1 (212) 555-0100", "matched", "phone", []string{"ana"}},
			{"tel:+12125550100", "matched", "phone", []string{"ana"}},
			{"212 555 0100", "matched", "phone", []string{"ana"}},
			{"ana lopez", "matched", "name", []string{"ana"}},
			{"Ana Lpoez", "matched", "name", []string{"ana"}},
			{`"Ana López" <other@nowhere.example>`, "matched", "name", []string{"ana"}},
			{"office@shared.example", "ambiguous", "email", []string{"ben", "cleo"}},
			{"Jo Smith", "ambiguous", "name", []string{"smith1", "smith2"}},
			{"Zebulon", "none", "", nil},
			{"nobody@nowhere.example", "none", "", nil},
			{"+44 20 7946 0999", "none", "", nil},
			{"banker", "none", "", nil}, // a word in a person's data that is no one's name
			{"?", "none", "", nil},
		}
		var entries []string
		for _, c := range cases {
			entries = append(entries, fmt.Sprintf("%q", c.entry))
		}
		got := b.call(t, resolvePeople, `{"entries":[`+strings.Join(entries, ",")+`]}`)
		for i, c := range cases {
			if got.at("entries", i, "entry") != c.entry || got.at("entries", i, "outcome") != c.outcome {
				t.Errorf("%q: %v", c.entry, got.at("entries", i))
				continue
			}
			people, _ := got.at("entries", i, "people").([]any)
			if len(people) != len(c.people) {
				t.Errorf("%q: %v", c.entry, people)
				continue
			}
			for n := range people {
				id, _ := got.at("entries", i, "people", n, "id").(string)
				if ids[c.people[0]] != id && ids[c.people[len(c.people)-1]] != id || got.at("entries", i, "people", n, "matched_by") != c.by {
					t.Errorf("%q: %v", c.entry, people)
				}
			}
		}
		if got.at("entries", 0, "people", 0, "headline") != "Founder at Helios" || got.at("entries", 8, "people", 0, "headline") != "Founder at Helios" {
			t.Errorf("headlines: %v, %v", got.at("entries", 0), got.at("entries", 8))
		}
	})
}

// A person isn't matched by the address of a person with another name: resolve_people says
// who has the address, and create_connection adds a new person and names who has it.
func TestAnAddressOfAStranger(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		ada := b.call(t, create, `{"name":"Ada Stone","emails":["ada@x.example"]}`).at("connection", "id")
		ben := b.call(t, create, `{"name":"Ben Reed"}`).at("connection", "id")
		got := b.call(t, resolvePeople, `{"entries":["Ben Reed <ada@x.example>","A. Stone <ada@x.example>"]}`)
		for at, want := range []string{
			fmt.Sprintf("ambiguous: %v by email, %v by name", ada, ben), fmt.Sprintf("matched: %v by email", ada),
		} {
			var people []string
			list, _ := got.at("entries", at, "people").([]any)
			for n := range list {
				people = append(people, fmt.Sprintf("%v by %v", got.at("entries", at, "people", n, "id"), got.at("entries", at, "people", n, "matched_by")))
			}
			if said := fmt.Sprintf("%v: %s", got.at("entries", at, "outcome"), strings.Join(people, ", ")); said != want {
				t.Errorf("got %s, want %s", said, want)
			}
		}
		made := b.call(t, create, `{"name":"Zoe Fox","emails":["ada@x.example"]}`)
		if made.at("duplicate_of") != nil || made.at("change_id") == nil || made.at("connection", "id") == ada ||
			made.at("same_address", 0, "id") != ada || made.at("same_address", 0, "name") != "Ada Stone" || made.at("same_address", 0, "kind") != "email" {
			t.Error(made.body)
		}
		b.call(t, create, `{"name":"Cy Dee","organization":"Inn","title":"Cook"}`)
		made = b.call(t, create, `{"name":"CY DEE"}`)
		if made.at("same_name", 0, "name") != "Cy Dee" || made.at("same_name", 0, "headline") != "Cook at Inn" || made.at("same_name", 1) != nil {
			t.Error(made.body)
		}
	})
}

func TestResolvePeopleRefusals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bundle) {
		for name, body := range map[string]string{
			"no entries": `{}`, "none": `{"entries":[]}`, "an empty one": `{"entries":[""]}`,
			"51": `{"entries":["x"` + strings.Repeat(`,"x"`, 50) + `]}`,
		} {
			if got := b.call(t, resolvePeople, body); got.code() != "invalid_argument" {
				t.Errorf("%s: %v", name, got.body)
			}
		}
	})
}
