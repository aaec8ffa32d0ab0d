package source

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// table reads the people of a text with separated values.
type table struct {
	header

	text   []byte
	layout layout
	region string
	count  int
	keys   keyUse
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
	return t, f.survey(t, o.calendar())
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
	t.layout.fill(&d, r.cells)
	rec := t.keys.drop(d.record(r.number), t.layout.source)
	rec.UnknownLayout = t.layout.unknown
	return rec
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

// survey reads the whole table: how many people it has, how its dates are written, and which
// columns with content are kept in notes or not imported.
func (f *File) survey(t *table, days calendar) error {
	dates := make([]dateColumn, len(t.layout.columns))
	noted, ignored := map[int]bool{}, map[int]bool{}
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
			case c.field == fieldKey:
				t.keys.add(r.cells[i].String())
			case c.field.isDate():
				dates[i].add(r.cells[i].String())
			case c.field == fieldStreet || c.field == fieldWholeAddress || c.field == fieldPostcode:
				streets = true
			case c.field == fieldUnknown && !isDefault(r.cells[i].String()):
				noted[i] = true
			case c.field == fieldIgnored && !c.chosen && !c.isLabel && !isDefault(r.cells[i].String()):
				ignored[i] = true
			}
		}
	}
	if t.count == 0 {
		return fault.New(fault.Invalid, "the file has a header, but no people below it")
	}
	f.warn(t.keys.end())
	f.warn(t.layout.doubled())
	f.warn(t.layout.named("Columns that are not recognised and are kept in a note of each person: %s.", noted))
	f.warn(t.layout.named("Columns that were not imported: %s.", ignored))
	for _, warning := range t.layout.readDates(dates, days) {
		f.warn(warning)
	}
	if streets {
		f.warn(streetWarning)
	}
	return nil
}

// streetWarning is for all formats with postal addresses.
const streetWarning = "The town, region and country of a postal address become the place of the person; the address itself is kept in a note."

// isDefault reports whether a value is what Outlook writes into empty columns.
func isDefault(cell string) bool {
	switch strings.ToLower(cell) {
	case "normal", "false", "unspecified", "smtp", "0", "0/0/00", "0/0/0000", "00.00.00", "00.00.0000", "falsch", "faux", "falso":
		return true
	}
	return false
}

// dateColumn is what the dates in a column show about how they are written.
type dateColumn struct {
	// dayFirst and monthFirst are set if a date can only be read so.
	dayFirst, monthFirst bool
	// ambiguous is the first date that can be read in either way; dots reports whether it has dots.
	ambiguous string
	dots      bool
	// months are how many of the months in words each language has.
	months map[string]int
}

// add reads a date.
func (c *dateColumn) add(value string) {
	const longest = 60
	value = strings.TrimSpace(value)
	if len(value) > longest {
		return
	}
	if parts := threeParts.FindStringSubmatch(value); parts != nil {
		first, _ := strconv.Atoi(parts[1])
		second, _ := strconv.Atoi(parts[3])
		switch {
		case first == 0 || second == 0 || first > 31 || second > 31:
		case first > 12 && second <= 12:
			c.dayFirst = true
		case second > 12 && first <= 12:
			c.monthFirst = true
		case c.ambiguous == "" && first != second:
			c.ambiguous, c.dots = value, parts[2] == "."
		}
		return
	}
	for _, word := range dateWords(value) {
		for language := range monthNames()[word] {
			if c.months == nil {
				c.months = map[string]int{}
			}
			c.months[language]++
		}
	}
}

// threeParts are dates of three numbers that do not begin with a year of four digits.
var threeParts = regexp.MustCompile(`^\s*(\d{1,2})\s*([./-])\s*(\d{1,2})\s*[./-]\s*(?:\d{2}|\d{4})(?:\D|$)`)

// order returns the order that the dates show, if they do.
func (c *dateColumn) order() (order dayOrder, known bool) {
	if c.dayFirst == c.monthFirst {
		return monthFirst, false
	}
	if c.dayFirst {
		return dayFirst, true
	}
	return monthFirst, true
}

// readDates decides how the dates of each column are read: as the options say, otherwise as the
// dates in the column show, those in other columns, the language of the header, and the member's
// locale. It returns warnings about dates that are ambiguous.
func (l *layout) readDates(dates []dateColumn, days calendar) []string {
	var all dateColumn
	months := map[string]int{}
	for _, d := range dates {
		all.dayFirst, all.monthFirst = all.dayFirst || d.dayFirst, all.monthFirst || d.monthFirst
		for language, n := range d.months {
			months[language] += n
		}
	}
	var headers []string
	for _, c := range l.columns {
		headers = append(headers, c.header)
	}
	language := languageOf(headers)
	languages := days.languages
	if language != "" {
		languages = append([]string{language}, languages...)
	}
	languages = append(likeliest(months), languages...)
	var warnings []string
	for i := range dates {
		c := days
		c.languages = languages
		why := "the language and country of your settings say so"
		order, here := dates[i].order()
		other, elsewhere := all.order()
		switch {
		case days.forDots:
			why = "as the option date_order says"
		case here:
			c.order, c.known, c.forDots, why = order, true, true, "other dates in the column can only be read so"
		case elsewhere:
			c.order, c.known, c.forDots, why = other, true, true, "dates in another column can only be read so"
		case language != "":
			c.order, c.known = orderIn(language, "")
			why = "the header is in a language that writes them so"
		case !days.known:
			why = "this is assumed"
		}
		l.columns[i].days = c
		d := dates[i]
		if d.ambiguous == "" || days.forDots || len(warnings) == maxWarnings {
			continue
		}
		if order := c.orderAt(separatorOf(d.ambiguous)); !d.dots || order != dayFirst { // with dots, days come first nearly everywhere
			name := map[dayOrder]string{monthFirst: "month/day/year", dayFirst: "day/month/year", yearFirst: "year/month/day"}[order]
			warnings = append(warnings, fmt.Sprintf("Column %s: dates such as %s were read as %s: %s. Set the order of dates if that is wrong.",
				shown(l.columns[i].name(i+1)), shown(d.ambiguous), name, why))
		}
	}
	return warnings
}

// separatorOf returns the first separator of a date of numbers.
func separatorOf(date string) byte { return strings.TrimLeft(date, "0123456789 ")[0] }

// likeliest returns the language in which all or most of the names of months are; none if two have
// the same number.
func likeliest(months map[string]int) []string {
	most, best := 0, []string(nil)
	for language, n := range months {
		switch {
		case n > most:
			most, best = n, []string{language}
		case n == most:
			best = append(best, language)
		}
	}
	if len(best) != 1 {
		return nil
	}
	return best
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
