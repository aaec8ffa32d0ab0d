package source

import (
	"bytes"
	"fmt"
	"strings"
)

// scanner reads the rows of a text with separated values, in the form of RFC 4180 and in
// the forms that programs write: any line ends, quotation marks that are not doubled,
// blanks before a quotation mark.
//
// A quotation mark that is opened and never closed would swallow all that follows. So the
// scanner gives up a cell that has no end, or that is long or closed wrongly and contains
// lines that are rows by themselves. That row is broken, and the scanner continues at the
// next line that is a row by itself. The bytes that it may read in vain are limited;
// otherwise a file of such cells would take quadratic time.
type scanner struct {
	text  []byte
	comma byte
	// eol ends a line: LF, or CR in a text without LF.
	eol byte
	// width is how many cells the header has; 0 when it is not known yet.
	width int

	at     int // where the next row starts
	line   int // the line of the text there, from 1
	number int // of the last row, from 1
	wasted int // bytes read in vain
	cells  []cell
	first  firstLine
	judge  judge
}

// cell is a cell as it stands in the text, without the quotation marks around it.
type cell struct {
	raw []byte
	// quoted reports whether quotation marks within are doubled.
	quoted bool
}

// row is a row of the table; its cells are good until the next one is read.
type row struct {
	// number counts rows, blank ones too; line is where the row starts.
	number, line int
	cells        []cell
	// broken is what is wrong with the row; empty when it can be read.
	broken string
	// at is where the row starts in the text.
	at int
}

// firstLine is the data about the line that a row starts on.
type firstLine struct {
	known bool
	// closer is the position of the last quotation mark that may close a cell.
	closer int
	// isRow reports whether the line is a row by itself.
	isRow bool
}

// judge counts the lines that a row goes on for, and those of them that are rows
// by themselves, up to at.
type judge struct{ at, lines, rows int }

// The size above which the scanner checks whether a cell is unclosed: in line ends and, once it has
// read much in vain, in bytes.
const (
	manyLines = 50
	manyBytes = 64 << 10
)

func newScanner(text []byte, comma byte) *scanner {
	s := &scanner{text: text, comma: comma, eol: '\n', line: 1}
	if bytes.IndexByte(text, '\n') < 0 {
		s.eol = '\r'
	}
	return s
}

// String is the text of the cell, without the apostrophe or the formula that marks text
// for spreadsheets.
func (c cell) String() string {
	s := strings.TrimSpace(string(c.raw))
	if c.quoted {
		s = strings.ReplaceAll(s, `""`, `"`)
	}
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	}
	if bare := strings.TrimLeft(s, "'"); bare != "" && bare != s && strings.IndexByte("=+-@\t", bare[0]) >= 0 {
		return s[1:]
	}
	if formula, ok := strings.CutPrefix(s, `="`); ok && strings.HasSuffix(formula, `"`) && strings.Count(formula, `"`) == 1 {
		return formula[:len(formula)-1]
	}
	return s
}

// blank reports whether the cell shows nothing.
func (c cell) blank() bool { return len(bytes.Trim(c.raw, " \t\r\n\v\f\x00\u00a0")) == 0 }

// next reads the next row; false at the end.
func (s *scanner) next() (row, bool) {
	if s.at >= len(s.text) {
		return row{}, false
	}
	s.number++
	r := row{number: s.number, line: s.line, at: s.at}
	s.cells, s.first, s.judge = s.cells[:0], firstLine{}, judge{}
	at := s.at
	for {
		c, end, ok := s.cell(r.at, at)
		if !ok {
			s.recover(r.at)
			r.broken = "opens a quotation mark that is never closed"
			if s.line > r.line+1 {
				r.broken += fmt.Sprintf("; it and those up to line %d were left out", s.line-1)
			}
			return r, true
		}
		if len(c.raw) > maxCell {
			r.broken = "has a cell of more than 1 MB"
			c = cell{}
		}
		if len(s.cells) <= maxColumns {
			s.cells = append(s.cells, c)
		}
		if end < len(s.text) && s.text[end] == s.comma {
			at = end + 1
			continue
		}
		s.at = s.afterLine(end)
		break
	}
	s.line += bytes.Count(s.text[r.at:s.at], []byte{s.eol})
	r.cells = s.cells
	return r, true
}

// cell reads the cell at at, of the row that starts at start, and returns where it
// ends: at a separator, a line end or the end of the text.
func (s *scanner) cell(start, at int) (cell, int, bool) {
	open := at
	for open < len(s.text) && s.text[open] == ' ' {
		open++
	}
	if open < len(s.text) && s.text[open] == '"' {
		if c, end, ok, quoted := s.quoted(start, open); quoted {
			return c, end, ok
		}
	}
	end := s.plainEnd(at)
	return cell{raw: s.text[at:end]}, end, true
}

// plainEnd returns where the cell without quotation marks at at ends.
func (s *scanner) plainEnd(at int) int {
	for at < len(s.text) && s.text[at] != s.comma && s.text[at] != '\n' && s.text[at] != '\r' {
		at++
	}
	return at
}

// quoted reads a cell in quotation marks. It is not quoted when the mark belongs to the
// text, as in "Bob" Smith; ok is false when it has no end.
func (s *scanner) quoted(start, open int) (c cell, end int, ok, quoted bool) {
	limit := len(s.text)
	if s.impatient() {
		limit = min(limit, open+manyBytes)
	}
	lines, at, doubled := 0, open+1, false
	for {
		to := bytes.IndexByte(s.text[min(at, limit):limit], '"')
		if to < 0 {
			s.wasted += limit - open
			return cell{}, limit, false, true
		}
		lines += bytes.Count(s.text[at:at+to], []byte{s.eol})
		at += to + 1
		end, closes := s.closes(at)
		switch {
		case at < len(s.text) && s.text[at] == '"':
			doubled = true
			at++
		case closes && (lines <= manyLines || s.swallowed(start, lines, at) < nearlyAll):
			return cell{s.text[open+1 : at-1], doubled}, end, true, true
		case closes || lines > 0 && (s.opens(at) || lines > manyLines) && s.swallowed(start, lines, at) >= half:
			s.wasted += at - open
			return cell{}, at, false, true
		case lines == 0 && s.isPlain(start, at):
			return cell{}, 0, false, false
		}
	}
}

// closes reports whether a quotation mark before at ends its cell, and then where the cell
// ends: blanks may follow.
func (s *scanner) closes(at int) (int, bool) {
	for at < len(s.text) && s.text[at] == ' ' {
		at++
	}
	return at, at >= len(s.text) || s.text[at] == s.comma || s.text[at] == '\n' || s.text[at] == '\r'
}

// isPlain reports whether a cell whose opening quotation mark is not closed on its line is
// text without quotation marks around it: its line is a row then.
func (s *scanner) isPlain(start, at int) bool {
	if !s.first.known {
		end := s.lineEnd(start)
		s.first = firstLine{true, s.lastCloser(start, end), s.width > 0 && s.count(start, end) == s.width}
	}
	return s.first.isRow && s.first.closer < at
}

// lastCloser returns where the last quotation mark of a line is that may close a
// cell.
func (s *scanner) lastCloser(from, to int) int {
	for at := to - 1; at > from; at-- {
		if s.text[at] == '"' {
			if _, closes := s.closes(at + 1); closes {
				return at
			}
		}
	}
	return -1
}

func (s *scanner) impatient() bool { return s.wasted > len(s.text) }

// opens reports whether a quotation mark before at looks like one that opens a cell.
func (s *scanner) opens(at int) bool {
	before := s.text[at-2]
	return before == s.comma || before == '\n' || before == '\r'
}

// Shares of the lines of a cell that are rows by themselves, in percent.
const (
	half      = 50
	nearlyAll = 90
)

// swallowed returns the share of lines before to that are rows by themselves, of
// those that the row at start goes on for: in a note hardly any lines are rows; in rows that a cell
// has swallowed, nearly all are.
func (s *scanner) swallowed(start, lines, to int) int {
	if s.width == 0 || s.impatient() && lines > manyLines {
		return 100
	}
	if s.judge.at == 0 {
		s.judge.at = s.afterLine(s.lineEnd(start))
	}
	for s.judge.at < to {
		end := s.lineEnd(s.judge.at)
		s.judge.lines++
		if s.count(s.judge.at, end) == s.width {
			s.judge.rows++
		}
		s.judge.at = s.afterLine(end)
	}
	return s.judge.rows * 100 / max(s.judge.lines, 1)
}

// recover moves to the next line after the one at start that is a row by itself.
func (s *scanner) recover(start int) {
	s.at = s.afterLine(s.lineEnd(start))
	s.line++
	for s.at < len(s.text) {
		end := s.lineEnd(s.at)
		if s.width <= 1 || s.count(s.at, end) == s.width {
			return
		}
		s.at = s.afterLine(end)
		s.line++
		s.number++
	}
}

// lineEnd returns where the line at at ends.
func (s *scanner) lineEnd(at int) int {
	to := bytes.IndexByte(s.text[at:], s.eol)
	if to < 0 {
		return len(s.text)
	}
	for to > 0 && s.text[at+to-1] == '\r' {
		to--
	}
	return at + to
}

// afterLine returns where the line after the line end at end starts.
func (s *scanner) afterLine(end int) int {
	if s.eol == '\r' {
		return min(end+1, len(s.text))
	}
	at := end
	for at < len(s.text) && s.text[at] == '\r' {
		at++
	}
	if at < len(s.text) && s.text[at] == '\n' {
		return at + 1
	}
	return max(at, min(end+1, len(s.text)))
}

// count returns how many cells a line has, or -1 when one of them does not end on
// it.
func (s *scanner) count(from, to int) int {
	closer := s.lastCloser(from, to)
	for cells := 1; ; cells++ {
		end := s.cellEnd(from, to, &closer)
		if end < 0 {
			return -1
		}
		if end >= to {
			return cells
		}
		from = end + 1
	}
}

// cellEnd returns where the cell at from ends, within a line that ends at to and
// whose last closing quotation mark is at closer; -1 when it does not. If no quotation mark closes
// the cell, closer becomes -1, so that the line is not searched again.
func (s *scanner) cellEnd(from, to int, closer *int) int {
	plain := bytes.IndexByte(s.text[from:to], s.comma)
	if plain < 0 {
		plain = to - from
	}
	cell := s.text[from : from+plain]
	trimmed := bytes.TrimLeft(cell, " ")
	if len(trimmed) == 0 || trimmed[0] != '"' {
		return from + plain
	}
	for at := from + plain - len(trimmed) + 1; at <= *closer; at++ {
		if s.text[at] != '"' {
			continue
		}
		if at+1 < to && s.text[at+1] == '"' {
			at++
		} else if end, closes := s.closes(at + 1); closes {
			return end
		}
	}
	*closer = -1
	if bytes.Count(cell, []byte{'"'})%2 == 0 {
		return from + plain
	}
	return -1
}
