package importer_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/people"
)

// Each match key identifies a person, among stored people and within one file; a name alone does
// not.
func TestMatchKeys(t *testing.T) {
	t.Parallel()
	const header = "Name,E-mail,Phone,Website,Company\n"
	for name, c := range map[string]struct {
		held, said string
		same       bool
	}{
		"e-mail":                    {"Ana,ana@x.example,,,", "A. L.,ANA@x.example,,,", true},
		"e-mail, a nickname":        {"Margaret Roy,m@x.example,,,", "Maggie Roy,m@x.example,,,", true},
		"e-mail, no name":           {"Bo Berg,ana@x.example,,,", ",ana@x.example,,,", true},
		"e-mail, another name":      {"Ana Lee,ana@x.example,,,", "Bo Berg,ANA@x.example,,,", false},
		"phone":                     {"Ana López,,+1 212 555 0100,,", "LOPEZ Ana,,+1 (212) 555-0100,,", true},
		"phone, another name":       {"Ana Lee,,+1 212 555 0100,,", "Bo Lee,,+1 212 555 0100,,", false},
		"phone, another vowel":      {"सुनील,,+1 212 555 0100,,", "सनील,,+1 212 555 0100,,", false},
		"profile":                   {"Ana,,,https://www.linkedin.com/in/ana,", "Ana Roy,,,http://linkedin.com/in/ana/,", true},
		"profile, another name":     {"Ana Lee,,,https://www.linkedin.com/in/ana,", "Bo Berg,,,https://www.linkedin.com/in/ana,", false},
		"name, spelt otherwise":     {"Maya O'Connor,m@x.example,,,", "Maya OConnor,m@x.example,,,", true},
		"name and organisation":     {"Ana López,,,,Acme Inc", "ana lopez,,,,ACME", true},
		"name alone":                {"Ana López,a@x.example,,,", "Ana López,b@x.example,,,", false},
		"name and another employer": {"Ana López,,,,Acme", "Ana López,,,,Beta", false},
		"a shared mailbox":          {"Ana,info@x.example,,,", "Bo,info@x.example,,,", false},
		"a shared mailbox, a name":  {"Ana,info@x.example,,,", "ana,info@x.example,,,", true},
		"the front page of a site":  {"Ana,,,https://x.example,", "Bo,,,https://x.example/,", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDatabase(t, func(t *testing.T, d *fixture) {
				d.imports(t, "held.csv", header+c.held+"\n", importer.Options{})
				want := "1 = 1 created, 0 updated, 0 skipped, 0 failed"
				if c.same {
					want = "1 = 0 created, 0 updated, 1 skipped, 0 failed"
				}
				if got := counts(d.imports(t, "said.csv", header+c.said+"\n", importer.Options{OnMatch: importer.OnMatchSkip})); got != want {
					t.Errorf("stored: %s", got)
				}
				both := d.imports(t, "both.csv", header+c.held+"\n"+c.said+"\n", importer.Options{OnMatch: importer.OnMatchSkip})
				if both.Created != 0 || both.Skipped != 2 {
					t.Errorf("all stored: %s", counts(both))
				}
				people := 2
				if c.same {
					people = 1
				}
				if got := len(d.export(t).People); got != people {
					t.Errorf("%d people", got)
				}
				other := &fixture{store: d.store, owner: d.another(t), now: d.now}
				if got := other.imports(t, "both.csv", header+c.held+"\n"+c.said+"\n", importer.Options{}); got.Created != people {
					t.Errorf("in one file: %s", counts(got))
				}
			})
		})
	}
}

// card returns the vCard of a person with a phone number.
func card(name, phone string) string {
	return "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:" + name + "\r\nTEL:" + phone + "\r\nEND:VCARD\r\n"
}

// Of thirteen cards, three have the number of a person with another name. They become
// thirteen people, whether those are stored already or in one file; each pair gets a
// warning and is offered as a duplicate. Importing the file again changes nothing.
func TestDifferentPeopleWithOnePhoneAreNotMerged(t *testing.T) {
	t.Parallel()
	names := []string{"Ada Stone", "Bo Berg", "Cy Chen", "Dora Diaz", "Eli Eng", "Fay Fox", "Gus Gray", "Hal Hart", "Ida Ito", "Jo Jung"}
	var first, shared strings.Builder
	for i, name := range names {
		first.WriteString(card(name, fmt.Sprintf("+1 212 555 01%02d", i)))
	}
	for i, name := range []string{"Kim Kent", "Lea Lund", "Max Moor"} {
		shared.WriteString(card(name, fmt.Sprintf("+1 (212) 555-01%02d", i)))
	}
	eachDatabase(t, func(t *testing.T, d *fixture) {
		check := func(on *fixture, r importer.Report, created int) {
			t.Helper()
			if r.Created != created || r.Updated+r.Skipped+r.Failed != 0 || len(r.Warnings) != 3 {
				t.Errorf("%s, warnings %q", counts(r), r.Warnings)
			}
			if !strings.Contains(strings.Join(r.Warnings, "\n"), `"Kim Kent" is a new person, but "Ada Stone" has the same phone number`) {
				t.Errorf("warnings %q", r.Warnings)
			}
			persons, err := people.ListDuplicateCandidates(t.Context(), on.store.Tenant(on.owner, true))
			if err != nil || len(persons) != 13 {
				t.Fatalf("%d people: %v", len(persons), err)
			}
			pairs, _ := people.Find(persons, people.Query{MinScore: people.DefaultMinScore, Limit: 50})
			var reasons []string
			for _, p := range pairs {
				reasons = append(reasons, p.Reasons...)
			}
			if len(pairs) != 3 || len(reasons) != 3 || !strings.HasPrefix(reasons[0], "same phone: ") {
				t.Errorf("duplicates %+v", pairs)
			}
		}
		whole := &fixture{store: d.store, owner: d.another(t), now: d.now}
		check(whole, whole.imports(t, "all.vcf", first.String()+shared.String(), importer.Options{}), 13)
		if r := d.imports(t, "first.vcf", first.String(), importer.Options{}); r.Created != 10 || len(r.Warnings) != 0 {
			t.Fatal(counts(r), r.Warnings)
		}
		for _, dry := range []bool{true, false} {
			r := d.imports(t, "shared.vcf", shared.String(), importer.Options{DryRun: dry})
			if r.Created != 3 || len(r.Warnings) != 3 {
				t.Errorf("dry %t: %s, warnings %q", dry, counts(r), r.Warnings)
			}
			if !dry {
				check(d, r, 3)
			}
		}
		if r := d.imports(t, "again.vcf", first.String()+shared.String(), importer.Options{}); r.Skipped != 13 {
			t.Errorf("again: %s", counts(r))
		}
	})
}

// Joiners that are part of words and emoji survive imports and exports; characters that
// hide text or change its direction do not.
func TestJoinersSurviveAndHiddenTextDoesNot(t *testing.T) {
	t.Parallel()
	names := []string{"علی\u200cرضا", "മോഹന്\u200d", "क्\u200dष शर्\u200cमा", "Zoe 👩\u200d🚀❤\ufe0f", "葛\ufe00城"}
	var file strings.Builder
	for i, name := range names {
		file.WriteString(card("\u202e"+name+"\U000e0041\u200b", fmt.Sprintf("+1 212 555 01%02d", i)))
	}
	eachDatabase(t, func(t *testing.T, d *fixture) {
		if r := d.imports(t, "names.vcf", file.String(), importer.Options{}); r.Created != len(names) {
			t.Fatal(counts(r), r.Errors)
		}
		other := &fixture{store: d.store, owner: d.another(t), now: d.now}
		content, err := json.Marshal(d.export(t))
		if err != nil {
			t.Fatal(err)
		}
		if r := other.imports(t, "all.json", string(content), importer.Options{}); r.Created != len(names) {
			t.Fatal(counts(r), r.Errors)
		}
		for _, on := range []*fixture{d, other} {
			var got []string
			for _, p := range on.export(t).People {
				got = append(got, p.Name)
			}
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(names)); !slices.Equal(got, want) {
				t.Errorf("got %+q, want %+q", got, want)
			}
		}
	})
}

// Several people have one number: a record is the person with the same name, or the only
// one with a compatible name, among stored people and within one file.
func TestSharedPhoneIdentifiesWithTheName(t *testing.T) {
	t.Parallel()
	const phone = "+1 212 555 0100"
	family := card("Ada Stone", phone) + card("Ben Stone", phone) + card("Cy Reed", phone)
	more := card("Ben Stone", phone) + card("B. Stone", phone) + card("Reed", phone)
	eachDatabase(t, func(t *testing.T, d *fixture) {
		if r := d.imports(t, "family.vcf", family, importer.Options{}); r.Created != 3 {
			t.Fatal(counts(r), r.Warnings)
		}
		if r := d.imports(t, "more.vcf", more, importer.Options{}); r.Skipped != 3 {
			t.Errorf("stored: %s %q", counts(r), r.Warnings)
		}
		if r := d.imports(t, "either.vcf", card("Stone", phone), importer.Options{}); r.Created != 1 {
			t.Errorf("either of two: %s %q", counts(r), r.Warnings)
		}
		other := &fixture{store: d.store, owner: d.another(t), now: d.now}
		if r := other.imports(t, "all.vcf", family+more+card("Stone", phone), importer.Options{}); r.Created != 4 || r.Skipped != 3 {
			t.Errorf("in one file: %s %q", counts(r), r.Warnings)
		}
	})
}

// An address that two people share identifies a person only together with the name.
func TestSharedAddressIdentifiesOnlyWithTheName(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		doc := `{"format":"kith-connections/1","people":[%s],"notes":[],"interactions":[]}`
		person := `{"id":"con_%d","name":"%s","handles":[{"kind":"email","value":"us@home.example"}]}`
		both := fmt.Sprintf(doc, fmt.Sprintf(person, 1, "Ana Home")+","+fmt.Sprintf(person, 2, "Bo Home"))
		if got := d.imports(t, "a.json", both, importer.Options{}); got.Created != 2 {
			t.Fatal(counts(got), got.Errors)
		}
		more := "Name,E-mail,Phone\nBo Home,us@home.example,+1 212 555 0100\nCy Home,us@home.example,\n"
		if got := d.imports(t, "b.csv", more, importer.Options{}); got.Updated != 1 || got.Created+got.Updated+got.Skipped != 2 {
			t.Errorf("%s %v", counts(got), got.Warnings)
		}
	})
}
