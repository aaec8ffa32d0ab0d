package source

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kith-crm/kith/backend/internal/export"
	"github.com/kith-crm/kith/backend/internal/fault"
	"github.com/kith-crm/kith/backend/internal/id"
	"github.com/kith-crm/kith/backend/internal/people"
	"github.com/nyaruka/phonenumbers"
)

// The formats.
const (
	LinkedInCSV = "linkedin_csv"
	GoogleCSV   = "google_csv"
	OutlookCSV  = "outlook_csv"
	CSV         = "csv"
	VCard       = "vcard"
	JSContact   = "jscontact"
	// Monica is the export of Monica 4, as JSON or SQL.
	Monica = "monica"
	// WhatsApp is a chat that WhatsApp exports.
	WhatsApp = "whatsapp"
	// JSON is Kith's lossless export.
	JSON = "json"
)

// Formats returns all formats that can be read.
func Formats() []string {
	return []string{LinkedInCSV, GoogleCSV, OutlookCSV, CSV, VCard, JSContact, Monica, WhatsApp, JSON}
}

// auto means that the option is detected, as an empty option does.
const auto = "auto"

// Kith is the source of the ids in Kith's own files; see Record.Source.
const Kith = "kith"

// Options describe a file. Empty or "auto" options are detected.
type Options struct {
	// Filename is for error messages; the content decides what a file is.
	Filename string
	// Format is one of the formats.
	Format string
	// Charset is a name or label of the WHATWG Encoding Standard. A byte order mark in the
	// file takes precedence.
	Charset string
	// DefaultRegion is the ISO 3166 code of the country that phone numbers without a
	// country code belong to. Without it, and in Kith's JSON export, they stay as they are.
	DefaultRegion string
	// DateOrder is one of DateOrders, for dates such as 3/4/2021.
	DateOrder string
	// Locale is the member's locale, such as de-DE. It decides about dates if nothing in the file does.
	Locale string
	// Owner is the member's name, for chats in which they wrote.
	Owner string
	// Today is the day of the import; the zero value is the day on which Open is called.
	Today time.Time
	// Columns are what a person decided about the columns of a table. With them, the header
	// may have no word that is known here: then it is the first row.
	Columns []Choice
	// Fields are the member's custom fields.
	Fields []people.Field
	// Draft is for a person who is about to decide: File.Columns works even if no column
	// identifies people.
	Draft bool
}

// File is a file whose people can be read.
type File struct {
	// Format is one of the formats.
	Format string
	// Charset is the name of the character set, as the Encoding Standard spells it.
	Charset string
	// Warnings are about the file as a whole.
	Warnings []string

	total   int
	records iter.Seq[Record]
	// table is nil for other formats; lists are those of Kith's JSON export, or made of a file of Monica or WhatsApp, not decoded yet, in parts that follow one another.
	table *table
	lists map[string][][]byte
	// fields are the custom fields that take values.
	fields *fieldSet
	// keys finds the ids that identify nobody.
	keys keyUse
}

// Record is a row, a card or an object of the file: a person, or the reason why
// there is none.
type Record struct {
	// Row is what a person would look for: the row in a spreadsheet, counted from 1
	// at the top of the file, or the ordinal of a card or object.
	Row int
	// Person is within the bounds of the contract. ID is the person's key in the source,
	// the same each time that the source is read: the UID of a card, the id in Kith's
	// files, the path of a LinkedIn profile, or empty. Name is never empty. Handles are in
	// the order of the file, but the preferred one of a kind comes first of its kind; no
	// two are the same address. Relationships have a ConnectionID (a key), a name or both.
	Person export.PersonRecord
	// Source names the program and the kind of file that gave the person the key Person.ID: keys of
	// different sources are not the same. UnknownLayout says that the source is a table of which
	// only the header is known.
	Source        string
	UnknownLayout bool
	// Notes are texts that are too long for Bio, and the values that no field of a person takes.
	Notes []string
	// ByName says that the source knows people by nothing but a name: the only person with exactly that name is the same.
	ByName bool
	// Guessed says that the file has no name of the person: Name was made of an
	// address, or of another field.
	Guessed bool
	// UnreadDates is how many dates of the record could not be read; Warnings name them.
	UnreadDates int
	// Values are what became of each value of a table or a card.
	Values []Value
	// Err is a *fault.Error (Invalid) when this record cannot be imported; Person is
	// empty then.
	Err error
	// Warnings say what was left out or changed.
	Warnings []string
}

// Related reports whether the record says something about the person and another one.
func (r *Record) Related() bool { return len(r.Person.Relationships)+len(r.Person.NotSameAs) > 0 }

// Open detects what data is. It fails with fault.Invalid and one sentence when the file as
// a whole cannot be read. The File refers to data, which must not change while the File is
// used.
func Open(data []byte, o Options) (*File, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	f := &File{keys: keyUse{}, fields: newFieldSet(o.Fields)}
	data, err := f.unpack(data, &o)
	if err != nil {
		return nil, err
	}
	set, err := findCharset(data, o.Charset)
	if err != nil {
		return nil, err
	}
	f.Charset = set.name
	f.warn(set.warning)
	if !set.asciiBased {
		data, set = set.decode(data), utf8Charset()
	}
	if o.Format == "" {
		if o.Format, err = detect(data[set.skip:], o.Filename); err != nil {
			return nil, err
		}
	}
	if err := f.read(data, set, o); err != nil {
		return nil, err
	}
	return f, nil
}

// read reads the file once, in its format.
func (f *File) read(data []byte, set charset, o Options) error {
	f.Format = o.Format
	byHeader := func(c Choice) bool { return c.At == 0 }
	if slices.Contains([]string{VCard, JSContact, Monica, WhatsApp, JSON}, o.Format) && slices.ContainsFunc(o.Columns, byHeader) {
		return fault.InvalidField("columns", "a file of the format %s has no columns; leave it out", o.Format)
	}
	switch o.Format {
	case VCard:
		return f.openCards(data, set, o)
	case JSContact:
		return f.openJSContact(set.decode(data), o)
	case Monica:
		return f.openMonica(set.decode(data), o)
	case WhatsApp:
		return f.openChat(set.decode(data), o)
	case JSON:
		return f.openDocument(set.decode(data))
	default:
		return f.openTable(set.decode(data), o)
	}
}

// Records returns the records in the order of the file, each time from its start.
func (f *File) Records() iter.Seq[Record] { return f.records }

// HasLists reports whether the file may have more than people, such as notes.
func (f *File) HasLists() bool { return f.lists != nil }

// Total returns how many records there are.
func (f *File) Total() int { return f.total }

// count counts a record, and fails if there are too many of them.
func (f *File) count(of string) error {
	if f.total++; f.total > MaxRecords {
		return fault.New(fault.Invalid, "the file holds more than %d %s; split it into several files", MaxRecords, of)
	}
	return nil
}

// keyUse are the keys of a file, and whether several people have one: such a key identifies nobody.
type keyUse map[string]bool

// add counts a key. Kith's own ids identify people however often they come.
func (u keyUse) add(key string) {
	if key = keyOf(key); key != "" && !id.Valid(id.Connection, key) {
		_, seen := u[key]
		u[key] = seen
	}
}

// endKeys forgets the keys that identify a person, and warns about the others.
func (f *File) endKeys() {
	repeated := keyUse{}
	for key, isRepeated := range f.keys {
		if isRepeated {
			repeated[key] = true
		}
	}
	if f.keys = repeated; len(repeated) > 0 {
		f.warn(fmt.Sprintf("Ids that several people have identify nobody: %s.", list(slices.Sorted(maps.Keys(repeated))[:min(len(repeated), 5)])))
	}
}

// keyed sets the source of a record's key, and removes the key if it identifies nobody.
func (f *File) keyed(r Record, from string) Record {
	if r.Source = from; f.keys[r.Person.ID] {
		r.Person.ID = ""
	}
	return r
}

// programOf returns the source of the keys of cards: the kind of file, and the program's own
// identifier without the version.
func programOf(kind, identifier string) string {
	words := strings.FieldsFunc(strings.ToLower(identifier), func(r rune) bool { return r < 'a' || r > 'z' })
	if slices.Contains(words, Kith) {
		return Kith
	}
	return kind + ":" + strings.Join(words, " ")
}

// warn adds a warning unless it is empty.
func (f *File) warn(warning string) {
	if warning != "" {
		f.Warnings = append(f.Warnings, warning)
	}
}

// check fails for invalid options, and replaces "auto" by an empty text.
func (o *Options) check() error {
	for _, option := range []*string{&o.Format, &o.Charset, &o.DefaultRegion, &o.DateOrder} {
		if *option == auto {
			*option = ""
		}
	}
	if o.Format != "" && !slices.Contains(Formats(), o.Format) {
		return fault.InvalidField("format", "%q cannot be read; use one of auto, %s", shown(o.Format), list(Formats()))
	}
	if o.DateOrder != "" && !slices.Contains(DateOrders(), o.DateOrder) {
		return fault.InvalidField("date_order", "%q is no order of dates; use one of auto, %s", shown(o.DateOrder), list(DateOrders()))
	}
	o.DefaultRegion = strings.ToUpper(o.DefaultRegion)
	if o.DefaultRegion != "" && phonenumbers.GetCountryCodeForRegion(o.DefaultRegion) == 0 {
		return fault.InvalidField("default_region", "%q is no country; use a code of two letters, such as US", shown(o.DefaultRegion))
	}
	return nil
}

// detect finds the format of a text from its beginning. Tables are distinguished later, by
// their header: the format is empty for all of them.
func detect(text []byte, filename string) (string, error) {
	text = bytes.TrimLeft(text, " \t\r\n\x00\ufeff")
	if len(text) == 0 {
		return "", fault.New(fault.Invalid, "the file is empty")
	}
	switch {
	case hasCard(text):
		return VCard, nil
	case isChat(text): // which may begin with a bracket
		return WhatsApp, nil
	case text[0] == '{' || text[0] == '[':
		return detectJSON(text)
	case isMonicaDump(text):
		return Monica, nil
	case text[0] == '<':
		return "", fault.New(fault.Invalid, "this is a web page or XML; export the contacts as CSV or vCard")
	case bytes.HasPrefix(text, []byte("dn:")) || bytes.HasPrefix(text, []byte("version: 1\n")):
		return "", fault.New(fault.Invalid, "this is LDIF; export the contacts as CSV or vCard")
	case strings.EqualFold(path.Ext(filename), ".vcf"):
		return "", fault.New(fault.Invalid, "the file holds no vCard: none begins with BEGIN:VCARD")
	}
	return "", nil
}

// hasCard reports whether a card begins on one of the first lines.
func hasCard(text []byte) bool {
	const enough = 64 << 10
	for line := range bytes.FieldsFuncSeq(text[:min(len(text), enough)], func(r rune) bool { return r == '\r' || r == '\n' }) {
		if isEdge(line, "BEGIN:VCARD") {
			return true
		}
	}
	return false
}

// knownFormatError returns an error that says what a file without text is, and what to do about it.
func knownFormatError(data []byte) error {
	for _, known := range []struct{ magic, advice string }{
		{"\xd0\xcf\x11\xe0", "this is an old Excel or Outlook file; open it there and save it as CSV"},
		{"!BDN", "this is an Outlook data file; export the contacts from Outlook as CSV"},
		{"%PDF", "this is a PDF; export the contacts as CSV or vCard"},
		{"\x1f\x8b", "the file is packed with gzip; unpack it first"},
		{"Rar!", "the file is packed with RAR; unpack it first"},
		{"7z\xbc\xaf", "the file is packed with 7-Zip; unpack it first"},
		{"\x89PNG", "this is a picture"},
		{"\xff\xd8\xff", "this is a picture"},
		{"GIF8", "this is a picture"},
		{"SQLite format 3", "this is a database; export the contacts as CSV or vCard"},
	} {
		if bytes.HasPrefix(data, []byte(known.magic)) {
			return fault.New(fault.Invalid, "%s", known.advice)
		}
	}
	return nil
}

// mostEntries is how many files a ZIP may hold; LinkedIn's have some fifty.
const mostEntries = 10_000

// unpack returns the file within a ZIP, or data itself.
func (f *File) unpack(data []byte, o *Options) ([]byte, error) {
	if len(data) > MaxBytes && bytes.Contains(data[:1<<10], []byte(`"app_version"`)) {
		return nil, fault.New(fault.Invalid, "the file is larger than 10 MiB; export the account from Monica as SQL, which has no pictures")
	}
	if len(data) > MaxBytes {
		return nil, fault.New(fault.Invalid, "the file is larger than 10 MiB; split it into several files")
	}
	if !bytes.HasPrefix(data, []byte("PK\x03\x04")) && !bytes.HasPrefix(data, []byte("PK\x05\x06")) {
		return data, knownFormatError(data)
	}
	// The directory is read as a whole, so it is counted first.
	if bytes.Count(data, []byte("PK\x01\x02")) > mostEntries {
		return nil, fault.New(fault.Invalid, "the ZIP holds more than %d files", mostEntries)
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // no entry is written anywhere
		return nil, fault.Wrap(err, fault.Invalid, "the ZIP is damaged; export or download it again")
	}
	if cards := cardFiles(archive.File); len(cards) > 1 || len(cards) == 1 && slices.ContainsFunc(archive.File, isPicture) {
		return f.joinCards(archive.File, cards, o)
	}
	entry, err := choose(archive.File)
	if err != nil {
		return nil, err
	}
	content, err := expand(entry)
	if err != nil {
		return nil, err
	}
	if path.Base(entry.Name) != "_chat.txt" { // the ZIP of a chat is named after it
		o.Filename = path.Base(entry.Name)
	}
	f.warn(fmt.Sprintf("Of the ZIP, %s was read%s.", shown(entry.Name), others(archive.File, []*zip.File{entry})))
	if bytes.HasPrefix(content, []byte("PK\x03\x04")) {
		return nil, fault.New(fault.Invalid, "%q in the ZIP is a ZIP itself; unpack it first", shown(entry.Name))
	}
	return content, knownFormatError(content)
}

// choose finds the file of a ZIP that has people: LinkedIn's connections, the people of an
// export of ours when one import can read them all, or the only readable file of its kind.
func choose(files []*zip.File) (*zip.File, error) {
	var found, ours []*zip.File
	for _, file := range files {
		name := strings.ToLower(file.Name)
		switch {
		case path.Base(name) == "connections.csv", path.Base(name) == "all contacts.csv": // of LinkedIn, and of Google Takeout
			return file, nil
		case name == "[content_types].xml" || strings.HasPrefix(name, "xl/"):
			return nil, fault.New(fault.Invalid, "this is an Excel workbook; save it as CSV (UTF-8) there")
		case name == "content.xml" || name == "index/document.iwa":
			return nil, fault.New(fault.Invalid, "this is a spreadsheet; save it as CSV there")
		case strings.HasPrefix(name, "__macosx/"):
		case isExportPart(path.Base(name)):
			found, ours = append(found, file), append(ours, file)
		case path.Base(name) == "_chat.txt" || strings.Contains(name, "whatsapp") && path.Ext(name) == ".txt":
			return file, nil
		case path.Ext(name) == ".csv" || path.Ext(name) == ".vcf" || path.Ext(name) == ".json":
			found = append(found, file)
		}
	}
	if len(ours) == 1 {
		return ours[0], nil
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fault.New(fault.Invalid, "the ZIP holds no Connections.csv and no other file of contacts")
	}
	return nil, fault.New(fault.Invalid, "the ZIP holds %d files that may be contacts and no Connections.csv; unpack it and import one of them", len(found))
}

// isExportPart recognises the documents of an export of ours: contacts.json, contacts-2.json …
func isExportPart(name string) bool {
	ours, err := path.Match("contacts-[0-9]*.json", name)
	return name == "contacts.json" || err == nil && ours
}

// expand unpacks an entry. It measures the unpacked size and does not trust the size in
// the header.
func expand(entry *zip.File) ([]byte, error) {
	tooLarge := fault.New(fault.Invalid, "%q is larger than 10 MiB when it is unpacked", shown(entry.Name))
	const encrypted = 1
	switch {
	case entry.UncompressedSize64 > MaxBytes:
		return nil, tooLarge
	case entry.Flags&encrypted != 0:
		return nil, fault.New(fault.Invalid, "the ZIP is protected by a password; unpack it first")
	}
	r, err := entry.Open()
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the ZIP is packed in a way that cannot be read; unpack it first")
	}
	defer r.Close() //nolint:errcheck // it reads from memory
	content := bytes.NewBuffer(make([]byte, 0, entry.UncompressedSize64))
	n, err := io.Copy(content, io.LimitReader(r, MaxBytes+1))
	switch {
	case n > MaxBytes:
		return nil, tooLarge
	case err != nil:
		return nil, fault.Wrap(err, fault.Invalid, "%q in the ZIP is damaged; export or download it again", shown(entry.Name))
	}
	return content.Bytes(), nil
}
