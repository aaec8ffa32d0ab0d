package source

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// rowReader reads the rows of a text with separated values with encoding/csv: strictly, and if that
// fails, with its LazyQuotes, which keep quotation marks that are not doubled.
//
// A quotation mark that is opened and never closed would swallow all that follows. Two guards detect
// that: the text ends within the cell, or lines of the cell are rows by themselves. The row is broken
// then, and the reader continues at the next line that is a row by itself.
type rowReader struct {
	// text has LF line ends, see unixLines.
	text  []byte
	comma byte
	// width is how many cells the header has; 0 when it is not known yet.
	width int

	at     int // where the next row starts
	line   int // the line of the text there, from 1
	number int // of the last row, from 1; blank rows count
	// strict reads from base on; nil if it has to start anew.
	strict *csv.Reader
	base   int
	// strictBuffer and lineBuffer are used again for each csv.Reader.
	strictBuffer, lineBuffer *bufio.Reader
	// wasted is how many bytes were read in vain.
	wasted int
}

// row is a row of the table; its cells are valid until the next one is read.
type row struct {
	// number counts rows, blank ones too; line is where the row starts.
	number, line int
	// cells are without what only spreadsheets need; see bareCell.
	cells []string
	// broken is what is wrong with the row; empty when it can be read.
	broken string
}

const (
	// manyLines is how many lines a well-formed cell has before they are checked.
	manyLines = 50
	// half and nearlyAll are shares of the lines of a cell that are rows by themselves, in percent.
	half      = 50
	nearlyAll = 90
	// impatientBytes is how far a badly quoted row may go on once much was read in vain; otherwise a
	// file of such rows would take quadratic time.
	impatientBytes = 2 << 10
	// maxSeparators is how many separators a line may have: each cell takes more memory than its text.
	maxSeparators = 10 * maxColumns
)

func newRowReader(text []byte, comma byte) *rowReader {
	return &rowReader{text: text, comma: comma, line: 1, strictBuffer: bufio.NewReader(nil), lineBuffer: bufio.NewReader(nil)}
}

// unixLines returns text with LF line ends. CR CR LF, which some programs write, is one line end.
func unixLines(text []byte) []byte {
	if bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	for _, end := range []string{"\r\r\n", "\r\n", "\r"} {
		text = bytes.ReplaceAll(text, []byte(end), []byte{'\n'})
	}
	return text
}

// next reads the next row that is not empty; false at the end.
func (r *rowReader) next() (row, bool) {
	for r.at < len(r.text) && r.text[r.at] == '\n' {
		r.at, r.line, r.number = r.at+1, r.line+1, r.number+1
	}
	if r.at == len(r.text) {
		return row{}, false
	}
	r.number++
	out := row{number: r.number, line: r.line}
	end := r.lineEnd(r.at)
	line := r.text[r.at:end]
	isLong := func(cell []byte) bool { return len(cell) > maxCell }
	switch {
	case bytes.Count(line, []byte{r.comma}) > maxSeparators:
		out.broken = fmt.Sprintf("has more than %d cells", maxColumns)
	case len(line) > maxCell && slices.ContainsFunc(bytes.Split(line, []byte{r.comma}), isLong):
		out.broken = "has a cell of more than 1 MB"
	default:
		var ok bool
		if out.cells, end, ok = r.read(end); !ok {
			r.recover()
			out.cells = nil
			out.broken = "opens a quotation mark that is never closed"
			if r.line > out.line+1 {
				out.broken += fmt.Sprintf("; it and those up to line %d were left out", r.line-1)
			}
			return out, true
		}
	}
	for i, c := range out.cells {
		if len(c) > maxCell {
			out.cells, out.broken = nil, "has a cell of more than 1 MB"
			break
		}
		out.cells[i] = bareCell(c)
	}
	if out.broken != "" {
		r.strict = nil
	}
	r.line += bytes.Count(r.text[r.at:end], []byte{'\n'})
	r.at = end
	return out, true
}

// read reads the row whose first line ends at lineEnd, and returns where the row ends; false if a
// cell swallows other rows.
func (r *rowReader) read(lineEnd int) (cells []string, end int, ok bool) {
	if r.strict == nil {
		r.strictBuffer.Reset(bytes.NewReader(r.text[r.at:]))
		r.strict, r.base = r.reader(r.strictBuffer, false), r.at
	}
	cells, err := r.strict.Read()
	if end = r.base + int(r.strict.InputOffset()); err == nil {
		lines := bytes.Count(r.text[r.at:end], []byte{'\n'})
		return cells, end, lines <= manyLines || r.swallowed(lineEnd, end) < nearlyAll
	}
	r.strict = nil
	if cells, ok = r.oneLine(r.text[r.at:lineEnd]); ok {
		return cells, lineEnd, true
	}
	window := r.text[r.at:]
	if r.wasted > len(r.text) {
		window = window[:min(len(window), impatientBytes)]
	}
	cells, n, ok := r.parse(window, true)
	end = r.at + n
	if clean := withoutBlanks(window[:n]); len(clean) < n {
		if cells, n, ok = r.parse(clean, true); n < len(clean) {
			end = r.at
			for range bytes.Count(clean[:n], []byte{'\n'}) { // the same line, before it was cleaned
				end = r.lineEnd(end)
			}
		}
	}
	if ok && end > lineEnd {
		rest := r.text[lineEnd:end]
		doubtful := bytes.Count(rest, []byte{'\n'}) > manyLines || opensCell.Match(rest)
		ok = !doubtful || r.swallowed(lineEnd, end) < half
	}
	if !ok {
		r.wasted += end - r.at
	}
	return cells, end, ok
}

var (
	// blanksAfterQuote are before a separator, where encoding/csv allows none.
	blanksAfterQuote = regexp.MustCompile(`" +([,;\t|\n]|$)`)
	// opensCell is a quotation mark that looks as if it opened a cell.
	opensCell = regexp.MustCompile(`(?:^|[,;\t|\n])"[^",;\t|\n]`)
)

func (r *rowReader) reader(from *bufio.Reader, lazy bool) *csv.Reader {
	c := csv.NewReader(from)
	c.Comma, c.LazyQuotes, c.FieldsPerRecord, c.ReuseRecord = rune(r.comma), lazy, -1, true
	c.TrimLeadingSpace = r.comma != '\t' // it would trim empty cells
	return c
}

// withoutBlanks returns text without the blanks between quotation marks and separators. Few lines have any, and the
// regular expression costs more than the rest of a row.
func withoutBlanks(text []byte) []byte {
	if !bytes.Contains(text, []byte(`" `)) {
		return text
	}
	return blanksAfterQuote.ReplaceAll(text, []byte(`"$1`))
}

// oneLine reads a line that encoding/csv refuses: with blanks after the quotation marks, or as a row of the
// header's width with other quotation marks in it.
func (r *rowReader) oneLine(line []byte) ([]string, bool) {
	line = withoutBlanks(line)
	if cells, _, ok := r.parse(line, false); ok {
		return cells, true
	}
	if cells, _, ok := r.parse(line, true); ok && len(cells) == r.width {
		return cells, true
	}
	cells := plainCells(string(line), string(r.comma))
	return cells, len(cells) == r.width
}

// parse reads the row that text begins with, and returns where it ends; false if a cell is open at the
// end of the text.
func (r *rowReader) parse(text []byte, lazy bool) (cells []string, end int, ok bool) {
	const after = "\n." // is not read if the row ends before it
	bare := bytes.TrimRight(text, "\n")
	r.lineBuffer.Reset(io.MultiReader(bytes.NewReader(bare), strings.NewReader(after)))
	c := r.reader(r.lineBuffer, lazy)
	cells, err := c.Read()
	end = int(c.InputOffset())
	return cells, min(end, len(text)), err == nil && end < len(bare)+len(after)
}

// plainCells splits a line in which the quotation marks belong to the text, as in "Bob" Smith; nil if
// one of them opens a cell that does not end on the line.
func plainCells(line, comma string) []string {
	cells := strings.Split(line, comma)
	for _, c := range cells {
		if strings.HasPrefix(strings.TrimLeft(c, " "), `"`) && strings.Count(c, `"`)%2 == 1 {
			return nil
		}
	}
	return cells
}

// swallowed returns the share of the lines of the text between two positions that are rows by
// themselves: in a note hardly any are; in rows that a cell has swallowed, nearly all are.
func (r *rowReader) swallowed(from, to int) int {
	if r.width == 0 {
		return 100
	}
	lines, rows := 0, 0
	for from < to {
		end := r.lineEnd(from)
		if lines++; r.isRow(r.text[from:end]) {
			rows++
		}
		from = end
	}
	return rows * 100 / max(lines, 1)
}

// isRow reports whether a line is a row by itself.
func (r *rowReader) isRow(line []byte) bool {
	if bytes.IndexByte(line, '"') < 0 {
		return bytes.Count(line, []byte{r.comma})+1 == r.width
	}
	cells, ok := r.oneLine(line)
	return ok && len(cells) == r.width
}

// recover moves to the next line after the present one that is a row by itself.
func (r *rowReader) recover() {
	r.strict = nil
	for r.at, r.line = r.lineEnd(r.at), r.line+1; r.at < len(r.text) && r.width > 1; r.number, r.line = r.number+1, r.line+1 {
		end := r.lineEnd(r.at)
		if r.isRow(r.text[r.at:end]) {
			return
		}
		r.at = end
	}
}

// lineEnd returns where the line after the one at a position starts.
func (r *rowReader) lineEnd(at int) int {
	if n := bytes.IndexByte(r.text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(r.text)
}

// bareCell returns a cell without white space around it and without the apostrophe or the formula that
// marks text for spreadsheets. It is empty if the cell shows nothing.
func bareCell(s string) string {
	s = strings.TrimSpace(s)
	if bare := strings.TrimLeft(s, "'"); bare != "" && bare != s && strings.IndexByte("=+-@\t", bare[0]) >= 0 {
		return s[1:]
	}
	if formula, ok := strings.CutPrefix(s, `="`); ok && strings.HasSuffix(formula, `"`) && strings.Count(formula, `"`) == 1 {
		return formula[:len(formula)-1]
	}
	if strings.Trim(s, " \t\n\v\f\x00\u00a0") == "" {
		return ""
	}
	return s
}
