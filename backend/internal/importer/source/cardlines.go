package source

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// cardLines reads the content lines of vCards: unfolded, without the soft line breaks of
// quoted-printable values.
type cardLines struct {
	text []byte
	at   int
	// old is for vCard 2.1, where folding adds no blank.
	old bool
	buf []byte
}

// next returns the next content line that is not blank, and false at the end. The line is
// valid until the next call. Of a value that is too long, next returns only the beginning.
func (l *cardLines) next() ([]byte, bool) {
	first, ok := l.physical()
	for ok && len(bytes.TrimSpace(first)) == 0 {
		first, ok = l.physical()
	}
	if !ok {
		return nil, false
	}
	l.buf = append(l.buf[:0], first[:min(len(first), maxCell+maxHead+1)]...)
	kind := valueUnknown
	for {
		if kind == valueUnknown {
			kind = kindOfValue(l.buf)
		}
		switch more := l.peek(); {
		case more == 0:
			return l.buf, true
		case kind == valueQuoted && isSoftBreak(l.buf) && !l.atEdge():
			l.buf = l.buf[:lastVisible(l.buf)]
			l.extend(0)
		case more != ' ' && more != '\t':
			return l.buf, true
		case l.old && !l.insideCharacter():
			l.extend(0)
		default:
			l.extend(1)
		}
	}
}

// insideCharacter reports whether a line was folded between the bytes of a character in UTF-8:
// the next line has the missing bytes after its blank.
func (l *cardLines) insideCharacter() bool {
	for back := 1; back < utf8.UTFMax && back <= len(l.buf); back++ {
		first := l.buf[len(l.buf)-back:]
		if !utf8.RuneStart(first[0]) {
			continue
		}
		if first[0] < utf8.RuneSelf || utf8.FullRune(first) || l.at+1 >= len(l.text) {
			return false
		}
		rest := l.text[l.at+1:]
		whole := append(bytes.Clone(first), rest[:min(len(rest), utf8.UTFMax-1)]...)
		r, size := utf8.DecodeRune(whole)
		return r != utf8.RuneError && size > back
	}
	return false
}

// extend appends the next physical line without its first bytes.
func (l *cardLines) extend(without int) {
	part, _ := l.physical()
	part = part[without:]
	l.buf = append(l.buf, part[:min(len(part), max(maxCell+maxHead+1-len(l.buf), 0))]...)
}

// physical returns the next line of the text.
func (l *cardLines) physical() ([]byte, bool) {
	if l.at >= len(l.text) {
		return nil, false
	}
	rest := l.text[l.at:]
	end := bytes.IndexAny(rest, "\r\n")
	if end < 0 {
		l.at = len(l.text)
		return rest, true
	}
	l.at += end
	for l.at < len(l.text) && l.text[l.at] == '\r' {
		l.at++
	}
	if l.at < len(l.text) && l.text[l.at] == '\n' {
		l.at++
	}
	return rest[:end], true
}

// peek returns the first byte of the next line, or 0 at the end of the text.
func (l *cardLines) peek() byte {
	if l.at >= len(l.text) {
		return 0
	}
	return l.text[l.at]
}

// atEdge reports whether the next line begins or ends a card: no value continues there.
func (l *cardLines) atEdge() bool {
	rest := l.text[l.at:]
	return isEdge(rest, "END:VCARD") || isEdge(rest, "BEGIN:VCARD")
}

// isEdge reports whether a line begins or ends a card.
func isEdge(line []byte, edge string) bool {
	for len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
		line = line[1:]
	}
	line = bytes.TrimPrefix(line, []byte("\ufeff"))
	return len(line) >= len(edge) && strings.EqualFold(string(line[:len(edge)]), edge)
}

// maxHead limits the part of a content line before its value.
const maxHead = 4096

// valueKind returns the encoding of a line's value, once its head is complete.
type valueKind int

const (
	valueUnknown valueKind = iota
	valuePlain
	valueQuoted
)

func kindOfValue(line []byte) valueKind {
	head := line[:min(len(line), maxHead)]
	colon := bytes.IndexByte(head, ':')
	switch {
	case colon < 0 && len(line) < maxHead:
		return valueUnknown
	case colon >= 0 && bytes.Contains(bytes.ToUpper(head[:colon]), []byte("QUOTED-PRINTABLE")):
		return valueQuoted
	}
	return valuePlain
}

// isSoftBreak reports whether a quoted-printable value continues on the next line.
func isSoftBreak(line []byte) bool {
	last := lastVisible(line)
	return last >= 0 && line[last] == '='
}

// lastVisible returns the position of the last byte of a line, ignoring a few blanks that
// mail programs add; -1 if there is none.
func lastVisible(line []byte) int {
	const few = 3
	at := len(line) - 1
	for blanks := 0; at >= 0 && blanks < few && (line[at] == ' ' || line[at] == '\t'); blanks++ {
		at--
	}
	return at
}
