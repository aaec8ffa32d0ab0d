package source_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/importer/source"
	"github.com/kith-crm/kith/backend/internal/people"
)

// readOne reads a file of one person.
func readOne(t *testing.T, content string, o source.Options) (source.Record, *source.File) {
	t.Helper()
	if o.Today.IsZero() {
		o.Today = time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	}
	f := open(t, content, o)
	records := slices.Collect(f.Records())
	if len(records) != 1 || records[0].Err != nil {
		t.Fatalf("%d records, %v", len(records), records[0].Err)
	}
	return records[0], f
}

// csvCell is a value as a cell of a table.
func csvCell(value string) string { return `"` + strings.ReplaceAll(value, `"`, `""`) + `"` }

// Numbers get a country code only if they are complete, words beside them become labels, and what
// is not in a number is kept in a note.
func TestPhoneNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ value, region, want, note string }{
		{"555-0199", "US", "555-0199", ""},
		{"(212) 555-0112", "US", "+1 212-555-0112", ""},
		{"1 212 555 0112", "US", "+1 212-555-0112", ""},
		{"911", "US", "911", ""},
		{"91234-5678", "BR", "91234-5678", ""},
		{"(11) 91234-5678", "BR", "+55 11 91234-5678", ""},
		{"110", "DE", "110", ""},
		{"11833", "DE", "11833", ""},
		{"4567890", "DE", "4567890", ""},
		{"030 1234567", "DE", "+49 30 1234567", ""},
		{"020 7946 0001", "GB", "+44 20 7946 0001", ""},
		{"0161 496 0001", "GB", "+44 161 496 0001", ""},
		{"7911123456", "GB", "+44 7911 123456", ""},
		{"06 12 34 56 78", "FR", "+33 6 12 34 56 78", ""},
		{"112", "ES", "112", ""},
		{"13 2287", "AU", "13 2287", ""},
		{"+49 30 1234567", "US", "+49 30 1234567", ""},
		{"+1 212 555 0100,,123#", "", "+1 212 555 0100 x123", ""},
		{"+1-212-555-0100;ext=9", "", "+1-212-555-0100 x9", ""},
		{"tel:+1-212-555-0100;ext=9", "", "+1-212-555-0100 x9", ""},
		{"+1 212 555 0100 ext. 42", "", "+1 212 555 0100 x42", ""},
		{"+49 30 1234567 (privat)", "", "+49 30 1234567 [privat]", ""},
		{"Büro: +49 30 1234567", "", "+49 30 1234567 [Büro]", ""},
		{"Tel. +49 30 1234567", "", "+49 30 1234567", ""},
		{"+49 (0)30 1234567", "", "+49 (0)30 1234567", ""},
		{"1-800-FLOWERS", "US", "+1 800-356-9377", "1-800-FLOWERS"},
		{"030/1234567", "DE", "+49 30 1234567", ""},
		{"030 1234567 / 0171 7654321", "DE", "+49 30 1234567 | +49 171 7654321", ""},
		{"030/1234567, 0171/7654321", "DE", "+49 30 1234567 | +49 171 7654321", ""},
		{"+1 212 555 0101/+1 212 555 0102", "", "+1 212 555 0101 | +1 212 555 0102", ""},
		{"+1 212 555 0101; +1 212 555 0102", "", "+1 212 555 0101 | +1 212 555 0102", ""},
		{"+1 212 555 0101 oder +1 212 555 0102 (mobil)", "", "+1 212 555 0101 | +1 212 555 0102 [mobil]", ""},
		{"+1 212 555 0100,,123#,,456#", "", "+1 212 555 0100 x123", "+1 212 555 0100,,123#,,456#"},
		{"+1 212 555 0101, ask for Ana", "", "+1 212 555 0101 [ask for Ana]", ""},
		{"call me", "", "", "call me"},
		{"Room 301", "", "", "Room 301"},
		{"4.42079E+11", "", "", "4.42079E+11"},
		{"-", "", "", ""},
	} {
		t.Run(c.value+" "+c.region, func(t *testing.T) {
			t.Parallel()
			for format, content := range map[string]string{
				"csv":   "Name,Phone\nAna," + csvCell(c.value) + "\n",
				"vcard": "BEGIN:VCARD\nVERSION:3.0\nFN:Ana\nTEL:" + strings.NewReplacer(",", `\,`, ";", `\;`).Replace(c.value) + "\nEND:VCARD\n",
			} {
				r, _ := readOne(t, content, source.Options{DefaultRegion: c.region})
				var got []string
				for _, h := range r.Person.Handles {
					number := h.Value
					if h.Label != "" {
						number += " [" + h.Label + "]"
					}
					got = append(got, number)
				}
				if diff := cmp.Diff(c.want, strings.Join(got, " | ")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", format, diff)
				}
				if note := strings.Join(r.Notes, "\n"); c.note == "" && note != "" || !strings.Contains(note, c.note) {
					t.Errorf("%s: note %q", format, note)
				}
			}
		})
	}
}

// Dates are read in the order and the language that the options, the column, the header or the
// locale show.
func TestDatesOfColumns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header, dates, locale, order string
		// want are the days; an empty one is kept in a note.
		want []string
		warn string
	}{
		"as before":                   {"Name,Birthday", "07/03/1984", "", "", []string{"1984-07-03"}, "this is assumed"},
		"evidence":                    {"Name,Birthday", "07/03/1984|13/03/1984", "", "", []string{"1984-03-07", "1984-03-13"}, "other dates in the column"},
		"evidence against the locale": {"Name,Birthday", "07/03/1984|03/13/1984", "de-DE", "", []string{"1984-07-03", "1984-03-13"}, "other dates in the column"},
		"French header":               {"Nom;Date de naissance", "07/03/1984", "en-US", "", []string{"1984-03-07"}, "the header is in a language"},
		"locale":                      {"Name,Birthday", "07/03/1984", "en-GB", "", []string{"1984-03-07"}, "your settings"},
		"American locale":             {"Name,Birthday", "07/03/1984", "en-US", "", []string{"1984-07-03"}, "your settings"},
		"argument":                    {"Nom;Date de naissance", "07/03/1984|07.03.1984|07-03-84", "fr-FR", "mdy", []string{"1984-07-03", "1984-07-03", "1984-07-03"}, ""},
		"year first":                  {"Name,Birthday", "84/03/07|1984/03/07", "", "ymd", []string{"1984-03-07", "1984-03-07"}, ""},
		"only possible way":           {"Name,Birthday", "13/03/1984", "en-US", "", []string{"1984-03-13"}, ""},
		"no year":                     {"Name,Geburtstag", "2.4.|24.12.|2.4", "", "", []string{"--04-02", "--12-24", "--04-02"}, ""},
		"no year, slash":              {"Name,Birthday", "2/4|24/12", "de", "", []string{"--04-02", "--12-24"}, ""},
		"two digits":                  {"Name,Birthday", "12.3.80|12.3.26|12.12.26|12.3.00", "", "", []string{"1980-03-12", "2026-03-12", "1926-12-12", "2000-03-12"}, ""},
		"future":                      {"Name,Birthday", "2031-01-01", "", "", []string{""}, ""},
		"weekday":                     {"Name,Birthday", "Wed, 12 Mar 1980|Mittwoch 12. März 1980|mar, 12 mar 1980", "", "", []string{"1980-03-12", "1980-03-12", "1980-03-12"}, ""},
		"month and comma":             {"Name,Birthday", "March, 1980|March 12, 1980", "", "", []string{"1980-03", "1980-03-12"}, ""},
		"Finnish":                     {"Name,Birthday", "3. marraskuuta 1980|maaliskuu 1980", "", "", []string{"1980-11-03", "1980-03"}, ""},
		"Croatian":                    {"Ime,Datum rođenja", "5. lipanj 1980|5. listopad 1980|5. listopada 1980", "", "", []string{"1980-06-05", "1980-10-05", "1980-10-05"}, ""},
		"Croatian months":             {"Name,Birthday", "5. lipnja 1980|5. listopada 1980", "", "", []string{"1980-06-05", "1980-10-05"}, ""},
		"Croatian locale":             {"Name,Birthday", "5. listopada 1980", "hr-HR", "", []string{"1980-10-05"}, ""},
		"Polish":                      {"Nazwisko,Data urodzenia", "5 listopada 1980|5 lipca 1980", "", "", []string{"1980-11-05", "1980-07-05"}, ""},
		"two languages":               {"Name,Birthday", "5 listopada 1980", "", "", []string{""}, ""},
		"Russian":                     {"Имя,День рождения", "12 марта 1980 г.|1 мая 1980", "", "", []string{"1980-03-12", "1980-05-01"}, ""},
		"Turkish":                     {"Ad Soyad,Doğum tarihi", "12 Mart 1980|3 Ağustos 1980", "", "", []string{"1980-03-12", "1980-08-03"}, ""},
		"Korean":                      {"이름,생일", "1980년 3월 12일", "", "", []string{"1980-03-12"}, ""},
		"about a year":                {"Name,Birthday", "about 1950|ca. 1950|Circa 1950|~1950|1950~|c1950|um 1950|about 0000|about 2090|about May 1950", "", "", []string{"about 1950", "about 1950", "about 1950", "about 1950", "about 1950", "about 1950", "about 1950", "", "", ""}, ""},
		"beginnings are no months":    {"Name,Birthday", "5 marble 1980|5 sepia 1980", "", "", []string{"", ""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			comma := ","
			if strings.Contains(c.header, ";") {
				comma = ";"
			}
			content := c.header + "\n"
			for date := range strings.SplitSeq(c.dates, "|") {
				content += "Ana" + comma + csvCell(date) + "\n"
			}
			f := open(t, content, source.Options{DateOrder: c.order, Locale: c.locale, Today: time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)})
			i := 0
			for r := range f.Records() {
				got := ""
				for _, on := range r.Person.ImportantDates {
					got += on.Date
				}
				if got != c.want[i] {
					t.Errorf("row %d is %q, not %q; %q", r.Row, got, c.want[i], r.Warnings)
				}
				if kept := len(r.Notes) > 0 && len(r.Warnings) > 0; kept != (got == "") {
					t.Errorf("row %d: notes %q, warnings %q", r.Row, r.Notes, r.Warnings)
				}
				i++
			}
			if warnings := strings.Join(f.Warnings, "\n"); c.warn == "" && warnings != "" || !strings.Contains(warnings, c.warn) {
				t.Errorf("warnings %q, want %q", warnings, c.warn)
			}
		})
	}
}

// What each meaning of a column holds is in the person or the note, or the report names it: valid
// values, ones that cannot be read, long ones, and second ones.
func TestNoColumnIsLost(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"email": "zz@helios.example", "email_work": "zz@helios.example", "email_home": "zz@helios.example",
		"phone": "+49 30 1234567", "phone_mobile": "+49 30 1234567", "phone_work": "+49 30 1234567", "phone_home": "+49 30 1234567",
		"website": "https://zz.example", "linkedin": "https://zz.example", "twitter": "https://zz.example", "facebook": "https://zz.example", "github": "https://zz.example",
		"birthday": "1980-03-12", "anniversary": "1980-03-12", "date": "1980-03-12", "met_on": "1980-03-12", "last_contact": "1980-03-12", "added": "1980-03-12",
		"starred": "yes", "cadence": "30",
	}
	for _, field := range source.Fields() {
		if field.Name == source.FieldIgnore {
			continue
		}
		for kind, values := range map[string][]string{
			"a value":            {"Zebra 77"},
			"a good value":       {good[field.Name]},
			"a long value":       {strings.Repeat("Zebra77 ", 400) + "end"},
			"two values":         {"Zebra 77", "Yak 88"},
			"two good values":    {good[field.Name], strings.NewReplacer("zz", "yy", "1980", "1981", "1234567", "7654321", "30", "40").Replace(good[field.Name])},
			"values between :::": {"Zebra 77 ::: Yak 88"},
			"many values":        {strings.Repeat("Zebra 77 ::: ", 60) + "Yak 88"},
		} {
			if values[0] == "" {
				continue
			}
			t.Run(field.Name+" "+kind, func(t *testing.T) {
				t.Parallel()
				header, row := "Name,E-mail", "Ana López,ana@helios.example"
				var columns []source.Choice
				for i, value := range values {
					header += fmt.Sprintf(",Quality %c", 'a'+i)
					row += "," + csvCell(value)
					columns = append(columns, source.Choice{Header: fmt.Sprintf("Quality %c", 'a'+i), Field: field.Name})
				}
				r, f := readOne(t, header+"\n"+row+"\n", source.Options{Columns: columns})
				out, err := json.Marshal([]any{r.Person, r.Notes, r.Warnings, f.Warnings})
				if err != nil {
					t.Fatal(err)
				}
				got := lettersOf(string(out))
				for _, value := range values {
					for part := range strings.SplitSeq(value, ":::") {
						if !strings.Contains(got, lettersOf(part)) && (field.Name != "starred" || !r.Person.Starred) {
							t.Errorf("%q is lost: %s", part, out)
						}
					}
				}
			})
		}
	}
}

// lettersOf returns the letters and digits of a text, in lower case.
func lettersOf(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9' || r >= 'a' && r <= 'z':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return -1
	}, s)
}

// What each property of a card holds is in the person or the note, or the report names it.
func TestNoPropertyIsLost(t *testing.T) {
	t.Parallel()
	for _, property := range []string{
		"N:Zebra77;Ana;;;", "N:;Ana;Zebra77;;", "N:;Ana;;Zebra77;", "N:;Ana;;;Zebra77", "NICKNAME:Zebra77", "ORG:Zebra77", "ORG:Helios;Zebra77", "TITLE:Zebra77", "ROLE:Zebra77",
		"EMAIL:Zebra77", "EMAIL:zebra77@helios.example", "TEL:Zebra77", "URL:Zebra77", "URL:https://zebra77.example", "X-SOCIALPROFILE:Zebra77",
		"ADR:Zebra77;;;;;;", "ADR:;Zebra77;;;;;", "ADR:;;Zebra77;;;;", "ADR:;;;Zebra77;;;", "ADR:;;;;Zebra77;;", "ADR:;;;;;Zebra77;", "ADR:;;;;;;Zebra77", "ADR;LABEL=Zebra77:;;;;;;", "LABEL:Zebra77",
		"NOTE:Zebra77", "CATEGORIES:Zebra77", "BDAY:Zebra77", "ANNIVERSARY:Zebra77", "X-ABDATE:Zebra77", "RELATED;VALUE=text:Zebra77", "X-SPOUSE:Zebra77", "X-ABRELATEDNAMES:Zebra77",
		"GENDER:Zebra77", "IMPP:xmpp:zebra77", "X-SKYPE:zebra77", "UID:zebra77", "PHOTO:https://zebra77.example/p.jpg",
	} {
		for kind, lines := range map[string]string{"alone": property, "twice": strings.ReplaceAll(property, "ebra77", "oo1") + "\n" + property} {
			t.Run(property+" "+kind, func(t *testing.T) {
				t.Parallel()
				r, f := readOne(t, "BEGIN:VCARD\nVERSION:4.0\nFN:Ana\n"+lines+"\nEND:VCARD\n", source.Options{})
				out, err := json.Marshal([]any{r.Person, r.Notes, r.Warnings, f.Warnings})
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range r.Values {
					if v.Field == "" || source.FieldLabel(v.Field) == "" {
						t.Errorf("fieldsOfProperties has no field of %s", v.Name)
					}
				}
				isPhoto := strings.HasPrefix(property, "PHOTO") && strings.Contains(string(out), "photo was left out")
				if !strings.Contains(lettersOf(string(out)), "zebra77") && !isPhoto {
					t.Errorf("it is lost: %s", out)
				}
			})
		}
	}
}

// The columns of a table mean what the caller says, by their headers.
func TestChosenColumns(t *testing.T) {
	t.Parallel()
	content := "Wer,Wo,Was\nAna López,Bilbao,Helios\n"
	r, _ := readOne(t, content, source.Options{Columns: []source.Choice{
		{Header: "wer", Field: "name"}, {Header: "Wo", Field: "city"}, {Header: "Was", Field: "organization"},
	}})
	if r.Person.Name != "Ana López" || len(r.Person.Addresses) != 1 || r.Person.Addresses[0].Locality != "Bilbao" || len(r.Person.Positions) != 1 || r.Person.Positions[0].Organization != "Helios" {
		t.Errorf("%+v", r.Person)
	}
	for name, c := range map[string]struct {
		content, want string
		columns       []source.Choice
	}{
		"an unknown meaning": {content, "use one of note, custom, ignore, name, name_prefix, given_name", []source.Choice{{Header: "Wer", Field: "nom"}}},
		"an unknown header":  {content, `its columns are "Wer", "Wo", "Was"`, []source.Choice{{Header: "Wem", Field: "name"}}},
		"not a table":        {"BEGIN:VCARD\nFN:Ana\nEND:VCARD\n", "has no columns", []source.Choice{{Header: "Wer", Field: "name"}}},
	} {
		_, err := source.Open([]byte(c.content), source.Options{Columns: c.columns})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := source.Open([]byte(content), source.Options{DateOrder: "dym"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a wrong order of dates: %v", err)
	}
}

// A fold inside a character does not break a text whose character set is declared.
func TestFoldInsideCharacter(t *testing.T) {
	t.Parallel()
	const name = "Zoé Lefèvre"
	cut := strings.Index(name, "é") + 1
	for version, fold := range map[string]string{"2.1": "\r\n ", "3.0": "\r\n ", "4.0": "\r\n\t"} {
		for parameters, value := range map[string]string{
			";CHARSET=UTF-8": name[:cut] + fold + name[cut:],
			";CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE": "Zo=C3=\r\n=A9 Lef=C3=A8vre",
		} {
			// A text in another character set, so that the file as a whole is not UTF-8.
			content := "BEGIN:VCARD\r\nVERSION:" + version + "\r\nFN" + parameters + ":" + value + "\r\nNOTE:caf\xe9 cr\xe8me \xe0 la carte\r\nEND:VCARD\r\n"
			for _, content := range []string{content, strings.Replace(content, "NOTE:caf\xe9 cr\xe8me \xe0 la carte\r\n", "", 1)} {
				r, _ := readOne(t, content, source.Options{})
				if r.Person.Name != name {
					t.Errorf("%s%s: %q", version, parameters, r.Person.Name)
				}
			}
		}
	}
}

// A relation may be a word for what the other person is, or for what this person is to them, with
// spaces, hyphens or underscores, in a cell, a header or a card.
func TestRelationsInBothDirections(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"parent": "parent", "child of": "parent", "Child-Of": "parent", "son of": "parent", "child": "child", "parent_of": "child", "Mother of": "child",
		"manager": "manager", "reports to": "manager", "report of": "manager", "manager of": "report", "direct report": "report",
		"introduced": "introduced", "introduced_by": "introduced_by", "Introduced by": "introduced_by", "friend of": "friend", "godmother of": "other",
	} {
		files := map[string]string{
			"cell": "Name,Relation 1 - Label,Relation 1 - Value\nAda Stone," + word + ",Ben Stone\n",
			"card": "BEGIN:VCARD\nVERSION:3.0\nFN:Ada Stone\nitem1.X-ABRELATEDNAMES:Ben Stone\nitem1.X-ABLabel:" + word + "\nEND:VCARD\n",
			"json": `{"format":"` + export.Format + `","people":[{"name":"Ada Stone","relationships":[{"name":"Ben Stone","type":"` + word + `"}]}]}`,
		}
		if strings.HasSuffix(word, " of") && want != "other" && word != "report of" && word != "friend of" || word == "introduced" || word == "reports to" {
			files["header"] = "Name," + word + "\nAda Stone,Ben Stone\n"
		}
		for name, content := range files {
			got := records(open(t, content, source.Options{}))[0].Person.Relationships
			if len(got) != 1 || got[0].Name != "Ben Stone" || got[0].Type != want {
				t.Errorf("%s, %s: %+v, want %s", name, word, got, want)
			}
		}
	}
}

// Only the beginning of a very long value is searched for web addresses. The value is kept in the note,
// and the report says so.
func TestLongValueOfWebAddresses(t *testing.T) {
	t.Parallel()
	var value strings.Builder
	for i := range 1_000 {
		fmt.Fprintf(&value, "https://x.example/page/%04d ", i)
	}
	r := records(open(t, "Name,Website\nAda Stone,"+value.String()+"\n", source.Options{}))[0]
	if len(r.Person.Handles) == 0 || !strings.Contains(strings.Join(r.Notes, "\n"), "https://x.example/page/0999") {
		t.Errorf("%d addresses, notes of %d characters", len(r.Person.Handles), len(strings.Join(r.Notes, "")))
	}
	if said := strings.Join(r.Warnings, "\n"); !strings.Contains(said, "only its beginning was read") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// A document may say what is kept of cards, but nothing that would end a card or be another value of it.
func TestKeptOfADocument(t *testing.T) {
	t.Parallel()
	good := []people.Kept{
		{Format: source.VCard, Name: "X-A", Text: "item1.X-A;TYPE=b:1"}, {Format: source.VCard, Name: "X-ABLABEL", Text: "item1.X-ABLabel:Mine"},
		{Format: source.JSContact, Name: "x", Text: `{"a":1}`},
	}
	bad := []people.Kept{
		{Format: source.VCard, Name: "END", Text: "END:VCARD"}, {Format: source.VCard, Name: "FN", Text: "FN:Zed"}, {Format: source.VCard, Name: "KIND", Text: "KIND:group"},
		{Format: source.VCard, Name: "X-B", Text: "X-C:1"}, {Format: source.VCard, Name: "X-D", Text: "X-D:1\r\nEND:VCARD"}, {Format: source.VCard, Name: "X-E", Text: "no property"},
		{Format: source.JSContact, Name: "name", Text: `{}`}, {Format: source.JSContact, Name: "y", Text: `{`}, {Format: "csv", Name: "z", Text: "1"},
	}
	content, err := json.Marshal(map[string]any{"format": export.Format, "people": []any{map[string]any{"name": "Ana", "kept": append(slices.Clone(good), bad...)}}})
	if err != nil {
		t.Fatal(err)
	}
	r, _ := readOne(t, string(content), source.Options{})
	if diff := cmp.Diff(good, r.Person.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	for _, k := range bad {
		if value, _, _ := strings.Cut(k.Text, "\r\n"); !strings.Contains(fmt.Sprint(r.Notes), "property "+k.Name+": "+value) {
			t.Errorf("%s is in no note: %q", k.Name, r.Notes)
		}
	}
}

// Cards before version 4.0 have the text of an address in a property of its own.
func TestAddressesAsAWhole(t *testing.T) {
	t.Parallel()
	r, _ := readOne(t, strings.Join([]string{
		"BEGIN:VCARD", "VERSION:3.0", "FN:Ana", "N:Lee;Ana;;;",
		`LABEL;TYPE=work:Attn. Ana\, floor 7\n1 Main St`, "item1.ADR;TYPE=home:;;2 Low Rd;York;;;", "ADR;TYPE=work:;;1 Main St;Leeds;;;",
		`item1.LABEL:2 Low Rd\, blue door`, "LABEL;TYPE=dom:The lighthouse", "LABEL;TYPE=work:Second text", "END:VCARD",
	}, "\r\n"), source.Options{})
	want := []people.Address{
		{Label: "home", Street: "2 Low Rd", Locality: "York", Text: "2 Low Rd, blue door"},
		{Label: "work", Street: "1 Main St", Locality: "Leeds", Text: "Attn. Ana, floor 7\n1 Main St"}, {Text: "The lighthouse"}, {Label: "work", Text: "Second text"},
	}
	if diff := cmp.Diff(want, r.Person.Addresses, cmpopts.EquateEmpty()); diff != "" || len(r.Notes)+len(r.Person.Kept) > 0 {
		t.Errorf("(-want +got):\n%s%q", diff, r.Notes)
	}
}

// "Holm, Vera" is a name with its parts, unless the file is Kith's own, or its parts say something else.
func TestInvertedNames(t *testing.T) {
	t.Parallel()
	card := func(lines string) string { return "BEGIN:VCARD\nVERSION:4.0\n" + lines + "END:VCARD\n" }
	vera := people.NameParts{Given: "Vera", Family: "Holm"}
	for content, want := range map[string]export.PersonRecord{
		"Name,Email\n\"Holm, Vera\",v@x.example\n":                {Name: "Vera Holm", NameParts: vera},
		"Name,Email\n\"Holm, Inc\",v@x.example\n":                 {Name: "Holm, Inc"},
		card("FN:Holm\\, Vera\n"):                                 {Name: "Vera Holm", NameParts: vera},
		card("FN:Holm\\, Vera\nN:Holm;Vera;;;\n"):                 {Name: "Vera Holm", NameParts: vera},
		card("FN:Holm\\, Vera\nN:Berg;Vera;;;\n"):                 {Name: "Holm, Vera", NameParts: people.NameParts{Given: "Vera", Family: "Berg"}},
		card("PRODID:-//Kith//Kith//EN\nFN:Holm\\, Vera\n"):       {Name: "Holm, Vera"},
		`{"@type":"Card","uid":"1","name":{"full":"Holm, Vera"}}`: {Name: "Vera Holm", NameParts: vera},
	} {
		if r, _ := readOne(t, content, source.Options{}); r.Person.Name != want.Name || r.Person.NameParts != want.NameParts {
			t.Errorf("%s: %q %+v", content, r.Person.Name, r.Person.NameParts)
		}
	}
}

// A long cell of an ignored column that only repeats the row is in no note.
func TestLongRepeatedCells(t *testing.T) {
	t.Parallel()
	var words strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&words, "w%d ", i)
	}
	r, _ := readOne(t, "Name,Notes,File As\nAna,"+words.String()+","+words.String()+"\n", source.Options{})
	for _, note := range r.Notes {
		if strings.Contains(note, "File As") {
			t.Errorf("a repeated cell is in a note: %.60s", note)
		}
	}
}
