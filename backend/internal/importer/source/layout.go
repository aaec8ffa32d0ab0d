package source

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
)

// layout is the meaning of the columns of a table.
type layout struct {
	columns []column
	// rule is how cells with several values are split.
	rule splitting
	// metHow is how the people of this source were met, if the source says when.
	metHow string
	// keyFromProfile uses the path of a profile as the key.
	keyFromProfile bool
	// googleGroups tells that Google's own groups are among the groups.
	googleGroups bool
}

// splitting is the separator of the values in a cell. A " ::: " always separates.
type splitting int

const (
	// splitLists splits tags and groups at semicolons, otherwise at commas.
	splitLists splitting = iota
	// splitNothing is for programs that separate with " ::: " only.
	splitNothing
)

// format detects by its header which program wrote a table.
func (h header) format() string {
	has := map[string]bool{}
	for _, cell := range h.cells {
		normal, _ := normalHeader(cell)
		has[normal] = true
	}
	switch {
	case has["first name"] && (has["connected on"] || has["url"] && has["company"] && has["position"]):
		return LinkedInCSV
	case slices.ContainsFunc(h.cells, isNumbered), has["group membership"], has["organization name"] && has["labels"]:
		return GoogleCSV
	case has["e mail address"] && (has["first name"] || has["last name"]) &&
		(has["business phone"] || has["job title"] || has["categories"] || has["given yomi"] || has["e mail display name"]):
		return OutlookCSV
	}
	return CSV
}

// layoutOf returns the meaning of a table's columns in a format.
func layoutOf(format string, h header, words words) layout {
	var l layout
	for _, cell := range h.cells {
		l.columns = append(l.columns, words.column(cell))
	}
	switch format {
	case LinkedInCSV:
		l.linkedIn()
	case GoogleCSV:
		l.google()
	case OutlookCSV:
		l.titlesAre(fieldNamePrefix)
	default:
		l.generic()
	}
	return l
}

// linkedIn treats the address as a profile, and the date as the day of the connection
// there.
func (l *layout) linkedIn() {
	for i, c := range l.columns {
		if c.field == fieldWebAddress {
			l.columns[i].meaning = meaning{fieldProfile, "linkedin"}
		}
	}
	l.keyFromProfile, l.metHow = true, "Connected on LinkedIn"
}

// generic treats a title as an honorific only when there is a job title too. Kith's files
// separate values as Google does.
func (l *layout) generic() {
	has := func(header string) bool {
		return slices.ContainsFunc(l.columns, func(c column) bool { return c.header == header })
	}
	if has("Keep in touch (days)") && has("Met how") {
		l.rule = splitNothing
	}
	l.namesAreGiven()
	l.titlesAre(fieldJobTitle)
	if slices.ContainsFunc(l.columns, func(c column) bool { return c.field == fieldJobTitle && !isTitle(c) }) {
		for i, c := range l.columns {
			if isTitle(c) {
				l.columns[i].field = fieldNamePrefix
			}
		}
	}
}

// namesAreGiven treats "Name" as the first name when there is a last name and no other
// first name.
func (l *layout) namesAreGiven() {
	if !l.has(fieldFamilyName) || l.has(fieldGivenName) {
		return
	}
	for i, c := range l.columns {
		switch normal, _ := normalHeader(c.header); normal {
		case "name", "naam", "имя", "이름", "名前":
			l.columns[i].field = fieldGivenName
		}
	}
}

func (l *layout) has(f field) bool {
	return slices.ContainsFunc(l.columns, func(c column) bool { return c.field == f })
}

// titlesAre decides the meaning of columns whose header is just "Title".
func (l *layout) titlesAre(f field) {
	for i, c := range l.columns {
		if isTitle(c) {
			l.columns[i].field = f
		}
	}
}

func isTitle(c column) bool {
	normal, _ := normalHeader(c.header)
	switch normal {
	case "title", "titel", "titre", "titulo", "titolo", "tytul":
		return true
	}
	return false
}

// check fails for tables that do not identify people.
func (l *layout) check(format string) error {
	if slices.ContainsFunc(l.columns, func(c column) bool { return c.identifies() }) {
		return nil
	}
	if slices.ContainsFunc(l.columns, func(c column) bool { return c.chosen }) {
		return fault.InvalidField("columns", "no column says who the people are; choose one for the name, the e-mail address or the organisation")
	}
	return fault.New(fault.Invalid, "the table has no column of the format %s that identifies a person; leave the format out to detect it", format)
}

// doubled warns about columns with the same header when only one value is used.
func (l *layout) doubled() string {
	var names []string
	seen := map[string]bool{}
	for _, c := range l.columns {
		normal, number := normalHeader(c.header)
		id := normal + " " + number
		if seen[id] && c.field.isSingle() && !slices.Contains(names, shown(c.header)) {
			names = append(names, shown(c.header))
		}
		seen[id] = true
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("Several columns have one name (%s); the first of them with something in it counts.", list(names))
}

// unused warns about columns with content that is not imported.
func (l *layout) unused(lost map[int]bool) string {
	var names []string
	for i, c := range l.columns {
		if !lost[i] {
			continue
		}
		name := shown(c.header)
		if name == "" {
			name = fmt.Sprintf("number %d, without a name", i+1)
		}
		names = append(names, name)
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("Columns that were not imported: %s.", list(names))
}

// isSingle reports fields of which a person has one.
func (f field) isSingle() bool {
	switch f {
	case fieldFullName, fieldGivenName, fieldMiddleName, fieldFamilyName, fieldMetOn, fieldText, fieldKey, fieldCadence, fieldBirthday:
		return true
	}
	return false
}

// isDate reports fields that hold days.
func (f field) isDate() bool {
	switch f {
	case fieldMetOn, fieldBirthday, fieldAnniversary, fieldOtherDate, fieldLastContact, fieldAdded:
		return true
	}
	return false
}

// values splits a cell.
func (l *layout) values(f field, cell string) []string {
	const separator = ":::"
	if strings.Contains(cell, separator) {
		return strings.Split(cell, separator)
	}
	cut := ""
	switch f {
	case fieldEmail:
		if strings.Count(cell, "@") > 1 {
			cut = ",; \n"
		}
	case fieldPhone:
		cut = "\n"
		if l.rule == splitLists && !strings.Contains(strings.ToLower(cell), ";ext") {
			cut = ";\n"
		}
	case fieldWebAddress, fieldProfile:
		cut = "\n\t "
	case fieldTags, fieldGroups:
		if l.rule == splitLists {
			cut = ",|\n"
			if strings.Contains(cell, ";") {
				cut = ";\n"
			}
		}
	}
	if cut == "" {
		return []string{cell}
	}
	return strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune(cut, r) })
}

// googleMark is the prefix of preferred labels, and of Google's own groups.
const googleMark = "* "

// isNumbered reports headers that only Google has, such as "E-mail 1 - Value".
func isNumbered(header string) bool {
	thing, _, part := numbered(header)
	switch part {
	case "Value", "Formatted", "Name", "Title":
		return thing != ""
	}
	return false
}

// numbered splits a header such as "E-mail 12 - Value".
func numbered(header string) (thing, number, part string) {
	head, part, ok := strings.Cut(header, " - ")
	at := strings.LastIndexByte(head, ' ')
	if !ok || at < 0 || strings.Trim(head[at+1:], "0123456789") != "" {
		return "", "", ""
	}
	return head[:at], head[at+1:], part
}

// google reads the numbered columns, of which there may be any number, and finds the label
// of each: "Label" now, "Type" in older files.
func (l *layout) google() {
	l.rule, l.googleGroups = splitNothing, true
	labels := map[string]int{}
	for i, c := range l.columns {
		thing, number, part := numbered(c.header)
		switch {
		case thing == "":
		case part == "Label" || part == "Type" || part == "Service":
			labels[thing+number] = i
			l.columns[i].meaning = meaning{field: fieldIgnored}
		default:
			l.columns[i].meaning = meaning{field: googleField(thing, part)}
			l.columns[i].number = thing + number
		}
	}
	for i, c := range l.columns {
		if at, ok := labels[c.number]; ok && c.number != "" {
			l.columns[i].labelAt = at
		}
	}
	l.titlesAre(fieldNamePrefix)
}

func googleField(thing, part string) field {
	return map[string]field{
		"E-mail Value": fieldEmail, "Phone Value": fieldPhone, "Website Value": fieldWebAddress, "Event Value": fieldOtherDate,
		"Relation Value": fieldRelation, "Organization Name": fieldOrganization, "Organization Title": fieldJobTitle,
		"Address City": fieldCity, "Address Region": fieldRegion, "Address Country": fieldCountry,
		"Address Street": fieldStreet, "Address Formatted": fieldWholeAddress,
	}[thing+" "+part]
}

// googleLabel removes the mark from a label and converts Google's own labels to ours. It
// reports whether the mark was there.
func googleLabel(label string) (string, int) {
	bare, marked := strings.CutPrefix(label, googleMark)
	switch lower := strings.ToLower(bare); lower {
	case "home", "work", "mobile", "main", "other", "pager", "home fax", "work fax", "profile", "blog", "home page", "homepage":
		bare = lower
	}
	if marked {
		return bare, 1
	}
	return bare, 0
}

// googleGroup adds a group of the member. Of Google's groups, it adds those that people
// are put into by hand: starred, friends, family and coworkers.
func (d *draft) googleGroup(name string) {
	own, isSystem := strings.CutPrefix(name, googleMark)
	if !isSystem {
		d.group(name)
		return
	}
	switch strings.ToLower(own) {
	case "starred":
		d.Starred = true
	case "friends", "family", "coworkers":
		d.group(own)
	}
}

// relationOf returns our relation for a word.
func relationOf(word string) string {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "spouse", "partner", "domestic partner", "husband", "wife", "sweetheart", "date":
		return people.RelationSpouse
	case "parent", "mother", "father":
		return people.RelationParent
	case "child", "son", "daughter":
		return people.RelationChild
	case "sibling", "brother", "sister":
		return people.RelationSibling
	case "manager", "boss":
		return people.RelationManager
	case "friend":
		return people.RelationFriend
	case "colleague", "co-worker", "coworker":
		return people.RelationColleague
	case "introduced_by", "referred by", "referredby":
		return people.RelationIntroducedBy
	}
	return people.RelationOther
}
