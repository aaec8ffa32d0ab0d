package source

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// table reads the people of a text with separated values.
type table struct {
	header

	text   []byte
	layout layout
	region string
	// order is what comes first in the dates with slashes of this table.
	order dayOrder
	count int
}

// openTable finds the header of a table, the meaning of its columns, and the columns that
// are not imported.
func (f *File) openTable(text []byte, o Options) (reader, error) {
	words := newWords()
	h, err := findHeader(text, words)
	if err != nil && (o.Draft || len(o.Columns) > 0) {
		if first, ok := firstRow(text); ok {
			err = first.read(text)
			h = first
		}
	}
	if err != nil {
		return nil, err
	}
	if o.Format == "" {
		o.Format = h.format()
	}
	f.Format = o.Format
	t := &table{header: h, text: text, layout: layoutOf(o.Format, h, words), region: o.DefaultRegion}
	if err := t.layout.choose(o.Columns); err != nil {
		return nil, err
	}
	if err := t.layout.check(o.Format); err != nil && !o.Draft {
		return nil, err
	}
	return t, f.survey(t)
}

func (t *table) total() int { return t.count }

// records calls yield with each row below the header that is not blank.
func (t *table) records(yield func(Record) bool) {
	for r := range t.rows {
		if !yield(t.record(r)) {
			return
		}
	}
}

// rows calls yield with each row below the header that is not blank.
func (t *table) rows(yield func(row) bool) {
	s := t.scanner(t.text)
	for {
		r, ok := s.next()
		if !ok {
			return
		}
		if !r.blank() && !yield(r) {
			return
		}
	}
}

// blank distinguishes a row that shows nothing from one that is broken.
func (r row) blank() bool {
	for _, c := range r.cells {
		if !c.blank() {
			return false
		}
	}
	return r.broken == ""
}

// record reads a row.
func (t *table) record(r row) Record {
	switch {
	case r.broken != "":
		return Record{Row: r.number, Err: fault.New(fault.Invalid, "line %d of the file %s", r.line, r.broken)}
	case t.tooWide(r):
		return Record{Row: r.number, Err: fault.New(fault.Invalid,
			"the row has %d cells where the header has %d: a cell that holds a separator needs quotation marks", len(r.cells), len(t.layout.columns))}
	}
	d := draft{region: t.region}
	t.layout.fill(&d, r.cells, t.order)
	return d.record(r.number)
}

// tooWide reports whether a row has content in cells without a column.
func (t *table) tooWide(r row) bool {
	for i := len(t.layout.columns); i < len(r.cells); i++ {
		if !r.cells[i].blank() {
			return true
		}
	}
	return false
}

// survey reads the whole table: how many people it has, which dates, and which columns
// with content are not imported.
func (f *File) survey(t *table) error {
	var slashes slashDates
	lost := map[int]bool{}
	streets := false
	for r := range t.rows {
		t.count++
		if t.count > MaxRecords {
			return fault.New(fault.Invalid, "the file holds more than %d people; split it into several files", MaxRecords)
		}
		for i, c := range t.layout.columns {
			if i >= len(r.cells) || r.broken != "" || r.cells[i].blank() {
				continue
			}
			switch {
			case c.field.isDate():
				slashes.add(r.cells[i].String())
			case c.field == fieldStreet:
				streets = true
			case c.field == fieldUnknown && !isDefault(r.cells[i].String()):
				lost[i] = true
			}
		}
	}
	if t.count == 0 {
		return fault.New(fault.Invalid, "the file has a header, but no people below it")
	}
	t.order = slashes.order()
	f.warn(t.layout.doubled())
	f.warn(t.layout.unused(lost))
	f.warn(slashes.warning())
	if streets {
		f.warn(streetWarning)
	}
	return nil
}

// streetWarning is for all formats with postal addresses.
const streetWarning = "Of postal addresses only town, region and country are kept where they are known."

// isDefault reports whether a value is what Outlook writes into empty columns.
func isDefault(cell string) bool {
	switch strings.ToLower(cell) {
	case "normal", "false", "unspecified", "smtp", "0", "0/0/00", "0/0/0000", "00.00.00", "00.00.0000", "falsch", "faux", "falso":
		return true
	}
	return false
}

// slashDates remembers the dates of a table such as 3/4/2021.
type slashDates struct {
	example            string
	dayFirst, monthOne bool
}

func (s *slashDates) add(value string) {
	const longest = 30
	if len(value) > longest || strings.Count(value, "/") != 2 {
		return
	}
	var a, b, c int
	if n, _ := fmt.Sscanf(value, "%d/%d/%d", &a, &b, &c); n < 3 || a > 31 || a+b == 0 {
		return
	}
	s.example = value
	s.dayFirst = s.dayFirst || a > 12
	s.monthOne = s.monthOne || b > 12
}

// order is day first if one of the dates must be read that way and none the other way.
func (s *slashDates) order() dayOrder {
	if s.dayFirst && !s.monthOne {
		return dayFirst
	}
	return monthFirst
}

func (s *slashDates) warning() string {
	if s.example == "" {
		return ""
	}
	name := map[dayOrder]string{monthFirst: "month/day/year", dayFirst: "day/month/year"}[s.order()]
	return fmt.Sprintf("Dates such as %s were read as %s.", shown(s.example), name)
}

// header is the row of a table that names its columns, and what separates them.
type header struct {
	comma byte
	// at, line and number are where the row starts: its offset, its line and its
	// ordinal before it.
	at, line, number int
	cells            []string
}

// scanner returns a scanner of the rows below the header.
func (h header) scanner(text []byte) *scanner {
	s := newScanner(text, h.comma)
	s.at, s.line, s.number = h.at, h.line, h.number
	if r, ok := s.next(); ok {
		s.width = len(r.cells)
	}
	return s
}

// Where the header is looked for: LinkedIn has a text of some lines before it.
const (
	mostBefore = 100
	headBytes  = 256 << 10
)

// findHeader returns the row with the most known headers, read with the separator that
// gives the most of them.
func findHeader(text []byte, words words) (header, error) {
	var best header
	most, start := 0, 0
	separators := ",;\t|"
	if chosen, rest, ok := chosenSeparator(text); ok {
		separators, start = chosen, rest
	}
	for i := range len(separators) {
		s := newScanner(text[:min(len(text), start+headBytes)], separators[i])
		s.at = start
		if start > 0 {
			s.line = 2 // which Excel does not count as a row
		}
		for range mostBefore {
			before := header{comma: separators[i], at: s.at, line: s.line, number: s.number}
			r, ok := s.next()
			if !ok {
				break
			}
			if known := words.known(r); known > most {
				best, most = before, known
			}
		}
	}
	if most == 0 {
		return header{}, fault.New(fault.Invalid,
			"no row names columns that are known here, such as Name, First Name, E-mail or Company; put such a row above the others")
	}
	return best, best.read(text)
}

// read reads the cells of the header.
func (h *header) read(text []byte) error {
	s := newScanner(text, h.comma)
	s.at, s.line, s.number = h.at, h.line, h.number
	r, _ := s.next()
	if len(r.cells) > maxColumns {
		return fault.New(fault.Invalid, "the table has more than %d columns", maxColumns)
	}
	for _, c := range r.cells {
		h.cells = append(h.cells, c.String())
	}
	for len(h.cells) > 0 && h.cells[len(h.cells)-1] == "" {
		h.cells = h.cells[:len(h.cells)-1]
	}
	return nil
}

// known returns how many different fields the cells of a row name, or 0 when none of them
// identifies a person.
func (w words) known(r row) int {
	const longest = 60
	seen := map[meaning]bool{}
	identifies := false
	for _, c := range r.cells {
		if len(c.raw) > longest {
			continue
		}
		if m := w.column(c.String()).meaning; m.field != fieldUnknown {
			seen[m] = true
			identifies = identifies || m.identifies()
		}
	}
	if !identifies {
		return 0
	}
	return len(seen)
}

// chosenSeparator reads the line "sep=;" that sets the separator for Excel, and returns
// where the next line starts.
func chosenSeparator(text []byte) (separator string, rest int, ok bool) {
	end := bytes.IndexAny(text, "\r\n")
	if end < 0 || end > len(`"sep=;"`) {
		return "", 0, false
	}
	separator, ok = strings.CutPrefix(strings.ToLower(strings.Trim(string(text[:end]), `"`)), "sep=")
	if !ok || len(separator) != 1 {
		return "", 0, false
	}
	for end < len(text) && (text[end] == '\r' || text[end] == '\n') {
		end++
	}
	return separator, end, true
}
