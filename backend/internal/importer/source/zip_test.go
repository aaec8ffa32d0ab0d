package source_test

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/kith-crm/kith/backend/internal/importer/source"
)

// entry is a file of a ZIP.
type entry struct{ name, content string }

// archive packs files as one ZIP.
func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		method := zip.Deflate
		if e.content == "" {
			method = zip.Store
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, e.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Cards as Google Takeout has them.
const (
	takeoutIda = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ida Holm\r\nN:Holm;Ida;;;\r\nCATEGORIES:myContacts\r\nEND:VCARD\r\n"
	takeoutOle = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ole Holm\r\nN:Holm;Ole;;;\r\nEMAIL;TYPE=INTERNET:ole@example.org\r\nEND:VCARD\r\n"
)

func TestZIP(t *testing.T) {
	t.Parallel()
	connections := string(testFile(t, "linkedin_preamble.csv"))
	ours := `{"format":"kith-connections/1","people":[{"name":"Ana"}]}`
	people := "Name,E-mail\nAna,ana@helios.example\n"
	damaged := archive(t, entry{"Connections.csv", connections})
	copy(damaged[60:], "damaged damaged damaged")
	cases := []struct {
		name string
		data []byte
	}{
		{"the connections within LinkedIn's export", archive(t, entry{"Messages.csv", "FROM,TO\na,b\n"}, entry{"Basic_Export/Connections.csv", connections})},
		{"the one file of people", archive(t, entry{"__MACOSX/._contacts.vcf", "x"}, entry{"contacts.vcf", string(testFile(t, "vcard_latin1.vcf"))})},
		{"a path that leaves the folder", archive(t, entry{"../../Connections.csv", connections})},
		{"our export", archive(t, entry{"README.txt", "x"}, entry{"account.json", "{}"}, entry{"contacts.json", ours}, entry{"contacts.csv", people}, entry{"contacts.jscontact.json", "[]"})},
		{"our export in parts", archive(t, entry{"account.json", "{}"}, entry{"contacts.json", ours}, entry{"contacts-2.json", ours}, entry{"contacts.csv", people})},
		{"several files of people", archive(t, entry{"a.csv", people}, entry{"b.csv", people})},
		{"Google Takeout", archive(t, entry{"Takeout/archive_browser.html", "<x/>"},
			entry{"Takeout/Contacts/All Contacts/All Contacts.vcf", takeoutIda + takeoutOle}, entry{"Takeout/Contacts/My Contacts/My Contacts.vcf", takeoutIda},
			entry{"Takeout/Contacts/Book club; Bergen/Book club; Bergen.vcf", takeoutIda}, entry{"Takeout/Contacts/All Contacts/Ida Holm.jpg", "\xff\xd8\xff a picture"},
			entry{"Takeout/Contacts/All Contacts/Somebody.jpg", "\xff\xd8\xff"})},
		{"one file of cards and a picture", archive(t, entry{"Takeout/Contacts/All Contacts/All Contacts.vcf", takeoutOle}, entry{"Takeout/Contacts/All Contacts/Ole Holm.png", "\x89PNG"})},
		{"a card for each contact, as Apple's privacy page gives", archive(t, entry{"iCloud Contacts/Ida Holm.vcf", takeoutIda}, entry{"iCloud Contacts/Ole Holm.vcf", takeoutOle}, entry{"__MACOSX/iCloud Contacts/._Ole Holm.vcf", "x"})},
		{"Google Takeout as CSV", archive(t, entry{"Takeout/Contacts/All Contacts/All Contacts.csv", people}, entry{"Takeout/Contacts/My Contacts/My Contacts.csv", people})},
		{"files of cards without a card", archive(t, entry{"a.vcf", "x"}, entry{"b.vcf", "y"})},
		{"files of cards that are too large together", archive(t, entry{"a.vcf", takeoutIda + strings.Repeat("\r\n", source.MaxBytes/4)}, entry{"b.vcf", takeoutOle + strings.Repeat("\r\n", source.MaxBytes/3)})},
		{"no file of people", archive(t, entry{"readme.txt", "hello"})},
		{"no file at all", archive(t)},
		{"a spreadsheet of Excel named CSV", archive(t, entry{"[Content_Types].xml", "<x/>"}, entry{"xl/workbook.xml", "<x/>"})},
		{"a spreadsheet of LibreOffice", archive(t, entry{"mimetype", "application/vnd.oasis.opendocument.spreadsheet"}, entry{"content.xml", "<x/>"})},
		{"a bomb", archive(t, entry{"Connections.csv", strings.Repeat("\x00", source.MaxBytes+1)})},
		{"a bomb that lies about its size", lying(archive(t, entry{"Connections.csv", strings.Repeat("\x00", source.MaxBytes+1)}))},
		{"a ZIP in a ZIP", archive(t, entry{"Connections.csv", string(archive(t, entry{"Connections.csv", connections}))})},
		{"many files", archive(t, make([]entry, 10_001)...)},
		{"a damaged file", damaged},
		{"a ZIP that is cut off", archive(t, entry{"Connections.csv", connections})[:100]},
		{"a password", locked(archive(t, entry{"Connections.csv", connections}))},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			checkGolden(t, goldenName("zip: "+c.name), c.data, source.Options{Filename: "export.zip"})
		})
	}
}

// directory returns the position of the first file's entry in the directory of a ZIP
// (APPNOTE.TXT, section 4.3.12).
func directory(data []byte) []byte { return data[bytes.LastIndex(data, []byte("PK\x01\x02")):] }

// lying makes a ZIP say that its only file is small.
func lying(data []byte) []byte {
	copy(directory(data)[24:28], []byte{100, 0, 0, 0})
	return data
}

// locked makes a ZIP say that its only file is encrypted.
func locked(data []byte) []byte {
	directory(data)[8] |= 1
	return data
}
