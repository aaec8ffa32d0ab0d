package source

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// table reads the people of a text with separated values.
type table struct {
	header

	file   *File
	text   []byte
	layout layout
	region string
}

// openTable finds the header of a table, the meaning of its columns, and the columns that
// are not imported.
func (f *File) openTable(text []byte, o Options) error {
	text = unixLines(text)
	h, err := findHeader(text, o.Draft || len(o.Columns) > 0)
	if err != nil {
		return err
	}
	if o.Format == "" {
		o.Format = h.format()
	}
	f.Format = o.Format
	t := &table{header: h, file: f, text: text, layout: layoutOf(o.Format, h), region: o.DefaultRegion}
	t.layout.customFields(f.fields)
	if err := t.layout.choose(o.Columns); err != nil {
		return err
	}
	if err := t.layout.check(o.Format); err != nil && !o.Draft {
		return err
	}
	f.table, f.records = t, t.records
	return f.survey(t, o.calendar())
}

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
	rows := t.reader(t.text)
	_, _ = rows.next() // the header
	for r, ok := rows.next(); ok; r, ok = rows.next() {
		if !r.blank() && !yield(r) {
			return
		}
	}
}

// blank distinguishes a row that shows nothing from one that is broken.
func (r row) blank() bool {
	return r.broken == "" && strings.Join(r.cells, "") == ""
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
	d := draft{region: t.region, fields: t.file.fields}
	t.layout.fill(&d, r.cells)
	rec := t.file.keyed(d.record(r.number, t.layout.source == Kith), t.layout.source)
	rec.UnknownLayout = t.layout.unknown
	return rec
}

// tooWide reports whether a row has content in cells without a column.
func (t *table) tooWide(r row) bool {
	return len(r.cells) > len(t.layout.columns) && strings.Join(r.cells[len(t.layout.columns):], "") != ""
}

// survey reads the whole table: how many people it has, how its dates are written, and which
// columns with content are kept in notes.
func (f *File) survey(t *table, days calendar) error {
	dates := make([]dateColumn, len(t.layout.columns))
	noted := map[int]bool{}
	for r := range t.rows {
		if err := f.count("people"); err != nil {
			return err
		}
		for i, c := range t.layout.columns {
			if i >= len(r.cells) || r.broken != "" || r.cells[i] == "" {
				continue
			}
			switch {
			case c.field == fieldKey:
				f.keys.add(r.cells[i])
			case c.field.isDate():
				dates[i].add(r.cells[i])
			case c.field == fieldUnknown && !isDefault(r.cells[i]):
				noted[i] = true
			}
		}
	}
	if f.total == 0 {
		return fault.New(fault.Invalid, "the file has a header, but no people below it")
	}
	for i, c := range t.layout.columns {
		t.layout.columns[i].blank = c.field == fieldUnknown && !noted[i]
		t.layout.columns[i].as = Value{Name: shown(c.name(i + 1)), Field: nameOf(c.meaning)}
		if c.field == fieldUnknown {
			t.layout.columns[i].as.Field = FieldNote
		}
	}
	f.endKeys()
	f.warn(t.layout.doubled())
	f.warn(t.layout.named("Columns that are not recognised and are kept in a note of each person: %s.", noted))
	for _, warning := range t.layout.readDates(dates, days) {
		f.warn(warning)
	}
	return nil
}

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
	languages = append(mostFrequent(months), languages...)
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

// mostFrequent returns the language in which all or most of the names of months are; none if two have
// the same number.
func mostFrequent(months map[string]int) []string {
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
	// width is how many cells the row has; empty ones at its end are not in cells.
	width int
}

// reader returns a reader that begins with the header.
func (h header) reader(text []byte) *rowReader {
	r := newRowReader(text, h.comma)
	r.at, r.line, r.number, r.width = h.at, h.line, h.number, h.width
	return r
}

// Where the header is looked for: LinkedIn has a text of some lines before it.
const (
	mostBefore = 100
	headBytes  = 256 << 10
)

// findHeader returns the row with the most known headers, read with the separator that gives the most
// of them. If no header is known and firstRow is set, it is the first row, read with the separator that
// gives it the most cells.
func findHeader(text []byte, firstRow bool) (header, error) {
	best, known := bestHeader(text, knownHeaders, mostBefore)
	if known == 0 && firstRow {
		best, known = bestHeader(text, func(cells []string) int { return len(cells) - 1 }, 1)
	}
	if known == 0 {
		return header{}, fault.New(fault.Invalid,
			"no row names columns that are known here, such as Name, First Name, E-mail or Company; put such a row above the others")
	}
	if best.width > maxColumns {
		return header{}, fault.New(fault.Invalid, "the table has more than %d columns", maxColumns)
	}
	for last := len(best.cells) - 1; last >= 0 && best.cells[last] == ""; last-- {
		best.cells = best.cells[:last]
	}
	return best, nil
}

// bestHeader returns the row with the highest score among the first rows that are not blank, with each
// of the separators, and its score.
func bestHeader(text []byte, score func(cells []string) int, rows int) (best header, most int) {
	separators, start := ",;\t|", 0
	if chosen, rest, ok := chosenSeparator(text); ok {
		separators, start = chosen, rest
	}
	for i := range len(separators) {
		r := newRowReader(text[:min(len(text), start+headBytes)], separators[i])
		r.at = start
		if start > 0 {
			r.line = 2 // which Excel does not count as a row
		}
		for n := 0; n < rows; {
			h := header{comma: separators[i], at: r.at, line: r.line, number: r.number}
			row, ok := r.next()
			if !ok {
				break
			}
			if row.blank() {
				continue
			}
			n++
			if s := score(row.cells); s > most {
				h.cells, h.width = slices.Clone(row.cells), len(row.cells)
				best, most = h, s
			}
		}
	}
	return best, most
}

// knownHeaders returns how many different fields the cells of a row name, or 0 when none of them
// identifies a person.
func knownHeaders(cells []string) int {
	const longest = 60
	seen := map[meaning]bool{}
	identifies := false
	for _, c := range cells {
		if len(c) > longest {
			continue
		}
		if m := columnOf(c).meaning; m.field != fieldUnknown {
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
	line, _, found := bytes.Cut(text[:min(len(text), len("\"sep=;\"\n"))], []byte{'\n'})
	separator, ok = strings.CutPrefix(strings.ToLower(strings.Trim(string(line), `"`)), "sep=")
	if !found || !ok || len(separator) != 1 || separator[0] < ' ' && separator[0] != '\t' || separator[0] >= utf8.RuneSelf {
		return "", 0, false
	}
	return separator, len(line) + 1, true
}
