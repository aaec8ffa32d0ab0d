package source_test

import (
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/kith-crm/kith/backend/internal/importer/source"
)

// otherForms are what a person has for values whose form changes: by the file and the column or property.
//
//nolint:gochecknoglobals // a table of the test
var otherForms = map[string]string{
	// A mark of Google's own label of all contacts, and the star.
	"google.csv Labels": "Book club",
	// The words of the parts, which the test finds one by one.
	"google.csv Address 1 - Formatted": "Calle del Sol 11,Apartado 22,Ensanche,Bilbao,Bizkaia,48001,ES", "google.csv Address 2 - Formatted": "Rua da Praia 33,8600-544,Lagos,PT",
	"google.csv IM 1 - Service": "xmpp",
	// Dates and moments.
	"linkedin.csv Connected On": "2025-03-14", "outlook.csv Anniversary": "2008-06-14", "outlook.csv Birthday": "1979-05-23", "apple.vcf BDAY;X-APPLE-OMIT-YEAR=1604": "--08-21",
	"hubspot.csv Create Date": "2026-01-05",
	// The star, which has no words.
	"clay.csv Starred": "starred true", "dex.csv Starred": "starred true",
	// What Outlook writes for each address on the internet, and names for an address that are in the row already.
	"outlook.csv E-mail Type": "", "outlook.csv E-mail 2 Type": "", "outlook.csv E-mail Display Name": "Zoë,Müller,zoe@cafe.example",
	// The program that wrote a card, and schemes of addresses.
	"apple.vcf PRODID": "", "apple.vcf IMPP;X-SERVICE-TYPE=Skype;type=HOME;type=pref": "chloe.skype", "apple.vcf item10.IMPP;X-SERVICE-TYPE=Jabber": "chloe@jabber.example",
	"apple.vcf X-SOCIALPROFILE;type=mastodon;x-user=chloe_weaves": "chloe_weaves",
}

// Every value of the exports of ten programs, which have something in each column of their layouts, is in a field, a kept property
// or a note of the person.
func TestProgramsLoseNothing(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/programs/*")
	if err != nil || len(files) != 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := testFile(t, filepath.Join("programs", name))
			f, err := source.Open(content, source.Options{Filename: name, Today: time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)})
			if err != nil {
				t.Fatal(err)
			}
			records := slices.Collect(f.Records())
			if len(records) != 1 || records[0].Err != nil {
				t.Fatalf("%+v", records)
			}
			warnings := records[0].Warnings
			records[0].Warnings = nil // which are not kept
			held := fmt.Sprintf("%+v", golden(records[0]))
			got := wordsIn(held)
			cells := cellsOf(t, string(content))
			if strings.HasSuffix(name, ".vcf") {
				cells = propertiesOf(string(content))
			}
			for _, cell := range cells {
				value, told := otherForms[name+" "+cell[0]]
				if !told {
					value = cell[1]
				}
				for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(";,\n", r) }) {
					if !strings.Contains(got, wordsIn(strings.ReplaceAll(part, ":::", " "))) {
						t.Errorf("%s: %q is lost", cell[0], part)
					}
				}
			}
			if t.Failed() {
				t.Logf("%s\n%q", held, warnings)
			}
		})
	}
}

// wordsIn returns the letters and digits of a text, in lower case, with a blank in place of anything else.
func wordsIn(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

// cellsOf returns the headers and the cells of the last row of a table.
func cellsOf(t *testing.T, content string) (cells [][2]string) {
	t.Helper()
	r := csv.NewReader(strings.NewReader(strings.TrimPrefix(content, "\ufeff")))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	header, row := rows[len(rows)-2], rows[len(rows)-1]
	for i, cell := range row {
		cells = append(cells, [2]string{header[i], cell})
	}
	return cells
}

// propertiesOf returns the names and the values of the properties of a card.
func propertiesOf(content string) (properties [][2]string) {
	content = strings.NewReplacer("\r\n ", "", `\n`, "\n", `\,`, ",", `\;`, ";").Replace(content)
	for line := range strings.SplitSeq(content, "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		properties = append(properties, [2]string{name, value})
	}
	return properties
}
