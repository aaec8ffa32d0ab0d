package source

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/export"
)

// property is a property of a card, with its value as in the file.
type property struct {
	group, name string
	// types are in lower case: TYPE=WORK,CELL and the bare ;WORK;CELL of vCard 2.1.
	types []string
	// own are types that are not of the standards, as in the file: Zweithandy, Oficina for X-Oficina.
	own      []string
	pref     int
	encoding string
	charset  string
	// label is the LABEL of an address.
	label string
	// person is the key of another person, in Kith's own cards.
	person string
	// omitYear is the placeholder by which Apple marks a date without a year.
	omitYear string
	value    []byte
}

// readProperty parses a content line; it returns false when it is not a property.
func readProperty(line []byte) (property, bool) {
	colon := colonOf(line)
	if colon < 0 {
		return property{}, false
	}
	head, parameters, _ := strings.Cut(string(line[:colon]), ";")
	p := property{value: line[colon+1:]}
	p.name = strings.ToUpper(strings.TrimSpace(strings.TrimPrefix(head, "\ufeff")))
	if dot := strings.LastIndexByte(p.name, '.'); dot >= 0 {
		p.group, p.name = p.name[:dot], p.name[dot+1:]
	}
	if !isPropertyName(p.name) {
		return property{}, false
	}
	for _, parameter := range splitOutside(parameters, ';') {
		p.parameter(parameter)
	}
	return p, true
}

// isPropertyName distinguishes a name from the beginning of a sentence with a colon.
func isPropertyName(s string) bool {
	const longest = 60
	for i := range len(s) {
		if !isAlphanumeric(s[i]) && s[i] != '-' && s[i] != '_' {
			return false
		}
	}
	return s != "" && len(s) <= longest
}

// colonOf returns where the value of a content line begins: after the first colon outside
// quotation marks, or after the first of all when the marks are unbalanced.
func colonOf(line []byte) int {
	line = line[:min(len(line), maxHead)]
	quoted := false
	for i, b := range line {
		switch {
		case b == '"':
			quoted = !quoted
		case b == ':' && !quoted:
			return i
		}
	}
	return bytes.IndexByte(line, ':')
}

// parameter reads a parameter, with or without a name.
func (p *property) parameter(s string) {
	name, value, named := strings.Cut(s, "=")
	name, value = strings.ToUpper(strings.TrimSpace(name)), strings.TrimSpace(value)
	if !named {
		name, value = "TYPE", strings.TrimSpace(s)
		switch upper := strings.ToUpper(value); upper {
		case "QUOTED-PRINTABLE", "BASE64", "8BIT", "7BIT", "B":
			name = "ENCODING"
		}
	}
	switch name {
	case "TYPE":
		for word := range strings.SplitSeq(value, ",") {
			word = strings.Trim(word, `" `)
			switch lower := strings.ToLower(word); {
			case lower == "pref":
				p.pref = 1
			case lower != "":
				p.types = append(p.types, lower)
			}
			if isOwnType(word) && word != "" {
				p.own = append(p.own, unescapeParameter(ownWord(word)))
			}
		}
	case "PREF":
		p.pref, _ = strconv.Atoi(strings.Trim(value, `"`))
	case "ENCODING":
		p.encoding = strings.ToUpper(value)
	case "CHARSET":
		p.charset = strings.Trim(value, `"`)
	case "LABEL":
		p.label = unescapeParameter(strings.Trim(value, `"`))
	case export.RelatedID:
		p.person = strings.Trim(value, `"`)
	case "X-APPLE-OMIT-YEAR":
		p.omitYear = value
	}
}

// ownWord removes the X- before a person's own type.
func ownWord(word string) string {
	if len(word) > 2 && strings.EqualFold(word[:2], "x-") {
		return word[2:]
	}
	return word
}

// unescapeParameter reads the escapes of RFC 6868.
func unescapeParameter(s string) string {
	return strings.NewReplacer("^n", "\n", "^N", "\n", "^'", `"`, "^^", "^", `\n`, "\n", `\,`, ",").Replace(s)
}

// is reports whether the property has one of the types.
func (p *property) is(types ...string) bool {
	return slices.ContainsFunc(types, func(t string) bool { return slices.Contains(p.types, t) })
}

// isBinary reports whether a value is in base64.
func (p *property) isBinary() bool { return p.encoding == "BASE64" || p.encoding == "B" }

// bytes returns the value without its transfer encoding. Invalid quoted-printable stays
// unchanged.
func (p *property) bytes() []byte {
	if p.encoding != "QUOTED-PRINTABLE" {
		return p.value
	}
	out := make([]byte, 0, len(p.value))
	for i := 0; i < len(p.value); i++ {
		if p.value[i] == '=' && i+2 < len(p.value) {
			if n, err := strconv.ParseUint(string(p.value[i+1:i+3]), 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, p.value[i])
	}
	return out
}

// splitOutside splits s at separators outside quotation marks.
func splitOutside(s string, separator byte) []string {
	var parts []string
	quoted, from := false, 0
	for i := range len(s) {
		switch {
		case s[i] == '"':
			quoted = !quoted
		case s[i] == separator && !quoted:
			parts, from = append(parts, s[from:i]), i+1
		}
	}
	if from < len(s) {
		parts = append(parts, s[from:])
	}
	return parts
}

// splitEscaped splits a value at separators that do not follow a backslash.
func splitEscaped(s string, separator byte) []string {
	var parts []string
	from := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case separator:
			parts, from = append(parts, s[from:i]), i+1
		}
	}
	return append(parts, s[from:])
}

// unescape reads the escapes of a text value (RFC 6350, section 3.4).
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n', 'N':
			b.WriteByte('\n')
		case '\\', ',', ';', ':', '"':
			b.WriteByte(s[i])
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
