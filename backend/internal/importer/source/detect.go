package source

import (
	"bytes"
	"path"
	"strings"

	"github.com/kith-crm/kith/backend/internal/fault"
)

// detect finds the format of a text: what it begins with tells. Tables are not
// told apart before their header is read: the format is empty for all of them.
func detect(text []byte, filename string) (string, error) {
	text = bytes.TrimLeft(text, " \t\r\n\x00\ufeff")
	if len(text) == 0 {
		return "", fault.New(fault.Invalid, "the file is empty")
	}
	switch {
	case hasCard(text):
		return VCard, nil
	case text[0] == '{' || text[0] == '[':
		return detectJSON(text)
	case text[0] == '<':
		return "", fault.New(fault.Invalid, "this is a web page or XML; export the contacts as CSV or vCard")
	case bytes.HasPrefix(text, []byte("dn:")) || bytes.HasPrefix(text, []byte("version: 1\n")):
		return "", fault.New(fault.Invalid, "this is LDIF; export the contacts as CSV or vCard")
	case strings.EqualFold(path.Ext(filename), ".vcf"):
		return "", fault.New(fault.Invalid, "the file holds no vCard: none begins with BEGIN:VCARD")
	}
	return "", nil
}

// hasCard tells whether a card begins on one of the first lines.
func hasCard(text []byte) bool {
	const enough = 64 << 10
	for line := range bytes.FieldsFuncSeq(text[:min(len(text), enough)], func(r rune) bool { return r == '\r' || r == '\n' }) {
		if isEdge(line, "BEGIN:VCARD") {
			return true
		}
	}
	return false
}

// refuse says what a file is that holds no text, and what to do about it.
func refuse(data []byte) error {
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
