package source

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
)

// cards reads vCards.
type cards struct {
	addressBook

	text    []byte
	set     charset
	readers map[string]func(*cardReader, *property)
}

// addressBook is what vCards and JSContact have in common: a file of cards, groups among them.
type addressBook struct {
	file   *File
	region string
	days   calendar
	// groups are the names of the groups in the file, by the keys of their members.
	groups map[string][]string
	// noted are the names of unknown properties, which are kept; dropped are those of properties that are left out.
	noted, dropped map[string]bool
}

func (f *File) addressBook(o Options) addressBook {
	return addressBook{file: f, region: o.DefaultRegion, days: o.calendar(), groups: map[string][]string{}, noted: map[string]bool{}, dropped: map[string]bool{}}
}

func (b *addressBook) addGroup(name string, members []string) {
	for _, member := range members {
		b.groups[member] = append(b.groups[member], name)
	}
}

// note remembers a property that is kept in notes.
func (b *addressBook) note(property string) {
	if len(b.noted) < maxProperties {
		b.noted[property] = true
	}
}

// record ends a draft, with the groups that the file puts the person in.
func (b *addressBook) record(d *draft, row int, program string) Record {
	if d.ID != "" {
		for _, group := range b.groups[keyOf(d.ID)] {
			d.group(group)
		}
	}
	return b.file.keyed(d.record(row, program == Kith), program)
}

// KeptWarning begins the warning that names the properties of cards that Kith does not understand.
const KeptWarning = "Properties of cards that Kith does not show, but keeps for exports (in a note, if the card is of vCard 2.1): "

// end adds the warnings about the whole file.
func (b *addressBook) end() {
	if len(b.noted) > 0 {
		b.file.warn(fmt.Sprintf(KeptWarning+"%s.", list(slices.Sorted(maps.Keys(b.noted)))))
	}
	if len(b.dropped) > 0 {
		b.file.warn(fmt.Sprintf("Properties of cards that were not imported: %s.", list(slices.Sorted(maps.Keys(b.dropped)))))
	}
	b.file.endKeys()
}

// card is a card as it is in the file.
type card struct {
	row        int
	old        bool // vCard 2.1
	raw        bool // version 4.0, where addresses are not text values
	properties []property
	// ended reports whether its END was found; tooMany, whether properties were left out.
	ended, tooMany bool
	// dropped are the names of properties that were not kept because they may be large.
	dropped []string
}

// maxProperties limits how many properties of one card are read.
const maxProperties = 1000

// openCards counts the cards, finds the groups among them and the properties that are not
// imported.
func (f *File) openCards(text []byte, set charset, o Options) error {
	c := &cards{addressBook: f.addressBook(o), text: text[set.skip:], set: set, readers: cardReaders()}
	f.records = c.records
	found := false
	for card := range c.all {
		found = true
		if name, members := c.group(&card); name != "" {
			c.addGroup(name, members)
			continue
		}
		if err := f.count("cards"); err != nil {
			return err
		}
		for i := range card.properties {
			p := &card.properties[i]
			if p.name == "UID" {
				uid, _ := c.set.value(p.bytes(), p.charset)
				f.keys.add(unescape(uid))
			}
			if !c.isKnown(p.name) && len(bytes.Trim(p.value, "; \t")) > 0 {
				c.note(p.name)
			}
		}
		for _, name := range card.dropped {
			c.dropped[name] = true
		}
	}
	switch {
	case !found:
		return fault.New(fault.Invalid, "the file holds no vCard: none begins with BEGIN:VCARD")
	case f.total == 0:
		return fault.New(fault.Invalid, "the file holds groups and no vCard of a person")
	}
	c.end()
	return nil
}

// records calls yield with each card of a person.
func (c *cards) records(yield func(Record) bool) {
	row := 0
	for card := range c.all {
		row++
		if name, _ := c.group(&card); name != "" {
			continue
		}
		card.row = row
		if !yield(c.read(&card)) {
			return
		}
	}
}

// all calls yield with each card, groups too. A card without END ends where the next one
// begins. A card within a card (an agent of the person) is skipped.
func (c *cards) all(yield func(card) bool) {
	lines := cardLines{text: c.text}
	var current *card
	nested := false
	last := ""
	for {
		line, ok := lines.next()
		switch {
		case !ok:
			if current != nil {
				yield(*current)
			}
			return
		case isEdge(line, "BEGIN:VCARD"):
			if current != nil && !nested && last == "AGENT" {
				nested = true
				break
			}
			if current != nil && !yield(*current) {
				return
			}
			current, nested, lines.old = &card{}, false, false
		case isEdge(line, "END:VCARD"):
			if nested || current == nil {
				nested = false
				break
			}
			current.ended = true
			if !yield(*current) {
				return
			}
			current = nil
		case current != nil && !nested:
			last = current.add(line, last)
			lines.old = current.old
			continue
		}
		last = ""
	}
}

// add adds the property of a line and returns its name. A line that is not a property
// continues a note whose line ends were not escaped.
func (c *card) add(line []byte, last string) string {
	p, ok := readProperty(line)
	if !ok {
		if n := len(c.properties); n > 0 && last == "NOTE" && c.properties[n-1].name == last && len(c.properties[n-1].value) < maxCell {
			note := &c.properties[n-1]
			note.value = append(append(note.value, '\n'), line...)
		}
		return last
	}
	switch {
	case p.name == "VERSION":
		version := strings.TrimSpace(string(p.value[:min(len(p.value), 8)]))
		c.old, c.raw = version == "2.1", version == "4.0"
	case (isDropped(p.name) || p.isBinary() && p.name != propertyPhoto) && (c.old || len(p.value) > people.MaxKeptBytes/2):
		if !slices.Contains(c.dropped, p.name) && len(c.dropped) < maxWarnings {
			c.dropped = append(c.dropped, p.name)
		}
	case len(c.properties) == maxProperties:
		c.tooMany = true
	default:
		p.value = bytes.Clone(p.value)
		c.properties = append(c.properties, p)
	}
	return p.name
}

// group returns the name and the members of a card that is a group; the name is empty for
// other cards.
func (c *cards) group(card *card) (name string, members []string) {
	isGroup := false
	for i := range card.properties {
		p := &card.properties[i]
		switch p.name {
		case "KIND", "X-ADDRESSBOOKSERVER-KIND":
			isGroup = isGroup || strings.EqualFold(strings.TrimSpace(string(p.value)), "group")
		case "FN":
			name, _ = c.set.value(p.bytes(), p.charset)
			name = unescape(name)
		case "MEMBER", "X-ADDRESSBOOKSERVER-MEMBER":
			members = append(members, keyOf(string(p.value)))
		}
	}
	if !isGroup {
		return "", nil
	}
	if name = strings.TrimSpace(name); name == "" {
		name = "Group"
	}
	return name, members
}

// isDropped reports whether a property is not imported and may be large.
func isDropped(name string) bool {
	switch name {
	case "LOGO", "SOUND", "KEY", "AGENT":
		return true
	}
	return false
}

// isKnown reports whether a property is read, or has no data about a person.
func (c *cards) isKnown(name string) bool {
	_, known := c.readers[name]
	return known || isMetadata(name)
}

// isMetadata reports whether a property has no data about a person, or only such that another property needs.
func isMetadata(name string) bool {
	switch name {
	case "PRODID", "REV", "PROFILE", "CREATED", "X-ABLABEL", "X-ABADR", "X-IMAGEHASH", "X-IMAGETYPE", "KIND", "X-ADDRESSBOOKSERVER-KIND", "MEMBER", "X-ADDRESSBOOKSERVER-MEMBER":
		return true
	}
	return false
}

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

// property is a property of a card, with its value as in the file.
type property struct {
	// head is all that is before the value, as in the file.
	head, group, name string
	// types are in lower case: TYPE=WORK,CELL and the bare ;WORK;CELL of vCard 2.1.
	types []string
	// own are types that are not of the standards, as in the file: Zweithandy, Oficina for X-Oficina.
	own      []string
	pref     int
	encoding string
	charset  string
	// label is the LABEL of an address.
	label string
	// person is the key of another person, and marked is set for a typed location and for a name without parts, in Kith's own
	// cards.
	person string
	marked bool
	// field and fieldType are the name and the type of a custom field, in Kith's own cards.
	field, fieldType string
	// about marks a year that is not certain, in Kith's own cards.
	about bool
	// service and user are those of an account; isText says that its value is no URI.
	service, user string
	isText        bool
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
	p := property{head: string(line[:colon]), value: line[colon+1:]}
	p.name = strings.ToUpper(strings.TrimSpace(strings.TrimPrefix(head, "\ufeff")))
	if dot := strings.LastIndexByte(p.name, '.'); dot >= 0 {
		p.group, p.name = p.name[:dot], p.name[dot+1:]
	}
	if !propertyName.MatchString(p.name) {
		return property{}, false
	}
	for _, parameter := range splitOutside(parameters, ';') {
		p.parameter(parameter)
	}
	return p, true
}

// propertyName distinguishes a name from the beginning of a sentence with a colon.
var propertyName = regexp.MustCompile(`^[A-Z0-9_-]{1,60}$`)

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
	case "X-SERVICE-TYPE", "SERVICE-TYPE":
		p.service = unescapeParameter(strings.Trim(value, `"`))
	case "X-USER", "USERNAME":
		p.user = unescapeParameter(strings.Trim(value, `"`))
	case "VALUE":
		p.isText = strings.EqualFold(value, "text")
	case export.LocationMark, export.NameMark:
		p.marked = true
	case export.FieldNameParameter:
		p.field = unescapeParameter(strings.Trim(value, `"`))
	case export.FieldTypeParameter:
		p.fieldType = strings.ToLower(value)
	case export.AboutMark:
		p.about = true
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
	return strings.NewReplacer(`\\`, `\`, "^n", "\n", "^N", "\n", "^'", `"`, "^^", "^", `\n`, "\n", `\,`, ",").Replace(s)
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
func unescape(s string) string { return escapes.Replace(s) }

var escapes = strings.NewReplacer(`\n`, "\n", `\N`, "\n", `\\`, `\`, `\,`, ",", `\;`, ";", `\:`, ":", `\"`, `"`)
