package source

import (
	"bytes"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// monicaTables are the tables of a SQL dump of Monica, by their names.
type monicaTables map[string]*monicaTable

// monicaTable are the rows of a table. A value that is NULL is empty.
type monicaTable struct {
	columns []string
	rows    [][]string
	// byColumn are the rows with a value, by the column and the value; see numbers.
	byColumn map[string]map[string][]int
}

// Limits of a dump.
const (
	mostRows       = 300_000
	mostDumpValues = 2_000_000
)

// isMonicaDump recognises a SQL dump by its first statements.
func isMonicaDump(text []byte) bool {
	const enough = 64 << 10
	return anyInsert.Match(text[:min(len(text), enough)])
}

var anyInsert = regexp.MustCompile("(?im)^[ \t]*INSERT (?:IGNORE )?INTO `")

// monicaIgnored are the tables that say nothing of contacts.
//
//nolint:gochecknoglobals // a constant
var monicaIgnored = strings.Fields("accounts activity_statistics activity_type_categories audit_logs invitations life_event_categories modules recovery_codes relationship_type_groups " +
	"reminder_outbox reminder_rules term_user users weather journal_entries")

// openMonicaDump reads the SQL dump that Monica makes of an account.
func (f *File) openMonicaDump(text []byte, o Options) error {
	if end := text[max(0, len(text)-200):]; !bytes.Contains(end, []byte("FOREIGN_KEY_CHECKS=1")) {
		return fault.New(fault.Invalid, "the SQL of Monica ends before its end: it was cut off; export or download it again")
	}
	tables, err := readInserts(text)
	if err != nil {
		return err
	}
	if tables["contacts"] == nil {
		return fault.New(fault.Invalid, "the SQL holds no contacts of Monica; export the account in Monica, under Settings, Export")
	}
	m := &monica{file: f, days: o.calendar(), region: o.DefaultRegion, named: map[string]monicaItem{}, noPictures: true}
	for table, kind := range map[string]string{
		"genders": "gender", "contact_field_types": "contact_field_type", "activity_types": "activity_type", "life_event_types": "life_event_type",
	} {
		for _, row := range tables.all(table) {
			m.named[kind+" "+row.id] = row
		}
	}
	contacts := tables["contacts"]
	keys := map[string]string{}
	for _, row := range contacts.rows {
		keys[contacts.value(row, "id")] = contacts.key(row)
	}
	m.contacts = func(yield func(monicaItem, error) bool) {
		for _, row := range contacts.rows {
			if !yield(tables.contact(row, keys)) {
				return
			}
		}
	}
	m.activities = func(yield func(monicaItem) bool) {
		for _, item := range tables.all("activities") {
			if item.values["type"] = item.get("activity_type_id"); !yield(item) {
				return
			}
		}
	}
	m.photo = func(id string) (monicaItem, bool) { return tables.one("photos", id) }
	m.document = func(id string) (monicaItem, bool) { return tables.one("documents", id) }
	m.relations = func(yield func(monicaRelation) bool) {
		for _, item := range tables.all("relationships") {
			kind, _ := tables.one("relationship_types", item.get("relationship_type_id"))
			if !yield(monicaRelation{keys[item.get("contact_is")], keys[item.get("of_contact")], kind.get("name")}) {
				return
			}
		}
	}
	m.leftOuts = map[string]int{}
	for name, what := range map[string]string{
		"entries": "entries of the journal, which are about no contact", "days": "days of the journal, which are about no contact",
		"metadata_love_relationships": "dates of relationships", "companies": "companies that are not the company of a contact", "emotion_call": "emotions of calls, of which the dump has only numbers",
	} {
		if t := tables[name]; t != nil {
			m.leftOuts[what] += len(t.rows)
		}
	}
	if err := m.finish(); err != nil {
		return err
	}
	f.warn("The SQL of Monica has no pictures and no documents; its export as JSON has them.")
	return nil
}

// key is by what a row is known elsewhere: its UUID or, without one, its number.
func (t *monicaTable) key(row []string) string {
	if uuid := keyOf(t.value(row, "uuid")); uuid != "" {
		return uuid
	}
	return "contact " + t.value(row, "id")
}

// value returns the value of a column; empty if there is no such column.
func (t *monicaTable) value(row []string, column string) string {
	if at := slices.Index(t.columns, column); at >= 0 {
		return row[at]
	}
	return ""
}

// item returns a row as an object.
func (t *monicaTable) item(row []string) monicaItem {
	item := monicaItem{id: t.value(row, "id"), values: map[string]string{}}
	for at, column := range t.columns {
		if row[at] != "" {
			item.values[column] = row[at]
		}
	}
	for _, own := range []string{"id", "uuid", "account_id", "contact_id"} {
		delete(item.values, own)
	}
	return item
}

// all returns the rows of a table.
func (t monicaTables) all(name string) iter.Seq2[int, monicaItem] {
	return func(yield func(int, monicaItem) bool) {
		table := t[name]
		if table == nil {
			return
		}
		for n, row := range table.rows {
			if !yield(n, table.item(row)) {
				return
			}
		}
	}
}

// one returns the row of a table with an id.
func (t monicaTables) one(name, id string) (monicaItem, bool) {
	rows := t.where(name, "id", id)
	if id == "" || len(rows) == 0 {
		return monicaItem{}, false
	}
	return rows[0], true
}

// count returns how many rows of a table there are with a value in a column.
func (t monicaTables) count(name, column, value string) int {
	return len(t.numbers(name, column, value))
}

// where returns the rows of a table with a value in a column.
func (t monicaTables) where(name, column, value string) (items []monicaItem) {
	for _, n := range t.numbers(name, column, value) {
		items = append(items, t[name].item(t[name].rows[n]))
	}
	return items
}

// numbers returns where in a table the rows with a value in a column are.
func (t monicaTables) numbers(name, column, value string) []int {
	table := t[name]
	if table == nil {
		return nil
	}
	if table.byColumn[column] == nil {
		byValue := map[string][]int{}
		for n, row := range table.rows {
			byValue[table.value(row, column)] = append(byValue[table.value(row, column)], n)
		}
		table.byColumn[column] = byValue
	}
	return table.byColumn[column][value]
}

// monicaLists are the tables of what belongs to a contact, by the types of the JSON export.
//
//nolint:gochecknoglobals // a constant
var monicaLists = map[string]string{
	"call": "calls", "contact_field": "contact_fields", "debt": "debts", "gift": "gifts", "note": "notes", "reminder": "reminders", "task": "tasks", "address": "addresses", "pet": "pets",
	"conversation": "conversations", "life_event": "life_events", "occupation": "occupations",
}

// monicaPets are the kinds of pets that Monica numbers from 1.
//
//nolint:gochecknoglobals // a constant
var monicaPets = []string{"reptile", "bird", "cat", "dog", "fish", "hamster", "horse", "rabbit", "rat", "small animal", "other"}

// contact returns a contact with all that belongs to it, in the words of the JSON export.
func (t monicaTables) contact(row []string, keys map[string]string) (monicaItem, error) {
	c := t["contacts"].item(row)
	c.refs = map[string][]string{}
	number := c.id
	c.id = keys[number]
	for column, name := range map[string]string{"birthday_special_date_id": "birthdate", "deceased_special_date_id": "deceased_date", "first_met_special_date_id": "first_met_date"} {
		date, found := t.one("special_dates", c.get(column))
		for _, value := range []string{"date", "is_age_based", "is_year_unknown"} {
			if found {
				c.values[name+"."+value] = date.get(value)
			}
		}
	}
	c.values["gender"], c.values["first_met_through"], c.values["avatar.avatar_photo"] = c.get("gender_id"), keys[c.get("first_met_through_contact_id")], c.get("avatar_photo_id")
	for name := range c.values {
		if strings.HasSuffix(name, "_id") || strings.HasPrefix(name, "avatar_") || strings.HasPrefix(name, "has_avatar") || name == "gravatar_url" || name == "default_avatar_color" {
			delete(c.values, name)
		}
	}
	for _, link := range t.where("contact_tag", "contact_id", number) {
		if tag, found := t.one("tags", link.get("tag_id")); found {
			c.refs["tags"] = append(c.refs["tags"], tag.get("name"))
		}
	}
	for ref, link := range map[string][2]string{"activity": {"activity_contact", "activity_id"}, "photo": {"contact_photo", "photo_id"}} {
		for _, row := range t.where(link[0], "contact_id", number) {
			c.refs[ref] = append(c.refs[ref], row.get(link[1]))
		}
	}
	for _, document := range t.where("documents", "contact_id", number) {
		c.refs["document"] = append(c.refs["document"], document.id)
	}
	values := 0
	for _, table := range monicaLists {
		if rows := t[table]; rows != nil {
			values += t.count(table, "contact_id", number) * len(rows.columns)
		}
	}
	if values > mostValues {
		return monicaItem{}, fault.New(fault.Invalid, "it holds more than %d values", mostValues)
	}
	c.rows = func(kind string) iter.Seq[monicaItem] {
		return func(yield func(monicaItem) bool) {
			table := monicaLists[kind]
			for _, n := range t.numbers(table, "contact_id", number) {
				item := t[table].item(t[table].rows[n])
				if t.translate(kind, &item); !yield(item) {
					return
				}
			}
		}
	}
	return c, nil
}

// translate gives a row the names that the JSON export has for what it refers to.
func (t monicaTables) translate(kind string, item *monicaItem) {
	for column, name := range map[string]string{"contact_field_type_id": "type", "life_event_type_id": "type"} {
		if id := item.get(column); id != "" {
			item.values[name], item.values["contact_field_type"] = id, id
		}
	}
	if place, found := t.one("places", item.get("place_id")); found {
		for name, value := range place.values {
			if _, own := item.values[name]; !own {
				item.values[name] = value
			}
		}
	}
	if number, err := strconv.Atoi(item.get("pet_category_id")); err == nil && number >= 1 && number <= len(monicaPets) {
		item.values["category"] = monicaPets[number-1]
	}
	if amount := item.get("amount"); amount != "" {
		item.values["amount"] = amount + " (in the smallest unit of the currency" + spaced("with Monica's number ", item.get("currency_id"), "") + ")"
	}
	if kind == "conversation" {
		item.rows = func(string) iter.Seq[monicaItem] {
			return slices.Values(t.where("messages", "conversation_id", item.id))
		}
	}
}

// readInserts reads the INSERT statements of a dump that name their columns, and nothing else of it.
func readInserts(text []byte) (monicaTables, error) {
	tables, rows, values, prefix := monicaTables{}, 0, 0, ""
	s := &sqlText{text: string(text)}
	for s.statement() {
		name, columns := s.insert()
		if before, found := strings.CutSuffix(name, "accounts"); found && len(tables) == 0 {
			prefix = before // of all tables of an installation
		}
		name = strings.TrimPrefix(name, prefix)
		if name == "" || len(columns) == 0 || slices.Contains(monicaIgnored, name) {
			for range s.rows { // whose texts may look like statements
				continue
			}
			continue
		}
		table := tables[name]
		if table == nil {
			table = &monicaTable{columns: columns, byColumn: map[string]map[string][]int{}}
			tables[name] = table
		}
		for row := range s.rows {
			rows, values = rows+1, values+len(row)
			if rows > mostRows || values > mostDumpValues {
				return nil, fault.New(fault.Invalid, "the SQL holds more than %d rows or %d values", mostRows, mostDumpValues)
			}
			if len(row) != len(table.columns) || !slices.Equal(columns, table.columns) {
				return nil, fault.New(fault.Invalid, "the SQL is damaged: a row of the table %q has %d values for %d columns", shown(name), len(row), len(table.columns))
			}
			table.rows = append(table.rows, row)
		}
	}
	return tables, nil
}

// sqlText reads the statements of a dump.
type sqlText struct {
	text string // of which the values are parts
	at   int
}

// statement goes to the next INSERT at the beginning of a line, and returns false at the end.
func (s *sqlText) statement() bool {
	found := anyInsert.FindStringIndex(s.text[s.at:])
	if found == nil {
		return false
	}
	s.at += found[1] - 1
	return true
}

// insert reads the name of the table and those of its columns.
func (s *sqlText) insert() (table string, columns []string) {
	table = s.quoted()
	if s.space(); !s.next('(') {
		return table, nil
	}
	for {
		s.space()
		column := s.quoted()
		if column == "" {
			return table, nil
		}
		columns = append(columns, column)
		if s.space(); !s.next(',') {
			break
		}
	}
	if !s.next(')') {
		return table, nil
	}
	s.space()
	const values = "VALUES"
	if len(s.text) < s.at+len(values) || !strings.EqualFold(s.text[s.at:s.at+len(values)], values) {
		return table, nil
	}
	s.at += len(values)
	return table, columns
}

// rows calls yield with each row of a statement.
func (s *sqlText) rows(yield func([]string) bool) {
	size := 0 // of the row before
	for {
		if s.space(); !s.next('(') {
			return
		}
		row := make([]string, 0, size)
		for {
			s.space()
			row = append(row, s.value())
			if s.space(); !s.next(',') {
				break
			}
		}
		if size = len(row); !s.next(')') || !yield(row) {
			return
		}
		if s.space(); !s.next(',') {
			return
		}
	}
}

func (s *sqlText) space() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

// next passes a character, if it is the next one.
func (s *sqlText) next(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// quoted reads a name between backticks; it is empty if there is none.
func (s *sqlText) quoted() string {
	if !s.next('`') {
		return ""
	}
	const longest = 64 // of MySQL
	end := strings.IndexByte(s.text[s.at:min(len(s.text), s.at+longest+1)], '`')
	if end < 0 {
		return ""
	}
	name := s.text[s.at : s.at+end]
	s.at += end + 1
	return name
}

// value reads a text between quotation marks, or a number as it is written; NULL is empty.
func (s *sqlText) value() string {
	if !s.next('\'') {
		end := strings.IndexAny(s.text[s.at:min(len(s.text), s.at+400)], ",)")
		if end < 0 {
			return ""
		}
		word := strings.TrimSpace(s.text[s.at : s.at+end])
		if s.at += end; strings.EqualFold(word, "NULL") {
			return ""
		}
		return word
	}
	var b strings.Builder
	for s.at < len(s.text) {
		plain := strings.IndexAny(s.text[s.at:], `'\`)
		if plain < 0 {
			break
		}
		part := s.text[s.at : s.at+plain]
		if s.at += plain + 1; b.Len() == 0 && s.text[s.at-1] == '\'' && !strings.HasPrefix(s.text[s.at:], "'") {
			return part
		}
		b.WriteString(part)
		switch mark := s.text[s.at-1]; {
		case mark == '\'' && !s.next('\''):
			return b.String()
		case mark == '\'':
			b.WriteByte('\'')
		case s.at < len(s.text):
			b.WriteByte(unescaped(s.text[s.at]))
			s.at++
		}
	}
	s.at = len(s.text)
	return b.String()
}

// unescaped returns the character that a letter after a backslash stands for.
func unescaped(letter byte) byte {
	switch letter {
	case '0':
		return 0
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return letter
}
