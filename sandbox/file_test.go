package sandbox_test

import (
	"encoding/csv"
	"io"
	"io/fs"
	"mime/quotedprintable"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/kith-crm/kith/sandbox"
)

func readSample(t *testing.T, name string) string {
	t.Helper()
	text, err := fs.ReadFile(sandbox.Files(), name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFilesAreComplete(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(sandbox.Files(), "*")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(names, " "), "contacts_vcard21.vcf google_contacts.csv linkedin_connections.csv"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFilesHoldOnlyFictionalHandles(t *testing.T) {
	t.Parallel()
	host := regexp.MustCompile(`(?:@|https?://)([A-Za-z0-9.-]+)`)
	phone := regexp.MustCompile(`\+[0-9][0-9 -]{6,}[0-9]`)
	fictional := regexp.MustCompile(`^\+(1[2-9]\d{2}55501\d{2}|442079460\d{3})$`)
	for _, name := range []string{"contacts_vcard21.vcf", "google_contacts.csv", "linkedin_connections.csv"} {
		text := readSample(t, name)
		if !utf8.ValidString(text) || strings.Contains(text, "\ufeff") {
			t.Errorf("%s is not plain UTF-8", name)
		}
		for _, match := range host.FindAllStringSubmatch(text, -1) {
			if !strings.HasSuffix(match[1], ".example") {
				t.Errorf("%s: %s is not a fictional host", name, match[1])
			}
		}
		for _, number := range phone.FindAllString(text, -1) {
			if !fictional.MatchString(strings.NewReplacer(" ", "", "-", "").Replace(number)) {
				t.Errorf("%s: %s is not a fictional number", name, number)
			}
		}
	}
}

// readRows parses CSV whose header starts with the given cell and returns maps by column.
func readRows(t *testing.T, text, firstCell string) []map[string]string {
	t.Helper()
	at := strings.Index(text, firstCell+",")
	if at < 0 {
		t.Fatalf("no header that starts with %s", firstCell)
	}
	records, err := csv.NewReader(strings.NewReader(text[at:])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]string
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, cell := range record {
			row[records[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

func TestLinkedInFile(t *testing.T) {
	t.Parallel()
	text := readSample(t, "linkedin_connections.csv")
	if !strings.HasPrefix(text, "Notes:\n") || !strings.Contains(text, "\n\nFirst Name,Last Name,URL,Email Address,Company,Position,Connected On\n") {
		t.Error("the preamble or the header is missing")
	}
	rows := readRows(t, text, "First Name")
	var emails int
	for _, row := range rows {
		if _, err := time.Parse("02 Jan 2006", row["Connected On"]); err != nil {
			t.Error(err)
		}
		if !strings.Contains(row["URL"], "/in/") || row["Last Name"] == "" {
			t.Errorf("row %v", row)
		}
		if row["Email Address"] != "" {
			emails++
		}
	}
	if len(rows) != 16 || emails != 3 {
		t.Errorf("%d rows with %d addresses, want 16 and 3", len(rows), emails)
	}
}

func TestGoogleFile(t *testing.T) {
	t.Parallel()
	text := readSample(t, "google_contacts.csv")
	rows := readRows(t, text, "First Name")
	var joined, nameless int
	for _, row := range rows {
		if strings.Contains(row["E-mail 1 - Value"]+row["Phone 1 - Value"], " ::: ") {
			joined++
		}
		if row["First Name"]+row["Last Name"] == "" {
			nameless++
		}
		if !strings.HasPrefix(row["Labels"], "* myContacts") || row["E-mail 1 - Value"] == "" {
			t.Errorf("row %v", row)
		}
	}
	if len(rows) != 14 || joined != 2 || nameless != 1 {
		t.Errorf("%d rows, %d with joined values, %d nameless; want 14, 2 and 1", len(rows), joined, nameless)
	}
}

func TestVCardFile(t *testing.T) {
	t.Parallel()
	text := readSample(t, "contacts_vcard21.vcf")
	if strings.Count(text, "\n") != strings.Count(text, "\r\n") {
		t.Error("not all lines end in CRLF")
	}
	for what, want := range map[string]int{"BEGIN:VCARD\r\n": 13, "VERSION:2.1\r\n": 13, "END:VCARD\r\n": 13, "\r\nTEL;CELL": 10} {
		if got := strings.Count(text, what); got != want {
			t.Errorf("%q: got %d, want %d", what, got, want)
		}
	}
	if !strings.Contains(text, "=\r\n") {
		t.Error("there is no soft line break")
	}
	var decoded strings.Builder
	for _, property := range regexp.MustCompile(`QUOTED-PRINTABLE:((?:.*=\r\n)*.*)\r\n`).FindAllStringSubmatch(text, -1) {
		value, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(property[1])))
		if err != nil || !utf8.Valid(value) {
			t.Errorf("%q: %v", property[1], err)
		}
		decoded.Write(value)
		decoded.WriteByte('\n')
	}
	for _, want := range []string{"Grünwaldt;Jörg;;;", "水無瀬 遥", "Ковалишин;Северин;;;", "only = be patient.\r\nHas two cats."} {
		if !strings.Contains(decoded.String(), want) {
			t.Errorf("%q is missing from the decoded values", want)
		}
	}
}
