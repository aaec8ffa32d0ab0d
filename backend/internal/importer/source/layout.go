package source

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// layout is the meaning of the columns of a table.
type layout struct {
	columns []column
	// unsplit is for programs that separate the values in a cell with " ::: " only.
	unsplit bool
	// source is the source of the keys: the format, or the columns of an unknown layout.
	source  string
	unknown bool
	// metHow is how the people of this source were met, if the source says when.
	metHow string
	// keyFromProfile uses the path of a profile as the key.
	keyFromProfile bool
	// googleGroups tells that Google's own groups are among the groups.
	googleGroups bool
}

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
func layoutOf(format string, h header) layout {
	var l layout
	for _, cell := range h.cells {
		l.columns = append(l.columns, columnOf(cell))
	}
	l.source = format
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
	l.birthdayInParts()
	l.streetLines()
	return l
}

// customFields treats columns that mean nothing else, and have the name of a custom field of the member, as that field.
func (l *layout) customFields(s *fieldSet) {
	for i, c := range l.columns {
		if c.field == fieldUnknown && s.isDefined(c.header) {
			l.columns[i].meaning = meaning{field: fieldCustom}
		}
	}
}

// birthdayInParts treats a birthday beside a month of birth as the day of the month.
func (l *layout) birthdayInParts() {
	if !l.has(fieldBirthMonth) || l.has(fieldBirthDay) {
		return
	}
	for i, c := range l.columns {
		if c.field == fieldBirthday {
			l.columns[i].field = fieldBirthDay
		}
	}
}

// streetLines treats a numbered street as a further line of the address without a number, unless
// there is a numbered town, too.
func (l *layout) streetLines() {
	hasTown := func(label, number string) bool {
		return slices.ContainsFunc(l.columns, func(c column) bool {
			return c.label == label && c.number == number &&
				(c.field == fieldCity || c.field == fieldRegion || c.field == fieldCountry || c.field == fieldPostcode)
		})
	}
	for i, c := range l.columns {
		if (c.field == fieldStreet || c.field == fieldWholeAddress) && c.number != "" && c.labelAt < 0 && !hasTown(c.label, c.number) {
			l.columns[i].field, l.columns[i].number = fieldStreet, ""
		}
	}
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
		l.unsplit, l.source = true, Kith
	} else {
		l.source, l.unknown = l.fingerprint(), true
	}
	l.namesAreGiven()
	l.titlesAre(fieldJobTitle)
	for i, c := range l.columns {
		if c.normal == "headline" && slices.ContainsFunc(l.columns, isTitle) { // as in Clay, where it says more than the title
			l.columns[i].meaning = meaning{field: fieldAboutText}
		}
	}
	if slices.ContainsFunc(l.columns, func(c column) bool { return c.field == fieldJobTitle && !isTitle(c) }) {
		for i, c := range l.columns {
			if isTitle(c) && c.field != fieldNamePrefix {
				l.columns[i].field = fieldNamePrefix
			}
		}
	}
}

// fingerprint returns a source for the keys of a table by an unknown program: its header.
func (l *layout) fingerprint() string {
	var header strings.Builder
	for _, c := range l.columns {
		header.WriteString(c.id + "\x00")
	}
	return fmt.Sprintf("%s:%x", CSV, sha256.Sum256([]byte(header.String())))
}

// namesAreGiven treats "Name" as the first name when there is a last name and no other
// first name.
func (l *layout) namesAreGiven() {
	if !l.has(fieldFamilyName) || l.has(fieldGivenName) {
		return
	}
	for i, c := range l.columns {
		switch c.normal {
		case "name", "naam", "имя", "이름", "名前":
			l.columns[i].field = fieldGivenName
		}
	}
}

func (l *layout) has(f field) bool {
	return slices.ContainsFunc(l.columns, func(c column) bool { return c.field == f })
}

// titlesAre decides the meaning of columns whose header is just "Title". Of two, as in French
// files of Outlook, the first is an honorific and the second a job title.
func (l *layout) titlesAre(f field) {
	var titles []int
	for i, c := range l.columns {
		if isTitle(c) {
			titles = append(titles, i)
			l.columns[i].field = f
		}
	}
	if len(titles) == 2 && l.columns[titles[0]].number == l.columns[titles[1]].number {
		l.columns[titles[0]].field, l.columns[titles[1]].field = fieldNamePrefix, fieldJobTitle
	}
}

func isTitle(c column) bool {
	switch c.normal {
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

// doubled warns about columns with the same header when a person has one value only.
func (l *layout) doubled() string {
	var names []string
	seen := map[string]bool{}
	for _, c := range l.columns {
		if seen[c.id] && c.field.isSingle() && !slices.Contains(names, shown(c.header)) {
			names = append(names, shown(c.header))
		}
		seen[c.id] = true
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("Several columns have one name (%s); the first of them with something in it counts, and other values are kept in a note.", list(names))
}

// named returns a warning about some columns, by their positions; it is empty if there are none.
func (l *layout) named(warning string, columns map[int]bool) string {
	var names []string
	for i, c := range l.columns {
		if columns[i] {
			names = append(names, shown(c.name(i+1)))
		}
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf(warning, list(names))
}

// isSingle reports fields of which a person has one.
func (f field) isSingle() bool {
	switch f {
	case fieldFullName, fieldGivenName, fieldMiddleName, fieldFamilyName, fieldMetOn, fieldDeceasedOn, fieldText, fieldKey, fieldCadence, fieldBirthday,
		fieldBirthDay, fieldBirthMonth, fieldBirthYear, fieldLocation:
		return true
	}
	return false
}

// isDate reports fields that hold days.
func (f field) isDate() bool {
	switch f {
	case fieldMetOn, fieldDeceasedOn, fieldBirthday, fieldAnniversary, fieldOtherDate, fieldLastContact, fieldAdded:
		return true
	}
	return false
}

// values splits a cell: at " ::: " and, unless the program writes only that, tags and groups at semicolons, otherwise
// at commas.
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
	case fieldTags, fieldGroups:
		if !l.unsplit {
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

// fill reads the cells of a row into a draft.
func (l *layout) fill(d *draft, cells []string) {
	for i, c := range l.columns {
		if i >= len(cells) || cells[i] == "" || c.field == fieldIgnored && c.isLabel {
			continue
		}
		value := cells[i]
		if c.blank || c.field == fieldIgnored && (c.chosen || isDefault(value) || repeats(cells, i)) {
			d.drop(c.as.Name, c.as.Field)
			continue
		}
		label, pref := c.label, 0
		if c.labelAt >= 0 && c.labelAt < len(cells) && c.field != fieldText {
			label, pref = googleLabel(cells[c.labelAt])
		}
		if c.field == fieldCustom || c.field == fieldUnknown && d.fields.isDefined(label) {
			d.column, d.days = c.name(i+1), c.days
			d.count(c.as.Name, "custom", func() { d.customField(cmp.Or(label, c.name(i+1)), "", value) })
			continue
		}
		if c.field == fieldNote || c.field == fieldUnknown || c.field == fieldIgnored {
			d.count(c.as.Name, FieldNote, func() { d.note(c, i+1, label, value) })
			continue
		}
		d.column, d.days = c.name(i+1), c.days
		for n, value := range l.values(c.field, value) {
			if value = strings.TrimSpace(value); value == "" {
				continue
			}
			number := c.number
			if n > 0 {
				number += fmt.Sprint(":::", n)
			}
			d.count(c.as.Name, c.as.Field, func() {
				switch {
				case c.field == fieldGroups && l.googleGroups:
					d.googleGroup(value)
				case c.field == fieldAccount && c.serviceAt >= 0 && c.serviceAt < len(cells):
					d.account(cells[c.serviceAt], value, label)
				default:
					d.put(meaning{c.field, label}, number, value, pref)
				}
			})
		}
	}
	d.column = ""
	if d.MetOn != "" && d.MetHow == "" {
		d.MetHow = l.metHow
	}
	if l.keyFromProfile {
		d.ID = profileKey(d.handles)
	}
}

// repeats reports whether the other cells of a row have all the words of a cell, as where an address has the name beside it. Cells may have
// a hundred thousand words, so the words are looked up in a map.
func repeats(cells []string, at int) bool {
	others := map[string]bool{}
	for _, word := range text.Words(strings.Join(slices.Concat(cells[:at], cells[at+1:]), " ")) {
		others[word] = true
	}
	return !slices.ContainsFunc(text.Words(cells[at]), func(word string) bool { return !others[word] })
}

// put reads a value of a column. Values with the same number belong together. A second value of what a
// person has once is kept in the import note.
func (d *draft) put(m meaning, number, value string, pref int) {
	if part, what := d.single(m, number, pref); part != nil {
		if *part == "" {
			*part = value
		} else {
			d.keepSecond(what, *part, value)
		}
		return
	}
	switch m.field {
	case fieldLocation:
		d.setText("location", value)
	case fieldStreet:
		at := d.place(m.label + number)
		at.label, at.pref = m.label, pref
		at.lines = append(at.lines, value)
	case fieldBirthday:
		d.addDate(people.DateBirthday, "", value)
	case fieldAnniversary:
		d.addDate(people.DateAnniversary, "", value)
	case fieldOtherDate:
		d.addDate(dateKind(m.label), m.label, value)
	case fieldMetOn:
		d.setMetOn(value)
	case fieldDeceasedOn:
		d.setDeceasedOn(value)
	case fieldLastContact:
		d.setMoment(&d.LastInteractionAt, "last contact", value)
	case fieldAdded:
		d.setMoment(&d.CreatedAt, "day they were added", value)
	case fieldEmail:
		d.email(value, m.label, pref)
	case fieldPhone:
		d.phone(value, m.label, pref)
	case fieldWebAddress:
		d.web(people.KindURL, value, m.label, pref)
	case fieldProfile:
		d.web(people.KindSocial, value, m.label, pref)
	case fieldAccount:
		service, handle := m.label, value
		if service == "" {
			if before, after, found := strings.Cut(value, ":"); found {
				service, handle = before, after
			}
		}
		d.account(service, handle, "")
	case fieldAboutText:
		d.addText(value)
	case fieldTags:
		d.tag(value)
	case fieldGroups:
		d.group(value)
	case fieldStarred:
		d.setStarred(value)
	case fieldText:
		d.setText(m.label, value)
	case fieldCadence:
		d.setCadence(value)
	case fieldRelation:
		d.addRelation(relatedAs(m.label, value))
	default:
		d.addToNote(m.label, value)
	}
}

// single returns where the draft keeps a value that a person, a job or an address has once, and what it is;
// nil for other fields.
func (d *draft) single(m meaning, number string, pref int) (part *string, what string) {
	if i, ok := partsOfNames()[m.field]; ok {
		part := d.name.All()[i]
		return part.Value, strings.ToLower(part.Column)
	}
	switch m.field {
	case fieldFullName:
		return &d.name.full, "name"
	case fieldOrganization:
		return &d.job(number).organization, "organisation"
	case fieldJobTitle:
		return &d.job(number).title, "job title"
	case fieldKey:
		return &d.ID, "id"
	case fieldBirthDay:
		return &d.birth.day, "day of birth"
	case fieldBirthMonth:
		return &d.birth.month, "month of birth"
	case fieldBirthYear:
		return &d.birth.year, "year of birth"
	case fieldCity, fieldRegion, fieldCountry, fieldPostcode, fieldWholeAddress:
		at := d.place(m.label + number)
		at.label, at.pref = m.label, pref
		switch m.field {
		case fieldCity:
			return &at.city, "town"
		case fieldRegion:
			return &at.region, "region"
		case fieldCountry:
			return &at.country, "country"
		case fieldPostcode:
			return &at.postcode, "postcode"
		}
		return &at.whole, "address"
	}
	return nil, ""
}

// setText fills a text of a person of which there is one.
func (d *draft) setText(name, value string) {
	switch name {
	case "nickname":
		d.set(&d.Nickname, "nickname", value, maxNickname)
	case "location":
		d.set(&d.Location, "location", value, maxLocation)
	case "met_how":
		d.set(&d.MetHow, "way they met", value, maxMetHow)
	}
}

// dateKind returns the kind of a date with a label.
func dateKind(label string) string {
	switch strings.ToLower(label) {
	case "birthday":
		return people.DateBirthday
	case "anniversary", "wedding":
		return people.DateAnniversary
	}
	return people.DateOther
}

// setMoment sets a time of which only the day is known.
func (d *draft) setMoment(at *time.Time, what, value string) {
	day, err := readDate(value, d.days)
	if day == "" && err == nil {
		return
	}
	on, err := time.Parse(time.DateOnly, day)
	switch {
	case err != nil:
		d.unreadable(what, value, "it is no day")
	case at.IsZero():
		*at = on
	default:
		d.keepSecond(what, at.Format(time.DateOnly), day)
	}
}

// setStarred reads whether a person is starred.
func (d *draft) setStarred(value string) {
	switch strings.ToLower(value) {
	case "no", "n", "false", "0", "nein", "non", "nao", "não", "nee", "nie", "falsch", "faux", "falso", "☆":
	default:
		if !isYes(value) {
			d.unreadable("star", value, "it is neither yes nor no")
			return
		}
		d.Starred = true
	}
}

func isYes(s string) bool {
	switch strings.ToLower(s) {
	case "yes", "y", "true", "1", "x", "ja", "oui", "si", "sí", "sim", "tak", "★":
		return true
	}
	return false
}

// profileKey returns the path of the first LinkedIn profile, /in/ and the name, in one
// spelling.
func profileKey(handles []ranked) string {
	for _, h := range handles {
		u, err := url.Parse(h.Value)
		if err != nil || h.Kind != people.KindSocial {
			continue
		}
		if slug, ok := strings.CutPrefix(strings.ToLower(u.Path), "/in/"); ok {
			if slug, _, _ = strings.Cut(slug, "/"); slug != "" {
				return "/in/" + slug
			}
		}
	}
	return ""
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
	l.unsplit, l.googleGroups = true, true
	labels, services := map[string]int{}, map[string]int{}
	for i, c := range l.columns {
		thing, number, part := numbered(c.header)
		switch {
		case thing == "":
		case part == "Label" || part == "Type" || part == "Service":
			if part == "Service" {
				services[thing+number] = i
			} else {
				labels[thing+number] = i
			}
			l.columns[i].meaning, l.columns[i].isLabel = meaning{field: fieldIgnored}, true
		default:
			l.columns[i].meaning = googleMeaning(thing, part)
			l.columns[i].number = thing + number
		}
	}
	for i, c := range l.columns {
		if at, ok := labels[c.number]; ok && c.number != "" {
			l.columns[i].labelAt = at
		}
		if at, ok := services[c.number]; ok && c.number != "" {
			l.columns[i].serviceAt = at
		}
	}
	l.titlesAre(fieldNamePrefix)
}

func googleMeaning(thing, part string) meaning {
	f := map[string]field{
		"E-mail Value": fieldEmail, "Phone Value": fieldPhone, "Website Value": fieldWebAddress, "Event Value": fieldOtherDate, "IM Value": fieldAccount,
		"Relation Value": fieldRelation, "Organization Name": fieldOrganization, "Organization Title": fieldJobTitle,
		"Address City": fieldCity, "Address Region": fieldRegion, "Address Country": fieldCountry, "Address Postal Code": fieldPostcode,
		"Address Street": fieldStreet, "Address PO Box": fieldStreet, "Address Extended Address": fieldStreet, "Address Formatted": fieldWholeAddress,
	}[thing+" "+part]
	return meaning{field: f}
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
