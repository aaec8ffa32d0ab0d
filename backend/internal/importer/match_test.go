package importer_test

import (
	"fmt"
	"testing"

	"github.com/kith-crm/kith/backend/internal/importer"
)

// Who is recognised on file, and who in one file, by each sign; never by a name
// alone.
func TestWhoIsRecognised(t *testing.T) {
	t.Parallel()
	const header = "Name,E-mail,Phone,Website,Company\n"
	for name, c := range map[string]struct {
		held, said string
		same       bool
	}{
		"e-mail":                      {"Ana,ana@x.example,,,", "A. L.,ANA@x.example,,,", true},
		"phone":                       {"Ana,,+1 212 555 0100,,", "Anna,,+1 (212) 555-0100,,", true},
		"profile":                     {"Ana,,,https://www.linkedin.com/in/ana,", "Anna,,,http://linkedin.com/in/ana/,", true},
		"name and organisation":       {"Ana López,,,,Acme Inc", "ana lopez,,,,ACME", true},
		"name alone":                  {"Ana López,a@x.example,,,", "Ana López,b@x.example,,,", false},
		"name and another employer":   {"Ana López,,,,Acme", "Ana López,,,,Beta", false},
		"a mailbox of a desk":         {"Ana,info@x.example,,,", "Bo,info@x.example,,,", false},
		"a mailbox of a desk, a name": {"Ana,info@x.example,,,", "ana,info@x.example,,,", true},
		"the front page of a site":    {"Ana,,,https://x.example,", "Bo,,,https://x.example/,", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDesk(t, func(t *testing.T, d *desk) {
				d.imports(t, "held.csv", header+c.held+"\n", importer.Options{})
				want := "1 = 1 created, 0 updated, 0 skipped, 0 failed"
				if c.same {
					want = "1 = 0 created, 0 updated, 1 skipped, 0 failed"
				}
				if got := counts(d.imports(t, "said.csv", header+c.said+"\n", importer.Options{OnMatch: importer.OnMatchSkip})); got != want {
					t.Errorf("on file: %s", got)
				}
				both := d.imports(t, "both.csv", header+c.held+"\n"+c.said+"\n", importer.Options{OnMatch: importer.OnMatchSkip})
				if both.Created != 0 || both.Skipped != 2 {
					t.Errorf("all on file: %s", counts(both))
				}
				people := 2
				if c.same {
					people = 1
				}
				if got := len(d.export(t).People); got != people {
					t.Errorf("%d people", got)
				}
				other := &desk{store: d.store, owner: d.another(t), now: d.now}
				if got := other.imports(t, "both.csv", header+c.held+"\n"+c.said+"\n", importer.Options{}); got.Created != people {
					t.Errorf("in one file: %s", counts(got))
				}
			})
		})
	}
}

// An address that two people share tells neither without the name.
func TestSharedAddressTellsOnlyWithTheName(t *testing.T) {
	t.Parallel()
	eachDesk(t, func(t *testing.T, d *desk) {
		doc := `{"format":"kith-connections/1","people":[%s],"notes":[],"interactions":[]}`
		person := `{"id":"con_01J0000000000000000000000%d","name":"%s","handles":[{"kind":"email","value":"us@home.example"}]}`
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
