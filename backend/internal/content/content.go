// Package content reads and writes the content lines of vCard (RFC 6350, section 3) and iCalendar (RFC 5545, section 3.1).
package content

import (
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// MaxLines is how many content lines Parse reads, MaxParameters how many parameters of one line.
const (
	MaxLines      = 10_000
	MaxParameters = 100
)

// maxLine is the maximum length of a content line in octets, without its end (RFC 6350, section 3.2).
const maxLine = 75

// Line is a content line without folds.
type Line struct {
	// Group and Name are as in the text. Group is empty for none.
	Group, Name string
	Parameters  []Parameter
	// Value is the value with its escapes.
	Value string
}

// Parameter is a parameter of a content line. Its values have no quotation marks.
type Parameter struct {
	Name   string
	Values []string
}

// Parse returns the content lines of a text. Blank lines are left out. Parameters without a valid name are left out. It fails with fault.Invalid for a line
// without a colon or a valid name, and if there are more than MaxLines lines or MaxParameters parameters.
func Parse(text string) ([]Line, error) {
	var lines []Line
	for line, err := range Lines(text) {
		if err == nil && len(lines) == MaxLines {
			err = fault.New(fault.Invalid, "there are more than %d lines", MaxLines)
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// Lines returns the content lines of a text one by one, as Parse does but without a limit of lines. A line that can't be read comes
// with its error instead, and the lines after it follow.
func Lines(text string) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for unfolded := range strings.SplitSeq(unfold(text), "\n") {
			if strings.TrimSpace(unfolded) != "" && !yield(parseLine(unfolded)) {
				return
			}
		}
	}
}

// unfold joins the parts of folded lines, and ends each line with a line feed.
func unfold(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(text, "\ufeff"))
	return strings.NewReplacer("\n ", "", "\n\t", "").Replace(text)
}

func parseLine(text string) (Line, error) {
	head, value, ok := cutUnquoted(text, ':')
	if !ok {
		return Line{}, fault.New(fault.Invalid, "a line has no colon")
	}
	name, rest, more := strings.Cut(head, ";")
	line := Line{Name: strings.TrimSpace(name), Value: value}
	if dot := strings.LastIndexByte(line.Name, '.'); dot >= 0 {
		line.Group, line.Name = line.Name[:dot], line.Name[dot+1:]
	}
	if !isName(line.Name) || line.Group != "" && !isName(line.Group) {
		return Line{}, fault.New(fault.Invalid, "a line does not begin with the name of a property")
	}
	for more {
		var parameter string
		parameter, rest, more = cutUnquoted(rest, ';')
		if len(line.Parameters) == MaxParameters {
			return Line{}, fault.New(fault.Invalid, "a line has more than %d parameters", MaxParameters)
		}
		if p := parseParameter(parameter); isName(p.Name) {
			line.Parameters = append(line.Parameters, p)
		}
	}
	return line, nil
}

// isName reports whether a text can be the name of a group, a property or a parameter.
func isName(text string) bool {
	return text != "" && strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) < 0
}

// parseParameter reads a parameter. One without a name is a type, as in vCard 2.1.
func parseParameter(text string) Parameter {
	name, values, named := strings.Cut(text, "=")
	if !named {
		name, values = "TYPE", text
	}
	p := Parameter{Name: strings.TrimSpace(name)}
	for more := true; more; {
		var value string
		value, values, more = cutUnquoted(values, ',')
		p.Values = append(p.Values, strings.ReplaceAll(value, `"`, ""))
	}
	return p
}

// cutUnquoted is strings.Cut around the first separator that is not between quotation marks. If a mark is not closed, it separates
// nothing.
func cutUnquoted(text string, separator byte) (before, after string, found bool) {
	quoted := false
	for i := range len(text) {
		switch {
		case text[i] == '"' && (quoted || strings.IndexByte(text[i+1:], '"') >= 0):
			quoted = !quoted
		case text[i] == separator && !quoted:
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// Values returns the values of all parameters of a name, in any case of letters.
func (l Line) Values(parameter string) (values []string, found bool) {
	for _, p := range l.Parameters {
		if strings.EqualFold(p.Name, parameter) {
			values, found = append(values, p.Values...), true
		}
	}
	return values, found
}

// String returns the line without folds and without its end.
func (l Line) String() string {
	var b strings.Builder
	if l.Group != "" {
		b.WriteString(l.Group + ".")
	}
	b.WriteString(l.Name)
	for _, p := range l.Parameters {
		b.WriteString(";" + p.Name + "=")
		for i, value := range p.Values {
			if i > 0 {
				b.WriteByte(',')
			}
			if strings.ContainsAny(value, ",;:=") {
				value = `"` + value + `"`
			}
			b.WriteString(value)
		}
	}
	return b.String() + ":" + l.Value
}

// WriteLine writes a content line, folded between characters, with its end.
func WriteLine(b *strings.Builder, line string) {
	room := maxLine
	for len(line) > room {
		cut := room
		for cut > room-utf8.UTFMax && !utf8.RuneStart(line[cut]) {
			cut--
		}
		b.WriteString(line[:cut] + "\r\n ")
		line = line[cut:]
		room = maxLine - 1 // the space counts
	}
	b.WriteString(line + "\r\n")
}

// A replacer is made once: that takes longer than to use it.
var (
	escaper   = strings.NewReplacer(`\`, `\\`, ",", `\,`, ";", `\;`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`)
	unescaper = strings.NewReplacer(`\\`, `\`, `\,`, ",", `\;`, ";", `\n`, "\n", `\N`, "\n", `\:`, ":")
)

// Escape writes a text value (RFC 6350, section 3.4).
func Escape(s string) string { return escaper.Replace(s) }

// Unescape reads a text value.
func Unescape(s string) string { return unescaper.Replace(s) }
