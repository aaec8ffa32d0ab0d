package source

import (
	"iter"
	"slices"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
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
	// JSON is our own lossless export.
	JSON = "json"
)

// Formats returns all formats that can be read.
func Formats() []string {
	return []string{LinkedInCSV, GoogleCSV, OutlookCSV, CSV, VCard, JSContact, JSON}
}

// auto stands for "find it out", as an empty option does.
const auto = "auto"

// Options say what is known of a file. Empty or "auto" is found out.
type Options struct {
	// Filename helps to say what is wrong; what a file is, its content tells.
	Filename string
	// Format is one of the formats.
	Format string
	// Charset is a name or label of the WHATWG Encoding Standard. A byte order mark
	// in the file counts for more.
	Charset string
	// DefaultRegion is the ISO 3166 code of the country that phone numbers without a
	// country code belong to. Without it, and in our own export, they stay as they are.
	DefaultRegion string
}

// File is a file whose people can be read.
type File struct {
	// Format is one of the formats.
	Format string
	// Charset is the name of the character set, as the Encoding Standard spells it.
	Charset string
	// Warnings are what somebody should know of the file as a whole.
	Warnings []string

	reader reader
}

// reader reads the records of one format.
type reader interface {
	// total returns how many records there are.
	total() int
	// records calls yield with each record until it returns false.
	records(yield func(Record) bool)
}

// Record is a row, a card or an object of the file: a person, or the reason why
// there is none.
type Record struct {
	// Row is what a person would look for: the row in a spreadsheet, counted from 1
	// at the top of the file, or the ordinal of a card or object.
	Row    int
	Person Person
	// Guessed tells that the file has no name of the person: Name was made of an
	// address, or of what else it says.
	Guessed bool
	// Err is a *fault.Error (Invalid) when this record cannot be imported; Person is
	// empty then.
	Err error
	// Warnings are what was left out or changed.
	Warnings []string
}

// Open finds out what data is. It fails with fault.Invalid and one sentence when
// the file as a whole cannot be read. The File refers to data, which must stay as
// it is for as long as the File is used.
func Open(data []byte, o Options) (*File, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	f := &File{}
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

// read makes the reader of the format.
func (f *File) read(data []byte, set charset, o Options) (err error) {
	f.Format = o.Format
	switch o.Format {
	case VCard:
		f.reader, err = f.openCards(data, set, o)
	case JSContact:
		f.reader, err = f.openJSContact(set.decode(data), o)
	case JSON:
		f.reader, err = f.openDocument(set.decode(data))
	default:
		f.reader, err = f.openTable(set.decode(data), o)
	}
	return err
}

// Records returns the records in the order of the file, each time from its start.
func (f *File) Records() iter.Seq[Record] { return f.reader.records }

// Total returns how many records there are.
func (f *File) Total() int { return f.reader.total() }

// warn adds a warning unless it is empty.
func (f *File) warn(warning string) {
	if warning != "" {
		f.Warnings = append(f.Warnings, warning)
	}
}

// check refuses options that mean nothing, and writes "auto" as empty.
func (o *Options) check() error {
	for _, option := range []*string{&o.Format, &o.Charset, &o.DefaultRegion} {
		if *option == auto {
			*option = ""
		}
	}
	if o.Format != "" && !slices.Contains(Formats(), o.Format) {
		return fault.InvalidField("format", "%q cannot be read; use one of auto, %s", shown(o.Format), list(Formats()))
	}
	o.DefaultRegion = strings.ToUpper(o.DefaultRegion)
	if o.DefaultRegion != "" && phonenumbers.GetCountryCodeForRegion(o.DefaultRegion) == 0 {
		return fault.InvalidField("default_region", "%q is no country; use a code of two letters, such as US", shown(o.DefaultRegion))
	}
	return nil
}
