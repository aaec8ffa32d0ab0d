package importer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/kith-crm/kith/backend/internal/importer"
	"github.com/kith-crm/kith/backend/internal/people"
)

// The report says what became of the values of each column, the same in a dry run, in the preview and in an import of several
// steps.
func TestColumnsOfReports(t *testing.T) {
	t.Parallel()
	row := func(i int) string {
		birthday := "1990-05-14"
		if i%3 == 0 {
			birthday = "in spring"
		}
		return fmt.Sprintf("Ana %d,ana%d@x.example ::: not one,%s,vegan,False,Ana %d (ana%d@x.example)\n", i, i, birthday, i, i)
	}
	table, cards := "Name,E-mail,Birthday,Diet,Private,E-mail Display Name\n", ""
	for i := range 25 {
		table += row(i)
		cards += fmt.Sprintf("BEGIN:VCARD\nVERSION:3.0\nFN:Ben %d\nN:;;;;\nTEL:+1 212 555 01%02d\nTEL:ask him\nORG:Helios;Sales\nX-OWN:%d\nBDAY:soon\nREV:20260301T120000Z\nLOGO;ENCODING=b:%s\nEND:VCARD\n",
			i, i, i, strings.Repeat("QUFB", 20_000*(i/24)))
	}
	js := `[{"@type":"Card","uid":"a","name":{"full":"Cy Marsh"},"emails":{"1":{"address":"cy@x.example"},"2":{"address":"no"}},"titles":{"1":{"name":"Cook"}},"own:x":[1],"media":{"1":{"kind":"photo","uri":"data:,"}}}]`
	for name, c := range map[string]struct {
		content string
		want    []importer.ColumnReport
	}{
		"a.csv": {table, []importer.ColumnReport{
			{Name: "Name", Field: "name", Stored: 25}, {Name: "E-mail", Field: "email", Stored: 25, Unread: 25}, {Name: "Birthday", Field: "birthday", Stored: 16, Unread: 9},
			{Name: "Diet", Field: "note", Noted: 25}, {Name: "Private", Field: "ignore", Dropped: 25}, {Name: "E-mail Display Name", Field: "ignore", Dropped: 25},
		}},
		"birthday.csv": {"Name,Birth Day,Birth Month,Birth Year,Kids,Height\nAda Stone,31,2,1980,0,0\nBen Stone,3,2,1981,,178\n", []importer.ColumnReport{
			{Name: "Name", Field: "name", Stored: 2}, {Name: "Birth Day", Field: "birth_day", Stored: 1, Unread: 1}, {Name: "Birth Month", Field: "birth_month", Stored: 1, Unread: 1},
			{Name: "Birth Year", Field: "birth_year", Stored: 1, Unread: 1}, {Name: "Kids", Field: "note", Dropped: 1}, {Name: "Height", Field: "note", Noted: 2},
		}},
		"b.vcf": {cards, []importer.ColumnReport{
			{Name: "FN", Field: "name", Stored: 25}, {Name: "TEL", Field: "phone", Stored: 25, Unread: 25}, {Name: "ORG", Field: "organization", Noted: 25},
			{Name: "X-OWN", Field: "kept", Stored: 25}, {Name: "BDAY", Field: "birthday", Unread: 25}, {Name: "LOGO", Field: "kept", Dropped: 1},
		}},
		"c.json": {js, []importer.ColumnReport{
			{Name: "name", Field: "name", Stored: 1}, {Name: "titles", Field: "job_title", Stored: 1}, {Name: "emails", Field: "email", Stored: 1, Unread: 1},
			{Name: "own:x", Field: "kept", Stored: 1}, {Name: "media", Field: "photo", Dropped: 1},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDatabase(t, func(t *testing.T, d *fixture) {
				for what, got := range map[string][]importer.ColumnReport{
					"preview": d.try(t, c.content, importer.Options{}).Columns, "dry run": d.imports(t, name, c.content, importer.Options{DryRun: true}).Columns,
					"import": d.imports(t, name, c.content, importer.Options{}).Columns,
				} {
					if diff := gocmp.Diff(c.want, got); diff != "" {
						t.Errorf("%s (-want +got):\n%s", what, diff)
					}
				}
			})
		})
	}
}

// Of a table with very many columns, the report names the first ones and counts the others together.
func TestManyColumnsOfReports(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d *fixture) {
		header, row := "Name", "Ana"
		for i := range importer.MaxColumns + 100 {
			header += fmt.Sprintf(",Quality %d", i)
			row += fmt.Sprintf(",good %d", i)
		}
		r := d.imports(t, "a.csv", header+"\n"+row+"\n"+strings.Replace(row, "Ana", "Ben", 1)+"\n", importer.Options{})
		if last := len(r.Columns) - 1; last != importer.MaxColumns || (r.Columns[last] != importer.ColumnReport{Noted: 202}) || r.Columns[last-1].Noted != 2 {
			t.Errorf("%d columns, %+v", len(r.Columns), r.Columns[last:])
		}
	})
}

// Values that no field can take are reported, and no such value is lost in silence.
func TestBadValues(t *testing.T) {
	t.Parallel()
	const own = "X-OWN-%d:value %d\n"
	unknown := func(n int) (lines string) {
		for i := range n {
			lines += fmt.Sprintf(own, i, i)
		}
		return lines
	}
	long, large := strings.Repeat("Long name ", 1000), strings.Repeat("x", 5<<20)
	for name, c := range map[string]struct {
		lines string
		// kept is how many properties are kept, note is in a note, warning in the report; column is of the report.
		kept          int
		note, warning string
		column        importer.ColumnReport
	}{
		"a name of 10,000 characters": {
			"FN:" + long + "\n", 0, "name: " + strings.TrimSpace(long), "the name was cut to 200 characters; a note has all of it", importer.ColumnReport{Name: "FN", Field: "name", Noted: 1},
		},
		"a country that does not exist": {"FN:Ana\nADR:;;;Port;;;Atlantis\n", 0, "", "", importer.ColumnReport{Name: "ADR", Field: "address", Stored: 1}},
		"500 unknown properties": {
			"FN:Ana\n" + unknown(people.MaxKept), people.MaxKept, "", "keeps for exports", importer.ColumnReport{Stored: 301},
		},
		"501 unknown properties": {
			"FN:Ana\n" + unknown(people.MaxKept+1), people.MaxKept, "X-OWN-500: value 500", "keeps for exports", importer.ColumnReport{Noted: 1, Stored: 301},
		},
		"a property of 5 MB": {"FN:Ana\nX-HUGE:" + large + "\n", 0, "", "X-HUGE was left out: it is longer than 1 MB", importer.ColumnReport{Name: "X-HUGE", Field: "kept", Dropped: 1}},
		"a note of 5 MB":     {"FN:Ana\nNOTE:" + large + "\n", 0, "", "NOTE was left out: it is longer than 1 MB", importer.ColumnReport{Name: "NOTE", Field: "bio", Dropped: 1}},
		"a key of 5 MB": {
			"FN:Ana\nKEY;ENCODING=b:" + large + "\n", 0, "", "Properties of cards that were not imported: KEY", importer.ColumnReport{Name: "KEY", Field: "kept", Dropped: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDatabase(t, func(t *testing.T, d *fixture) {
				r := d.imports(t, "a.vcf", "BEGIN:VCARD\nVERSION:3.0\n"+c.lines+"END:VCARD\n", importer.Options{})
				p := d.export(t).People[0]
				if r.Created != 1 || r.Failed != 0 || len(p.Kept) != c.kept {
					t.Errorf("%s, %d kept", counts(r), len(p.Kept))
				}
				if name == "a country that does not exist" && (len(p.Addresses) != 1 || p.Addresses[0].Country != "Atlantis") {
					t.Errorf("addresses %+v", p.Addresses)
				}
				if notes := strings.Join(d.notes(t), "\n"); !strings.Contains(notes, c.note) || (c.note == "") != (notes == "") {
					t.Errorf("notes of %d characters", len(notes))
				}
				if warnings := strings.Join(r.Warnings, "\n"); !strings.Contains(warnings, c.warning) || (c.warning == "") != (warnings == "") {
					t.Errorf("warnings %.500q", warnings)
				}
				if !slices.Contains(r.Columns, c.column) {
					t.Errorf("no %+v in %+v", c.column, r.Columns)
				}
			})
		})
	}
}
