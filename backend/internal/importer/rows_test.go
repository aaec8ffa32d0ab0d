package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/importer"
)

// A dry run reports what it would do with each row, who the person is, and who may be.
func TestRowsOfADryRun(t *testing.T) {
	t.Parallel()
	const held = "Name,E-mail,Organization,Title\nAna Lee,ana@x.example,,\nDee Diaz,dee@x.example,Inn,Cook\nFay Fox,,Inn,\n"
	const content = "Name,E-mail,Organization\nAna Lee,ana@x.example,Inn\nA. Lee,ana@x.example,\nDee Diaz,,\nFay Fox,fay@x.example,Inn\nNew Person,new@x.example,\nBo Berg,new@x.example,\n"
	eachDatabase(t, func(t *testing.T, d *fixture) {
		d.imports(t, "held.csv", held, importer.Options{})
		ana, dee, fay := d.person(t, "Ana Lee").ID, d.person(t, "Dee Diaz").ID, d.person(t, "Fay Fox").ID
		want := []importer.RowReport{
			{Row: 2, Action: "update", Name: "Ana Lee", Match: &importer.PersonReport{ID: ana, Why: "same e-mail address"}},
			{Row: 3, Action: "skip", Name: "A. Lee", Match: &importer.PersonReport{OfRow: 2, Name: "Ana Lee", Why: "same e-mail address"}},
			{Row: 4, Action: "add", Name: "Dee Diaz", MayBe: []importer.PersonReport{{ID: dee, Headline: "Cook at Inn", Why: "same name"}}},
			{Row: 5, Action: "update", Name: "Fay Fox", Match: &importer.PersonReport{ID: fay, Headline: "Inn", Why: "same name and organisation"}},
			{Row: 6, Action: "add", Name: "New Person"},
			{Row: 7, Action: "add", Name: "Bo Berg", MayBe: []importer.PersonReport{{OfRow: 6, Name: "New Person", Why: "same e-mail address"}}},
		}
		r := d.imports(t, "people.csv", content, importer.Options{DryRun: true})
		if diff := cmp.Diff(want, r.Rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", counts(r), diff)
		}
		if r := d.imports(t, "people.csv", content, importer.Options{}); r.Rows != nil {
			t.Errorf("an import reports rows: %+v", r.Rows)
		}
	})
}

// A dry run reports the first rows; a doubtful one takes the place of the last one that is not.
func TestManyRowsOfADryRun(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		d.imports(t, "held.csv", "Name\nDee Diaz\n", importer.Options{})
		var content strings.Builder
		content.WriteString("Name,E-mail\n")
		for i := range 70 {
			name := fmt.Sprintf("Person %d", i)
			if i%20 == 15 {
				name = "Dee Diaz"
			}
			fmt.Fprintf(&content, "%s,p%d@x.example\n", name, i)
		}
		rows := d.imports(t, "people.csv", content.String(), importer.Options{DryRun: true}).Rows
		var doubtful []int
		for _, r := range rows {
			if len(r.MayBe) > 0 {
				doubtful = append(doubtful, r.Row)
			}
		}
		if diff := cmp.Diff([]int{17, 37, 57}, doubtful); len(rows) != 50 || rows[48].Row != 50 || diff != "" {
			t.Errorf("%d rows (-want +got):\n%s", len(rows), diff)
		}
	})
}
