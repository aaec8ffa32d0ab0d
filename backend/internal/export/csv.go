package export

import (
	"cmp"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/country"
	"github.com/kith-crm/kith/backend/internal/people"
)

// separator separates the values of a cell that holds several, as in Google's files.
const separator = " ::: "

// column is a column of the CSV format.
type column struct {
	name  string
	value func(p *Person) string
}

// columns are those of the CSV format, in order. Cells with several values join them with
// " ::: ", the preferred one first. A cell that begins with one of = + - @ TAB CR, or with
// apostrophes and one of them, gets an apostrophe before it, which spreadsheets hide and
// our reader removes. So no cell is a formula.
// Days are those of a time zone; nil is UTC.
func columns(zone *time.Location) []column {
	date := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.In(cmp.Or(zone, time.UTC)).Format(time.DateOnly)
	}
	values := func(kind string) func(p *Person) string {
		return func(p *Person) string { return strings.Join(p.Values(kind), separator) }
	}
	all := []column{
		{"Id", func(p *Person) string { return p.ID }},
		{"Name", func(p *Person) string { return p.Name }},
	}
	for i, part := range new(people.NameParts).All() {
		all = append(all, column{part.Column, func(p *Person) string { return *p.NameParts.All()[i].Value }})
	}
	return append(all, []column{
		{"Nickname", func(p *Person) string { return p.Nickname }},
		{"Organization", func(p *Person) string { return p.CurrentPosition().Organization }},
		{"Title", func(p *Person) string { return p.CurrentPosition().Title }},
		{"E-mail", values(people.KindEmail)},
		{"Phone", values(people.KindPhone)},
		{"Website", values(people.KindURL)},
		{"Accounts", func(p *Person) string {
			return strings.Join(people.IDs(p.Accounts, func(a people.Account) string { return a.Service + ": " + a.Handle }), separator)
		}},
		{"Location", func(p *Person) string { return p.Location }},
		{"Street", func(p *Person) string { return preferred(p).Street }},
		{"City", func(p *Person) string { return preferred(p).Locality }},
		{"Region", func(p *Person) string { return preferred(p).Region }},
		{"Postcode", func(p *Person) string { return preferred(p).Postcode }},
		{"Country", func(p *Person) string { return country.Name(preferred(p).Country) }},
		{"Address", addressTexts},
		{"About", func(p *Person) string { return p.Bio }},
		{"Tags", func(p *Person) string { return strings.Join(p.Tags, separator) }},
		{"Groups", func(p *Person) string { return strings.Join(p.Groups, separator) }},
		{"Starred", func(p *Person) string { return map[bool]string{true: "yes"}[p.Starred] }},
		{"Met on", func(p *Person) string { return p.MetOn }},
		{"Met how", func(p *Person) string { return p.MetHow }},
		{"Birthday", birthday},
		{"Died", func(p *Person) string { return p.DeceasedOn }},
		{"Keep in touch (days)", func(p *Person) string { return days(p.CadenceDays) }},
		{"Last contact", func(p *Person) string { return date(p.LastInteractionAt) }},
		{"Added", func(p *Person) string { return date(p.CreatedAt) }},
	}...)
}

// CustomHeader ends the headers of columns with custom fields.
const CustomHeader = " (custom field)"

// Columns returns the header of the CSV format, without custom fields.
func Columns() []string {
	return people.IDs(columns(nil), func(c column) string { return c.name })
}

// table writes the CSV format. The last columns are the custom fields that the member had when the first page was read.
type table struct {
	rows   *csv.Writer
	fields []string
	begun  bool
}

func newTable(out io.Writer) *table {
	t := &table{rows: csv.NewWriter(out)}
	t.rows.UseCRLF = true
	return t
}

// begin writes the header.
func (t *table) begin(fields []people.Field) error {
	if t.begun {
		return nil
	}
	t.begun = true
	header := Columns()
	for _, f := range fields {
		t.fields, header = append(t.fields, f.Name), append(header, harmless(f.Name+CustomHeader))
	}
	return t.rows.Write(header)
}

// Add implements Writer.
func (t *table) Add(p People) error {
	if err := t.begin(p.Fields); err != nil {
		return err
	}
	all := columns(p.Zone)
	for i := range p.People {
		var row []string
		for _, c := range all {
			row = append(row, harmless(c.value(&p.People[i])))
		}
		for _, name := range t.fields {
			row = append(row, harmless(p.People[i].fieldValue(name)))
		}
		if err := t.rows.Write(row); err != nil {
			return err
		}
	}
	return nil
}

// fieldValue returns the value of a custom field; empty for none.
func (p *Person) fieldValue(name string) string {
	for _, v := range p.Fields {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

// Close implements Writer.
func (t *table) Close() error {
	if err := t.begin(nil); err != nil {
		return err
	}
	t.rows.Flush()
	return t.rows.Error()
}

// harmless returns the cell in a form that spreadsheets do not read as a formula.
func harmless(cell string) string {
	if bare := strings.TrimLeft(cell, "'"); bare != "" && strings.ContainsRune("=+-@\t\r", rune(bare[0])) {
		return "'" + cell
	}
	return cell
}

// preferred is the preferred postal address; an empty one for none.
func preferred(p *Person) people.Address {
	if len(p.Addresses) == 0 {
		return people.Address{}
	}
	return p.Addresses[0]
}

// addressTexts are the text of the preferred postal address, if it has one, and all others.
func addressTexts(p *Person) string {
	if len(p.Addresses) == 0 {
		return ""
	}
	texts := []string{p.Addresses[0].Text}
	for _, a := range p.Addresses[1:] {
		texts = append(texts, a.String())
	}
	return strings.Join(texts, separator)
}

func birthday(p *Person) string {
	for _, d := range p.Dates {
		if d.Kind == people.DateBirthday {
			return d.String()
		}
	}
	return ""
}

func days(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
