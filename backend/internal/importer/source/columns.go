package source

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/kith-crm/kith/backend/internal/text"
)

// field is the meaning of a column, as words/headers.txt names it.
type field string

const (
	fieldUnknown field = ""
	// fieldIgnored is imported only if a row says no other way what it says, such as the name by which a person is filed.
	fieldIgnored      field = "ignored"
	fieldFullName     field = "full_name"
	fieldNamePrefix   field = "name_prefix"
	fieldGivenName    field = "given_name"
	fieldMiddleName   field = "middle_name"
	fieldFamilyName   field = "family_name"
	fieldOrganization field = "organization"
	fieldJobTitle     field = "job_title"
	// fieldTitle is the job title, or an honorific beside a job title.
	fieldTitle      field = "title"
	fieldEmail      field = "email"
	fieldPhone      field = "phone"
	fieldWebAddress field = "web_address"
	fieldProfile    field = "profile"
	// fieldAccount is an account with the service that the label names. Without a label, the service stands before a colon in
	// each value.
	fieldAccount  field = "account"
	fieldCity     field = "city"
	fieldRegion   field = "region"
	fieldCountry  field = "country"
	fieldPostcode field = "postcode"
	// fieldStreet is any line of an address above the town.
	fieldStreet field = "street"
	// fieldWholeAddress is an address in one text; fieldLocation says where the person is.
	fieldWholeAddress field = "whole_address"
	fieldLocation     field = "location"
	fieldAboutText    field = "about"
	fieldTags         field = "tags"
	fieldGroups       field = "groups"
	fieldStarred      field = "starred"
	fieldMetOn        field = "met_on"
	fieldDeceasedOn   field = "deceased_on"
	// fieldText is a text that is imported unchanged; the label is its name.
	fieldText        field = "text"
	fieldBirthday    field = "birthday"
	fieldBirthDay    field = "birth_day"
	fieldBirthMonth  field = "birth_month"
	fieldBirthYear   field = "birth_year"
	fieldAnniversary field = "anniversary"
	fieldOtherDate   field = "other_date"
	fieldCadence     field = "cadence"
	fieldLastContact field = "last_contact"
	fieldAdded       field = "added"
	fieldKey         field = "key"
	// fieldRelation is what another person is to this one; the label is the relation.
	fieldRelation field = "relation"
	// fieldCustom is a custom field. The label is its name; without one, the label beside the value or the header is.
	fieldCustom field = "custom"
	// fieldNote is kept in a note of the person, as fieldUnknown is; a person chose it.
	fieldNote field = "note"
)

// identifies reports whether a column can identify a person.
func (m meaning) identifies() bool {
	switch m.field {
	case fieldFullName, fieldGivenName, fieldFamilyName, fieldEmail, fieldWebAddress, fieldProfile, fieldOrganization:
		return true
	}
	return m == meaning{fieldText, "nickname"}
}

// meaning is a field and the label that goes with it, such as "work".
type meaning struct {
	field field
	label string
}

// headerWords maps known headers, as normalHeader returns them, to their meanings. Their numbers are removed: "E-mail 2 Address" is "e mail address".
//
//nolint:gochecknoglobals // made once, when the first table is read
var headerWords = sync.OnceValue(func() map[string]meaning {
	words := map[string]meaning{}
	for key, headers := range wordLines("headers.txt") {
		name, label, _ := strings.Cut(key, " ")
		for header := range strings.SplitSeq(headers, "|") {
			if !isASCII(header) {
				header = text.Fold(header)
			}
			words[header] = meaning{field(name), label}
		}
	}
	for _, part := range new(people.NameParts).All() {
		words[strings.ToLower(part.Column)] = meaning{fieldOfPart(part), ""}
	}
	return words
})

// column is a column of a table.
type column struct {
	meaning

	header string
	// normal is the folded header without its number, id the same with the number.
	normal, id string
	// number groups columns: E-mail 1, E-mail 2.
	number string
	// labelAt is the column that holds the label, serviceAt the one that holds the service of an account; -1 for none.
	labelAt, serviceAt int
	// isLabel is set if the column holds the labels of another one, or says nothing of a person.
	isLabel bool
	// chosen is set if a person decided what it means.
	chosen bool
	// days says how its dates are read.
	days calendar
	// blank is set if nobody knows what the column means, and it has only what programs write into empty columns.
	blank bool
	// as is how reports name the column and its field.
	as Value
}

// name returns the header of the column at a position, or its number if it has none.
func (c column) name(at int) string {
	if strings.TrimSpace(c.header) == "" {
		return fmt.Sprintf("Column %d", at)
	}
	return c.header
}

// columnOf returns the meaning of a header.
func columnOf(header string) column {
	if name, ours := strings.CutSuffix(strings.TrimSpace(header), export.CustomHeader); ours {
		return column{meaning: meaning{fieldCustom, strings.TrimSpace(name)}, header: header, normal: text.Fold(header), id: text.Fold(header), labelAt: -1}
	}
	normal, number := normalHeader(header)
	return column{meaning: headerWords()[normal], header: header, normal: normal, id: normal + " " + number, number: number, labelAt: -1, serviceAt: -1}
}

// normalHeader folds a header and removes its punctuation and its number.
func normalHeader(header string) (normal, number string) {
	const longest = 100
	header, _ = firstBytes(header, longest)
	var kept []string
	for _, word := range text.Words(header) {
		if _, err := strconv.Atoi(word); err == nil {
			number = word
		} else {
			kept = append(kept, word)
		}
	}
	if last := len(kept) - 1; last >= 0 && number == "" { // Email2
		if bare := strings.TrimRight(kept[last], "0123456789"); bare != "" && bare != kept[last] {
			kept[last], number = bare, kept[last][len(bare):]
		}
	}
	return strings.Join(kept, " "), number
}

// Choice is what a person decided about one column of a table.
type Choice struct {
	// At is the position of the column, from 1; Header is Column.Header. A choice for a
	// column with another header is ignored. If At is 0, the choice is for all columns with the
	// header, of which there must be one.
	At     int    `json:"at,omitempty"`
	Header string `json:"header"`
	// Field is the name of one of Fields.
	Field string `json:"field"`
}

// Column is a column of a table that has something in it.
type Column struct {
	// At is its position, from 1.
	At int
	// Header is its name, shortened; it may be empty.
	Header string
	// Field is the name of one of Fields: what was chosen, otherwise what the header says. A
	// column that is not recognised is FieldNote.
	Field string
	// Examples are its first different values, shortened.
	Examples []string

	// detected is what the header says.
	detected column
}

// Field is a meaning that a person can choose for a column.
type Field struct {
	Name, Label string

	meaning meaning
}

// The fields that set nothing of a person.
const (
	// FieldNote keeps the values of a column in a note of the person.
	FieldNote = "note"
	// FieldIgnore leaves a column out.
	FieldIgnore = "ignore"
)

// Fields returns what a column can mean.
func Fields() []Field {
	var parts []Field
	for _, part := range new(people.NameParts).All() {
		parts = append(parts, Field{string(fieldOfPart(part)), part.Label, meaning{fieldOfPart(part), ""}})
	}
	return slices.Concat([]Field{
		{FieldNote, "Keep in a note", meaning{fieldNote, ""}}, {"custom", "Custom field", meaning{fieldCustom, ""}}, {FieldIgnore, "Leave out", meaning{fieldIgnored, ""}},
		{"name", "Name", meaning{fieldFullName, ""}},
	}, parts, []Field{
		{"nickname", "Nickname", meaning{fieldText, "nickname"}},
		{"email", "E-mail", meaning{fieldEmail, ""}}, {"email_work", "E-mail (work)", meaning{fieldEmail, "work"}}, {"email_home", "E-mail (home)", meaning{fieldEmail, "home"}},
		{"phone", "Phone", meaning{fieldPhone, ""}}, {"phone_mobile", "Phone (mobile)", meaning{fieldPhone, "mobile"}},
		{"phone_work", "Phone (work)", meaning{fieldPhone, "work"}}, {"phone_home", "Phone (home)", meaning{fieldPhone, "home"}},
		{"website", "Website", meaning{fieldWebAddress, ""}}, {"linkedin", "LinkedIn", meaning{fieldProfile, "linkedin"}},
		{"twitter", "X or Twitter", meaning{fieldProfile, "twitter"}}, {"facebook", "Facebook", meaning{fieldProfile, "facebook"}}, {"github", "GitHub", meaning{fieldProfile, "github"}},
		{"account", "Messenger or network", meaning{fieldAccount, ""}}, {"whatsapp", "WhatsApp", meaning{fieldAccount, "whatsapp"}},
		{"signal", "Signal", meaning{fieldAccount, "signal"}}, {"telegram", "Telegram", meaning{fieldAccount, "telegram"}}, {"skype", "Skype", meaning{fieldAccount, "skype"}},
		{"organization", "Organisation", meaning{fieldOrganization, ""}}, {"job_title", "Job title", meaning{fieldJobTitle, ""}},
		{"location", "Place", meaning{fieldLocation, ""}}, {"city", "Town", meaning{fieldCity, ""}}, {"region", "Region", meaning{fieldRegion, ""}},
		{"country", "Country", meaning{fieldCountry, ""}}, {"postcode", "Postcode", meaning{fieldPostcode, ""}},
		{"street", "Street", meaning{fieldStreet, ""}}, {"address", "Whole address", meaning{fieldWholeAddress, ""}},
		{"bio", "About them", meaning{fieldAboutText, ""}}, {"tags", "Tags", meaning{fieldTags, ""}}, {"groups", "Groups", meaning{fieldGroups, ""}},
		{"birthday", "Birthday", meaning{fieldBirthday, ""}}, {"birth_day", "Day of birth", meaning{fieldBirthDay, ""}},
		{"birth_month", "Month of birth", meaning{fieldBirthMonth, ""}}, {"birth_year", "Year of birth", meaning{fieldBirthYear, ""}}, {"anniversary", "Anniversary", meaning{fieldAnniversary, ""}}, {"date", "Another date", meaning{fieldOtherDate, ""}},
		{"deceased_on", "When they died", meaning{fieldDeceasedOn, ""}}, {"met_on", "When you met", meaning{fieldMetOn, ""}}, {"met_how", "How you met", meaning{fieldText, "met_how"}},
		{"spouse", "Partner", meaning{fieldRelation, "spouse"}}, {"manager", "Manager", meaning{fieldRelation, "manager"}},
		{"introduced_by", "Introduced by", meaning{fieldRelation, "introduced_by"}}, {"related", "Related person", meaning{fieldRelation, ""}},
		{"starred", "Starred", meaning{fieldStarred, ""}}, {"cadence", "Keep in touch every (days)", meaning{fieldCadence, ""}},
		{"last_contact", "Last contact", meaning{fieldLastContact, ""}}, {"added", "Added on", meaning{fieldAdded, ""}},
		{"key", "External ID", meaning{fieldKey, ""}},
	})
}

// partsOfNames has the place of each part in people.NameParts.All, by the meaning of its column.
//
//nolint:gochecknoglobals // made once
var partsOfNames = sync.OnceValue(func() map[field]int {
	places := map[field]int{}
	for i, part := range new(people.NameParts).All() {
		places[fieldOfPart(part)] = i
	}
	return places
})

// fieldOfPart is the meaning of a column with a part of a name: "Name prefix" is name_prefix.
func fieldOfPart(part people.NamePart) field {
	return field(strings.ReplaceAll(strings.ToLower(part.Column), " ", "_"))
}

// fieldNamed returns the field with a name.
func fieldNamed(name string) (Field, bool) {
	all := Fields()
	at := slices.IndexFunc(all, func(f Field) bool { return f.Name == name })
	if at < 0 {
		return Field{}, false
	}
	return all[at], true
}

// nameOf returns the name of the field that shows a meaning. Labels without a field of their
// own, such as fax, have the field without a label.
func nameOf(m meaning) string {
	for _, wanted := range []meaning{m, {m.field, ""}} {
		for _, f := range Fields() {
			if f.meaning == wanted {
				return f.Name
			}
		}
	}
	return FieldIgnore
}

// choose gives columns the meanings that a person chose. A column whose meaning is not changed
// keeps its label.
func (l *layout) choose(choices []Choice) error {
	for _, c := range choices {
		f, ok := fieldNamed(c.Field)
		if !ok {
			return fault.InvalidField("columns", "%q is no meaning of a column; use one of %s", shown(c.Field), strings.Join(fieldNames(), ", "))
		}
		found := c.At > 0
		for i := range l.columns {
			column := &l.columns[i]
			if c.At == i+1 && shown(column.header) == c.Header || c.At == 0 && text.Fold(shown(column.header)) == text.Fold(shown(c.Header)) {
				found, column.chosen = true, true
				if nameOf(column.meaning) != c.Field || c.Field == FieldIgnore || column.field == fieldUnknown {
					column.meaning = f.meaning
					if f.meaning.field != fieldCustom { // which is named by the label
						column.labelAt = -1
					}
				}
			}
		}
		if !found {
			return fault.InvalidField("columns", "the file has no column %q; its columns are %s", shown(c.Header), list(l.headers()))
		}
	}
	return nil
}

func fieldNames() []string {
	var names []string
	for _, f := range Fields() {
		names = append(names, f.Name)
	}
	return names
}

// headers returns the headers that are not empty, shortened and quoted: they are in an error.
func (l *layout) headers() []string {
	var headers []string
	for _, c := range l.columns {
		if header := shown(c.header); header != "" {
			headers = append(headers, text.Quote(header))
		}
	}
	return headers
}

// Columns returns the columns of a table that have something in them; nil for other formats.
func (f *File) Columns() []Column {
	t := f.table
	if t == nil {
		return nil
	}
	examples := make([][]string, len(t.layout.columns))
	for r := range t.rows {
		for i, c := range r.cells {
			if i < len(examples) && len(examples[i]) < 3 && r.broken == "" && c != "" {
				examples[i] = t.layout.columns[i].example(examples[i], c)
			}
		}
	}
	var out []Column
	taken := map[string]bool{}
	for i, c := range t.layout.columns {
		if len(examples[i]) == 0 {
			continue
		}
		column := Column{At: i + 1, Header: shown(c.header), Field: nameOf(c.meaning), Examples: examples[i], detected: c}
		slot := column.slot()
		if !c.chosen && (c.field == fieldUnknown || slot != "" && taken[slot]) {
			column.Field = FieldNote
		} else if slot != "" {
			taken[slot] = true
		}
		out = append(out, column)
	}
	return out
}

// example adds a value to the examples of a column. In an unrecognised column, it ignores the
// placeholders that Outlook writes into empty columns.
func (c column) example(examples []string, value string) []string {
	value = shown(value)
	if value == "" || c.field == fieldUnknown && isDefault(value) || slices.Contains(examples, value) {
		return examples
	}
	return append(examples, value)
}

// slot identifies what only one column can fill; it is empty if several can.
func (c Column) slot() string {
	m := c.detected.meaning
	if nameOf(m) != c.Field {
		f, _ := fieldNamed(c.Field)
		m = f.meaning
	}
	switch m.field {
	case fieldOrganization, fieldJobTitle, fieldCity, fieldRegion, fieldCountry, fieldPostcode, fieldWholeAddress:
		return fmt.Sprint(m.field, m.label, " ", c.detected.number)
	case fieldAnniversary, fieldLastContact, fieldAdded:
		return fmt.Sprint(m.field)
	}
	if _, isPart := partsOfNames()[m.field]; isPart || m.field.isSingle() {
		return fmt.Sprint(m.field, m.label)
	}
	return ""
}

// Clashes returns the positions of columns whose field is that of an earlier column and can have
// one column only, with the position of the earlier one.
func Clashes(columns []Column) map[int]int {
	first, out := map[string]int{}, map[int]int{}
	for _, c := range columns {
		slot := c.slot()
		if slot == "" {
			continue
		}
		if at, taken := first[slot]; taken {
			out[c.At] = at
		} else {
			first[slot] = c.At
		}
	}
	return out
}

// note keeps the value of a column for the note of the person. Google has labels for its custom
// fields.
func (d *draft) note(c column, at int, label, value string) {
	name := shown(c.name(at))
	if label != "" && c.labelAt >= 0 {
		name = shown(label)
	}
	d.addLine(name + ": " + strings.TrimSpace(value))
}
